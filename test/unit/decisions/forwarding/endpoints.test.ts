import { describe, expect, test } from 'vitest';
import { formatAddress } from '../../../../src/net/address.ts';
import { chooseEndpoints, reachability, targetsOf, type NodeTopology } from '../../../../src/decisions/forwarding/endpoints.ts';
import { cluster, endpoint, service } from '../fixtures.ts';

interface Row {
  readonly name: string;
  readonly endpoints: readonly string[];
  /** Default: node "here" in zone-a. */
  readonly place?: NodeTopology;
  /** Last octets of the chosen endpoints. */
  readonly cluster: readonly number[];
  readonly local: readonly number[];
}

const here: NodeTopology = { name: 'here', zone: 'zone-a' };
const hinted = ['10.0.0.1@here zone=zone-a', '10.0.0.2@two zone=zone-b', '10.0.0.3@three zone=zone-c', '10.0.0.4@four zone=zone-a'];

const rows: readonly Row[] = [
  { name: '1-3 hints choose endpoints for the zone, and local ones ignore hints', endpoints: hinted, cluster: [1, 4], local: [1] },
  { name: '4 a node without a zone does not narrow', endpoints: hinted, place: { name: 'here' }, cluster: [1, 2, 3, 4], local: [1] },
  { name: '5 an empty zone does not narrow', endpoints: hinted, place: { name: 'here', zone: '' }, cluster: [1, 2, 3, 4], local: [1] },
  {
    name: '6 a zone that no hint names does not narrow',
    endpoints: hinted,
    place: { name: 'here', zone: 'zone-z' },
    cluster: [1, 2, 3, 4],
    local: [1],
  },
  {
    name: '7 an endpoint that is not ready is dropped before narrowing',
    endpoints: ['10.0.0.1@here zone=zone-a notready', ...hinted.slice(1)],
    cluster: [4],
    local: [],
  },
  {
    name: '8 a zone whose endpoints are all unready does not narrow',
    endpoints: [
      '10.0.0.1@here zone=zone-a notready',
      '10.0.0.2@two zone=zone-b',
      '10.0.0.3@three zone=zone-c',
      '10.0.0.4@four zone=zone-a notready',
    ],
    cluster: [2, 3],
    local: [],
  },
  {
    name: '9 one ready endpoint without hints: all are used',
    endpoints: [...hinted.slice(0, 3), '10.0.0.4@four'],
    cluster: [1, 2, 3, 4],
    local: [1],
  },
  {
    name: '9b an unready endpoint without hints does not matter',
    endpoints: [...hinted.slice(0, 3), '10.0.0.4@four notready'],
    cluster: [1],
    local: [1],
  },
  {
    name: '10 several zones in one hint',
    endpoints: ['10.0.0.1@here zone=zone-a', '10.0.0.2@two zone=zone-b,zone-c', '10.0.0.3@three zone=zone-c', '10.0.0.4@four zone=zone-a'],
    place: { name: 'here', zone: 'zone-c' },
    cluster: [2, 3],
    local: [1],
  },
  {
    name: '12 a hint for the node wins over its zone',
    endpoints: ['10.0.0.1@here zone=zone-a nodes=here', '10.0.0.2@two zone=zone-a nodes=two'],
    cluster: [1],
    local: [1],
  },
  {
    name: '13 one endpoint without any hint: all are used',
    endpoints: ['10.0.0.1@here zone=zone-a nodes=here', '10.0.0.2@two'],
    cluster: [1, 2],
    local: [1],
  },
  {
    name: '14 no hint names the node: hints for the zone count',
    endpoints: ['10.0.0.1@one zone=zone-a nodes=one', '10.0.0.2@two zone=zone-b nodes=two'],
    cluster: [1],
    local: [],
  },
  {
    name: '15 local endpoints ignore hints for other nodes',
    endpoints: ['10.0.0.1@here zone=zone-b', '10.0.0.2@two zone=zone-a', '10.0.0.3@here zone=zone-b'],
    cluster: [2],
    local: [1, 3],
  },
  { name: '16, 31 no endpoints', endpoints: [], cluster: [], local: [] },
  { name: '17, 26 all remote', endpoints: ['10.0.0.1@one', '10.0.0.2@two'], cluster: [1, 2], local: [] },
  { name: '18 all local', endpoints: ['10.0.0.1@here', '10.0.0.2@here'], cluster: [1, 2], local: [1, 2] },
  { name: '19, 23-25 some local', endpoints: ['10.0.0.1@here', '10.0.0.2@two'], cluster: [1, 2], local: [1] },
  {
    name: '20, 32 none ready, serving or terminating',
    endpoints: ['10.0.0.1@here notready', '10.0.0.2@two notready'],
    cluster: [],
    local: [],
  },
  { name: '21 some ready', endpoints: ['10.0.0.1@here', '10.0.0.2@two notready'], cluster: [1], local: [1] },
  { name: '22 all terminate and serve', endpoints: ['10.0.0.1@here draining', '10.0.0.2@two draining'], cluster: [1, 2], local: [1] },
  {
    name: 'terminating without serving is never used',
    endpoints: ['10.0.0.1@here terminating', '10.0.0.2@two terminating'],
    cluster: [],
    local: [],
  },
  {
    name: '27 all remote, terminating and serving',
    endpoints: ['10.0.0.1@one draining', '10.0.0.2@two draining'],
    cluster: [1, 2],
    local: [],
  },
  {
    name: '28 terminating endpoints are used locally beside ready remote ones',
    endpoints: ['10.0.0.1@here draining', '10.0.0.2@two', '10.0.0.3@here notready'],
    cluster: [2],
    local: [1],
  },
  {
    name: 'hints do not narrow the fallback',
    endpoints: ['10.0.0.1@here zone=zone-b draining', '10.0.0.2@two zone=zone-a draining'],
    cluster: [1, 2],
    local: [1],
  },
  { name: 'an endpoint without node is local nowhere', endpoints: ['10.0.0.1'], cluster: [1], local: [] },
];

