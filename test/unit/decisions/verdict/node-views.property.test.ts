import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientReachability } from '../../../../src/decisions/verdict/client-reachability.ts';
import { nodeViewsOf, nodesOfView, nodesOfViews, type NodeView } from '../../../../src/decisions/verdict/node-view.ts';
import { NodeViews } from '../../../../src/decisions/verdict/node-views.ts';
import { nodeNames } from '../../../../src/decisions/verdict/node-names.ts';
import { decideVerdict } from '../../../../src/decisions/verdict/decide-verdict.ts';
import type { Verdict } from '../../../../src/decisions/verdict/verdict.ts';
import { defaultConfig } from '../../../../src/model/kinds/default-config.ts';
import type { HeldBackFamily, NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { detailsOfOneNode, reason } from '../../../../src/model/reasons.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { cluster, matching, metadata, type NodeLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'];
const frontend = '192.0.2.1 TCP 80';

/** Most nodes are as in `usual`, so that nodes are alike in most clusters and one fact tells them apart. */
function usually<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

const node = fc.record({
  exists: usually(true, false),
  zone: usually('a', 'b'),
  rack: fc.constantFrom('1', '2'),
  excluded: usually(false, true),
  networkUnavailable: usually(false, true),
  drain: usually<NodeLiteral['drain'] | undefined>(undefined, 'keepLast', 'force'),
});

const session = usually<Partial<SessionStatus>>(
  { state: 'Established' },
  { state: 'Established', address: '10.0.0.7' },
  { state: 'Idle', since: '' },
  {
    state: 'Established',
    warning: reason('BFDDown', {
      peer: 'tor1',
      router: '',
      local: '',
      since: '',
      latest: '',
      why: 'silence',
      profile: 'fast',
      tcpWorks: true,
    }),
  },
  { state: 'Active', lastError: 'connection refused' },
  { state: 'Active', lastError: 'hold timer expired' },
  { state: 'Active', lastError: 'hold timer expired', cause: reason('SessionDown', { peer: 'tor1', state: 'Active', lastError: '' }) },
  { state: 'Idle', damping: { penalty: 1, flapsInLastHour: 3, until: '2026-01-01T00:01:00Z' } },
);
const held = (settled: boolean): HeldBackFamily => {
  return { family: 'IPv4', since: '', settled, reason: reason('UnknownReason', { code: 'NoForwarding', text: 'ip_forward is 0' }) };
};
const report = fc.record({
  reports: usually(true, false),
  age: usually(0, 600),
  sessions: fc.tuple(session, session),
  differing: usually<NodeState['differing']>(
    [],
    [{ service: key, aspect: 'Programmed' as const, reason: reason('FrontendQuarantined', { frontend, error: 'EINVAL' }) }],
    [{ service: key, aspect: 'Announced' as const, reason: reason('AwaitsForwarding', { frontend }) }],
    [{ service: 'shop/other', aspect: 'Announced' as const, reason: reason('AwaitsForwarding', { frontend }) }],
  ),
  problem: usually<'AgentStopped' | 'DataPlaneFailed' | 'NodeNotThisHost' | undefined>(
    undefined,
    'AgentStopped',
    'DataPlaneFailed',
    'NodeNotThisHost',
  ),
  heldBack: usually<readonly HeldBackFamily[]>([], [held(false)], [held(true)]),
  truncated: usually(false, true),
  links: usually<string | undefined>('192.0.2.0/24', '198.51.100.0/24', undefined),
  direct: usually(true, false),
});

type Told = typeof report extends fc.Arbitrary<infer T> ? T : never;

function stateOf(name: string, told: Told): NodeState {
  const of = {
    address: '10.0.0.254',
    since: '2026-01-01T00:00:00Z',
    localASN: 64512,
    peerASN: 64513,
    prefixesSent: 1,
    state: 'Active' as const,
  };
  const networks = told.links === undefined ? undefined : [prefix(told.links)];
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: new Date(now - told.age * 1000).toISOString(),
    consumed: {},
    sessions: told.sessions.map((one, index) => ({ ...of, peer: `tor${index + 1}`, ...one })),
    differing: told.differing,
    ...(told.problem === 'AgentStopped' ? { problem: reason('AgentStopped', { node: name }) } : {}),
    ...(told.problem === 'DataPlaneFailed' ? { problem: reason('DataPlaneFailed', { error: 'EPERM' }) } : {}),
    ...(told.problem === 'NodeNotThisHost'
      ? { problem: reason('NodeNotThisHost', { node: name, addresses: '10.0.0.1', host: '10.0.0.2' }) }
      : {}),
    ...(told.heldBack.length > 0 ? { heldBack: told.heldBack } : {}),
    ...(told.truncated ? { truncated: true as const } : {}),
    ...(networks === undefined ? {} : { links: [{ name: 'eth0', linkAddress: '02:00:00:00:00:01', networks, addresses: [] }] }),
    ...(told.direct ? { directReturn: { receives: [], passes: [], networks: [], linkAddresses: [], interfaces: [] } } : {}),
  };
}

