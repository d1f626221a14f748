import { expect, test } from 'vitest';
import { endpointReport, type EndpointReport } from '../../../../src/explain/endpoints/endpoint-report.ts';
import { renderEndpoints } from '../../../../src/explain/endpoints/render-endpoints.ts';
import type { LiveNode } from '../../../../src/explain/sessions/live-view.ts';
import type { LiveEndpointConnections } from '../../../../src/live/contract.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const literal: ClusterLiteral = {
  nodes: [{ name: 'n1' }, { name: 'n2' }],
  services: [
    { name: 'shop/web', clusterIPs: ['10.96.0.1', 'fd00:96::1'], ipFamilies: [4, 6], ports: ['http:80/TCP@30080', 'dns:53/UDP'] },
    { name: 'shop/other', clusterIPs: ['10.96.0.2'], loadBalancing: 'source-hash' },
  ],
  slices: [
    {
      service: 'shop/web',
      ports: ['http:8080/TCP', 'dns:5353/UDP'],
      endpoints: ['10.244.1.1@n1', '10.244.1.2@n1 draining', '10.244.2.1@n2 notready'],
      weight: 3,
    },
    { service: 'shop/web', name: 'web-6', family: 6, ports: ['http:8080/TCP', 'dns:5353/UDP'], endpoints: ['fd00:244::1@n1'] },
  ],
};

const web = 'shop/web' as ServiceKey;
const count = (endpoint: string, active: number, more: Partial<LiveEndpointConnections> = {}): LiveEndpointConnections => ({
  service: 'shop/web',
  protocol: 'TCP',
  port: 80,
  endpoint,
  active,
  inactive: 1,
  ...more,
});
const node = (connections?: readonly LiveEndpointConnections[]): LiveNode => ({
  started: '2026-01-01T00:00:00Z',
  sessions: [],
  ...(connections === undefined ? {} : { connections }),
});

function report(
  live: Readonly<Record<string, LiveNode>> = {},
  services: readonly ServiceKey[] = [web],
  more: ClusterLiteral = {},
): EndpointReport {
  return endpointReport(cluster({ ...literal, ...more }), { services, live: new Map(Object.entries(live)), unasked: [] });
}

test('each endpoint of each port is a row with its state and weight, and sums over the nodes', () => {
  const both = report({
    n2: node([count('10.244.1.1:8080', 2, { packets: { in: 5, out: 6 } })]),
    n1: node([
      count('10.244.1.1:8080', 1, { packets: { in: 1, out: 1 } }),
      count('10.244.1.1:5353', 4, { protocol: 'UDP', port: 53 }),
      count('[fd00:244::1]:8080', 7),
      count('10.244.9.9:8080', 1),
    ]),
  });
  expect(renderEndpoints(both, false)).toEqual([
    'Service   Port    Scheduler  Endpoint            On  State      Weight  Active  Inactive  Packets In  Packets Out',
    'shop/web  80/TCP  random     10.244.1.1:8080     n1  ready      3       3       2         6           7',
    '                             10.244.1.2:8080     n1  draining   0       0       0         -           -',
    '                             10.244.2.1:8080     n2  not ready  0       0       0         -           -',
    '                             [fd00:244::1]:8080  n1  ready      1       7       1         -           -',
    '                             10.244.9.9:8080     -   absent     0       1       1         -           -',
    '          53/UDP             10.244.1.1:5353     n1  ready      3       4       1         -           -',
    '                             10.244.1.2:5353     n1  draining   0       0       0         -           -',
    '                             10.244.2.1:5353     n2  not ready  0       0       0         -           -',
    '                             [fd00:244::1]:5353  n1  ready      1       0       0         -           -',
    '',
    'Connections that n1 and n2 translate at this moment.',
  ]);
  expect(renderEndpoints(both, true).slice(0, 4)).toEqual([
    'Service   Port    Scheduler  Endpoint            On  State      Weight  Active  Inactive  Packets In  Packets Out  Translated By',
    'shop/web  80/TCP  random     10.244.1.1:8080     n1  ready      3       3       2         6           7            2 nodes',
    '                                                                        1       1         1           1            n1',
    '                                                                        2       1         5           6            n2',
  ]);
});

test('draining endpoints get connections when none is ready, and count', () => {
  const draining = {
    slices: [{ service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.2@n1 draining', '10.244.1.3@n1 notready'] }],
  };
  expect(report({}, [web], draining).endpoints.map(({ state, weight }) => [state, weight])).toEqual([
    ['draining', 1],
    ['not ready', 0],
  ]);
});

test('numbers that are the least there are say so', () => {
  const { endpoints } = report({ n1: node([count('10.244.1.1:8080', 9, { atLeast: true })]) });
  expect(endpoints[0]).toMatchObject({ active: 9, atLeast: true });
  expect(renderEndpoints(report({ n1: node([count('10.244.1.1:8080', 9, { atLeast: true })]) }), false)[1]).toContain('≥9');
});

test('without an agent there are no numbers, and an agent of an older version is named', () => {
  expect(report().endpoints[0]).toEqual({
    service: 'shop/web',
    port: '80/TCP',
    scheduler: 'random',
    endpoint: '10.244.1.1:8080',
    on: 'n1',
    state: 'ready',
    weight: 3,
    nodes: [],
  });
  const older = renderEndpoints(report({ n1: node() }), false);
  expect(older.slice(-2)).toEqual(['', 'the agent of n1 could not be queried: its version does not count connections (update it)']);
});

test('Services without endpoints, and those of the whole cluster, are told apart', () => {
  expect(renderEndpoints(report({}, ['shop/other']), false)).toEqual(['No Service here has an endpoint.']);
});

test.each([
  ['external', 'HeraldConfig leaves ClusterIPs to another program: connections to them are not counted.'],
  ['none', 'HeraldConfig leaves all Services to another program, whose connections are not counted.'],
] as const)('with services: %s the output says what is not counted', (services, line) => {
  expect(renderEndpoints(report({}, [web], { config: { services } }), false).at(-1)).toBe(line);
});

test('a Service with another hash outside has both schedulers', () => {
  expect(report({}, [web], { config: { consistentHashing: true } }).endpoints[0]?.scheduler).toBe('random, consistent from outside');
});