describe('the choice of endpoints', () => {
  test.each(rows)('$name', ({ endpoints, place, cluster, local }) => {
    const chosen = chooseEndpoints(endpoints.map(endpoint), place ?? here);
    const octets = (of: typeof chosen.cluster): number[] => of.map(({ address }) => Number(formatAddress(address).split('.')[3]));
    expect({ cluster: octets(chosen.cluster), local: octets(chosen.local) }).toEqual({ cluster, local });
  });
});

describe('the targets of a port', () => {
  const web = service({ name: 'web', ports: ['http:80', 'dns:53/UDP', 'dnstcp:53/TCP'] });
  const [http, dns] = web.ports;
  const targets = (slices: Parameters<typeof cluster>[0]['slices'], port = http, family: 4 | 6 = 4): string[] =>
    port === undefined
      ? []
      : targetsOf(cluster({ slices: slices ?? [] }), web, port, family).map(
          ({ address, port, ready, terminating }) =>
            `${formatAddress(address)} ${port}${ready ? '' : ' unready'}${terminating ? ' terminating' : ''}`,
        );

  test('a named port has the number that each slice gives it', () => {
    const slices = [
      { service: 'web', ports: ['http:8080', 'dns:5353/UDP'], endpoints: ['10.0.0.1'] },
      { service: 'web', ports: ['http:9090'], endpoints: ['10.0.0.2'] },
    ];
    expect(targets(slices)).toEqual(['10.0.0.1 8080', '10.0.0.2 9090']);
    expect(targets(slices, dns)).toEqual(['10.0.0.1 5353']);
  });

  test('name and protocol must both match', () => {
    expect(targets([{ service: 'web', ports: ['http:8080/UDP', 'other:8080'], endpoints: ['10.0.0.1'] }])).toEqual([]);
  });

  test.each([
    [['10.0.0.1@a terminating', '10.0.0.1@a'], ['10.0.0.1 8080']],
    [['10.0.0.1@a', '10.0.0.1@a terminating'], ['10.0.0.1 8080']],
    [['10.0.0.1@a notready', '10.0.0.1@a'], ['10.0.0.1 8080']],
    [['10.0.0.1@a draining', '10.0.0.1@a notready'], ['10.0.0.1 8080 unready']],
  ])('endpoint %j in two slices counts once', (endpoints, expected) => {
    expect(targets(endpoints.map((one) => ({ service: 'web', ports: ['http:8080'], endpoints: [one] })))).toEqual(expected);
  });

  test('each family has its own targets', () => {
    const slices = [
      { service: 'web', ports: ['http:8080'], endpoints: ['10.0.0.1'] },
      { service: 'web', ports: ['http:8080'], endpoints: ['fd00::1'] },
    ];
    expect(targets(slices)).toEqual(['10.0.0.1 8080']);
    expect(targets(slices, http, 6)).toEqual(['fd00::1 8080']);
  });

  test('slices of headless Services and ports without a number have no targets', () => {
    expect(
      targets([{ service: 'web', ports: ['http:8080'], endpoints: ['10.0.0.1'], labels: { 'service.kubernetes.io/headless': '' } }]),
    ).toEqual([]);
    expect(targets([{ service: 'web', ports: ['http:0'], endpoints: ['10.0.0.1'] }])).toEqual([]);
  });

  test('a Service is reachable through any of its ports', () => {
    const snapshot = cluster({
      slices: [{ service: 'web', ports: ['dns:53/UDP'], endpoints: ['10.0.0.1@here', '10.0.0.2@two notready'] }],
    });
    expect(reachability(snapshot, web, 4, here)).toEqual({ cluster: true, local: true, localWeight: 1, endpoints: 2 });
    expect(reachability(snapshot, web, 4, { name: 'two' })).toEqual({ cluster: true, local: false, localWeight: 0, endpoints: 2 });
    expect(reachability(snapshot, web, 6, here)).toEqual({ cluster: false, local: false, localWeight: 0, endpoints: 0 });
  });
});