const world = fc
  .record({
    nodes: fc.tuple(...names.map(() => node)),
    reports: fc.tuple(...names.map(() => report)),
    assigned: fc.subarray(['192.0.2.1', '2001:db8::1', '203.0.113.9'], { minLength: 1 }),
    policy: fc.constantFrom('Cluster' as const, 'Local' as const),
    endpoints: fc.subarray([
      '10.244.1.1@n1',
      '10.244.2.1@n2 draining',
      '10.244.3.1@n3 zone=b nodes=n3',
      '10.244.5.1@n5 zone=a nodes=n6',
      '10.244.9.1',
    ]),
    advertised: usually<'all' | 'rack' | undefined>('all', 'rack', undefined),
    onLinks: fc.boolean(),
    peersOfRacks: fc.boolean(),
    direct: fc.boolean(),
  })
  .map(({ nodes, reports, assigned, policy, endpoints, advertised, onLinks, peersOfRacks, direct }): Snapshot => {
    const literals = nodes.flatMap(({ exists, zone, rack, excluded, networkUnavailable, drain }, index): NodeLiteral[] => {
      const labels = {
        'kubernetes.io/hostname': names[index] ?? '',
        'topology.kubernetes.io/zone': zone,
        rack,
        ...(excluded ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } : {}),
      };
      const made = { name: names[index] ?? '', labels, networkUnavailable, internalIPs: [`10.0.0.${index + 1}`] };
      return exists ? [drain === undefined ? made : { ...made, drain }] : [];
    });
    const inRack = [matching({ rack: '1' })];
    const snapshot = cluster({
      services: [{ name: key, clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned, externalTrafficPolicy: policy }],
      slices: [{ service: key, endpoints }],
      pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/120'] }],
      peers: [{ name: 'tor1' }, { name: 'tor2', peerAddress: '10.0.0.253', nodeSelectors: peersOfRacks ? inRack : [] }],
      ...(advertised === undefined ? {} : { advertisements: [{ name: 'all', nodeSelectors: advertised === 'rack' ? inRack : [] }] }),
      ...(onLinks ? { l2Advertisements: [{ name: 'link', nodeSelectors: peersOfRacks ? inRack : [] }] } : {}),
      nodes: literals,
    });
    const states = reports.flatMap((told, index) => (told.reports ? [stateOf(names[index] ?? '', told)] : []));
    const config = direct ? { ...defaultConfig, consistentHashing: true, directReturn: true } : defaultConfig;
    return { ...snapshot, config, nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
  });

const ofOneNode = new Set([...detailsOfOneNode, 'alike']);

/** The view without what is different on every node. */
function shared(view: NodeView): unknown {
  return JSON.parse(
    JSON.stringify(view, (name, value: unknown) => {
      if (ofOneNode.has(name)) return undefined;
      return typeof value === 'bigint' ? String(value) : value;
    }),
  );
}

const seen = { answered: () => true, unseen: () => undefined };

function verdictOf(service: Service, nodes: readonly NodeView[]): Verdict {
  return decideVerdict({ service, nodes, seen, placeOf: () => undefined, clients: clientReachability(service, nodes, true, seen) });
}

test('nodes that share a view do the same for the same reasons, and the verdict is unchanged by it', () => {
  fc.assert(
    fc.property(world, (snapshot) => {
      const service = snapshot.services.get(key);
      if (service === undefined) throw new RangeError('no such Service');
      const viewOf = nodeViewsOf(snapshot, service, now);
      const views = new NodeViews(snapshot, service, now).all();
      const each = nodeNames(snapshot, now);
      expect(nodesOfViews(views)).toEqual(each);
      for (const view of views) {
        expect(viewOf(view.node)).toEqual({ ...view, alike: undefined });
        for (const name of nodesOfView(view)) expect(shared(viewOf(name))).toEqual(shared(view));
      }
      expect(verdictOf(service, views)).toEqual(verdictOf(service, each.map(viewOf)));
    }),
    { numRuns: runs(400) },
  );
});

test('a thousand nodes that do not report have one view, but for those with an endpoint', () => {
  const many = Array.from({ length: 1000 }, (_, index) => `n${String(index).padStart(4, '0')}`);
  const snapshot = cluster({
    services: [{ name: key, assigned: ['192.0.2.1'] }],
    slices: [{ service: key, endpoints: ['10.244.1.1@n0500'] }],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
    peers: [{ name: 'tor1' }],
    advertisements: [{ name: 'all' }],
    nodes: many.map((name) => ({ name, labels: { 'kubernetes.io/hostname': name } })),
  });
  const service = snapshot.services.get(key);
  if (service === undefined) throw new RangeError('no such Service');
  const views = new NodeViews(snapshot, service, now).all();
  expect(views.map(({ node: first, alike = [] }) => [first, alike.length])).toEqual([
    ['n0000', 998],
    ['n0500', 0],
  ]);
  expect(verdictOf(service, views).line).toBe(
    'Not known whether it is served: no agent reports for node "n0000" (the same on all 1000 nodes). Start the agent: the pod of DaemonSet herald-agent on n0000; outside a cluster, herald agent --node n0000.',
  );
});
