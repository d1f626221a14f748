import { expect, test } from 'vitest';
import type { Verdict } from '../../../../src/decisions/verdict/verdict.ts';
import { explainService } from '../../../../src/explain/service/service.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { version } from '../../../../src/model/objects/version.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { cluster, matching, metadata, type ClusterLiteral } from '../fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const names = ['n1', 'n2', 'n3'];

/** Three nodes on one network, a Service, and no BGP. The weight makes n2 the best candidate, then n1. */
const office: ClusterLiteral = {
  services: [{ name: key, ports: ['http:80/TCP'], assigned: ['192.0.2.100'] }],
  slices: [{ service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2', '10.244.3.1@n3'] }],
  pools: [{ name: 'office', addresses: ['192.0.2.100-192.0.2.109'] }],
  l2Advertisements: [
    {
      name: 'office',
      preferredNodeSelectors: [
        { weight: 100, preference: matching({ place: '1' }) },
        { weight: 50, preference: matching({ place: '2' }) },
      ],
    },
  ],
  nodes: [{ name: 'n1', labels: { place: '2' } }, { name: 'n2', labels: { place: '1' } }, { name: 'n3' }],
};

const seen = { mode: 'passive', answered: ['192.0.2.100 TCP 80'], failing: [] } as const;
const eth0 = { name: 'eth0', linkAddress: '02:00:00:00:00:01', networks: [prefix('192.0.2.0/24')], addresses: [] };

function state(name: string, more: Partial<NodeState> = {}): NodeState {
  const updated = new Date(now).toISOString();
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated,
    version,
    consumed: {},
    sessions: [],
    differing: [],
    links: [eth0],
    checks: seen,
    ...more,
  };
}

function verdict(literal: ClusterLiteral, states: readonly NodeState[] = names.map((name) => state(name))): Verdict {
  const nodeStates = new Map(states.map((one) => [one.metadata.name, one]));
  const explanation = explainService({ ...cluster(literal), nodeStates }, key, now);
  if (explanation === undefined) throw new RangeError('no such Service');
  return explanation.verdict;
}

const stale = new Date(now - 600_000).toISOString();

test('a Service that only an L2Advertisement announces is served via its owner', () => {
  expect(verdict(office)).toEqual({
    outcome: 'served',
    line: 'Served: 192.0.2.100 via n2; connections were answered in the last 10 minutes.',
  });
});

test.each<[string, Partial<NodeState>]>([
  ['is silent', { updated: stale }],
  ['was stopped', { problem: reason('AgentStopped', { node: 'n2' }) }],
])('the next candidate is the owner when the agent of the first %s', (_, more) => {
  expect(verdict(office, [state('n1'), state('n2', more), state('n3')]).line).toContain('192.0.2.100 via n1');
});

test('a node that says that it answers is believed, whoever would be the best', () => {
  const because = reason('L2AnswersInstead', { node: 'n3', address: '192.0.2.100', best: 'n2', because: 'failback is never' });
  const differing = [{ service: key, aspect: 'Announced', reason: because }] as const;
  expect(verdict(office, [state('n1'), state('n2'), state('n3', { differing })]).line).toContain('via n3');
});

test.each<[string, ClusterLiteral, readonly NodeState[], string, RegExp]>([
  [
    'no node has the network',
    office,
    names.map((name) => state(name, { links: [{ ...eth0, networks: [prefix('198.51.100.0/24')] }] })),
    'L2NoCandidate',
    /^Not served: none of 3 nodes can announce the address for L2Advertisement office: node "n1" has no interface for 192\.0\.2\.100/,
  ],
  [
    'another host has the address',
    office,
    [
      state('n1'),
      state('n2', {
        differing: [
          {
            service: key,
            aspect: 'Announced',
            reason: reason('L2AddressConflict', {
              address: '192.0.2.100',
              linkAddress: '02:00:00:00:00:99',
              interface: 'eth0',
              node: 'n2',
            }),
          },
        ],
      }),
      state('n3'),
    ],
    'L2AddressConflict',
    /^Not served: 02:00:00:00:00:99 on eth0 of node "n2" uses 192\.0\.2\.100 too: it is not announced/,
  ],
  [
    'its pool is in no advertisement',
    { ...office, l2Advertisements: [] },
    names.map((name) => state(name)),
    'NoAdvertisement',
    /^Not served/,
  ],
  ['no agent has reported', office, [], 'L2NoCandidate', /^Not served: none of 3 nodes .* has not reported its links/],
])('the Service is not served when %s', (_, literal, states, code, line) => {
  const found = verdict(literal, states);
  expect([found.outcome, found.code]).toEqual(['notServed', code]);
  expect(found.line).toMatch(line);
});

test('a pool that BGP and L2 announce is served by either', () => {
  const both: ClusterLiteral = { ...office, advertisements: [{ name: 'all' }], peers: [{ name: 'tor1', peerAddress: '10.0.0.1' }] };
  const session = { peer: 'tor1', address: '10.0.0.1', since: '', localASN: 1, peerASN: 2, prefixesSent: 1, state: 'Established' } as const;
  expect(verdict(both).line).toMatch(/^Announced, but not in full: the session with "tor1" is unknown/);
  expect(
    verdict(
      both,
      names.map((name) => state(name, { sessions: [session], links: [] })),
    ).line,
  ).toMatch(/^Announced, but not by ARP and NDP: none of 3 nodes/);
});

const kernelAnswers = (node: string): Partial<NodeState> => {
  const details = {
    node,
    address: '192.0.2.100',
    because: 'the address is on lo, and arp_ignore of eth0 is 0',
    remedy: 'run there: sysctl',
  };
  return { differing: [{ service: key, aspect: 'Announced', reason: reason('L2KernelAnswers', details) }] };
};

test('a Service is served, but two nodes answer, when the kernel of another node answers too', () => {
  const found = verdict(office, [state('n1', kernelAnswers('n1')), state('n2'), state('n3')]);
  expect([found.outcome, found.code]).toEqual(['served', 'L2KernelAnswers']);
  expect(found.line).toBe(
    'Announced, but two nodes answer at once: the kernel of node "n1" answers for 192.0.2.100 by itself: the address is on lo, and arp_ignore of eth0 is 0. On node "n1": run there: sysctl.',
  );
});

test('the kernel of the owner, which answers as the owner does, is no problem of the Service', () => {
  expect(verdict(office, [state('n1'), state('n2', kernelAnswers('n2')), state('n3')]).line).toBe(
    'Served: 192.0.2.100 via n2; connections were answered in the last 10 minutes.',
  );
});

test('the kernel of a node that is no candidate counts too', () => {
  const elsewhere = { links: [{ ...eth0, networks: [prefix('198.51.100.0/24')] }] };
  expect(verdict(office, [state('n1'), state('n2'), state('n3', { ...elsewhere, ...kernelAnswers('n3') })]).code).toBe('L2KernelAnswers');
});

test('what concerns ARP and NDP holds no route back', () => {
  const both = {
    ...office,
    advertisements: [{ name: 'ad' }],
    peers: [{ name: 'tor' }],
    running: Object.fromEntries(names.map((name) => [name, { tor: '10.0.0.254' }])),
  };
  const { nodeStates } = cluster(both);
  const states = names.map((name) => ({ ...state(name), sessions: nodeStates.get(name)?.sessions ?? [] }));
  const [first, ...others] = states;
  if (first === undefined) throw new RangeError('no node');
  const explanation = explainService(
    { ...cluster(both), nodeStates: new Map([{ ...first, ...kernelAnswers('n1') }, ...others].map((one) => [one.metadata.name, one])) },
    key,
    now,
  );
  expect(explanation?.nodes[0]?.addresses.flatMap(({ peers }) => peers.map(({ reason: why }) => why))).toEqual([undefined]);
});

test('an address is decided as often for 200 nodes as for 3', () => {
  const readings = (count: number): number => {
    const all = Array.from({ length: count }, (_, at) => `n${at + 1}`);
    const literal = cluster({ ...office, nodes: all.map((name) => ({ name })) });
    const read = { advertisements: 0 };
    const advertisements = new Map(literal.l2Advertisements);
    advertisements.values = () => {
      read.advertisements++;
      return Map.prototype.values.call(advertisements);
    };
    const nodeStates = new Map(all.map((name) => [name, state(name)]));
    explainService({ ...literal, nodeStates, l2Advertisements: advertisements }, key, now);
    return read.advertisements;
  };
  expect(readings(200)).toBe(readings(3));
});

test('a foreign host that answers beside the owner receives some clients: the Service is partly served', () => {
  const details = { address: '192.0.2.100', linkAddress: '02:00:00:00:00:99', interface: 'eth0', node: 'n2' };
  const contested: Partial<NodeState> = {
    differing: [{ service: key, aspect: 'Announced', reason: reason('L2AddressContested', details) }],
  };
  const found = verdict(office, [state('n1'), state('n2', contested), state('n3')]);
  expect([found.outcome, found.code]).toEqual(['partly', 'L2AddressContested']);
  expect(found.line).toBe(
    'Not fully served: 02:00:00:00:00:99 on eth0 of node "n2" uses 192.0.2.100 too: the node answers and announces it again, and clients reach whichever they heard last. ' +
      'Take 192.0.2.100 from that host, or leave it out of the IPAddressPool.',
  );
});

test('the only owner does not forward: the Service is not served, although the owner answers ARP', () => {
  const cause = reason('KernelSettingWrong', {
    setting: 'net.ipv4.ip_forward',
    value: '0',
    wanted: '1',
    why: 'it drops packets',
    error: '',
  });
  const heldBack = [{ family: 'IPv4', since: '', settled: true, reason: cause }] as const;
  const found = verdict(
    office,
    names.map((name) => state(name, { heldBack })),
  );
  expect([found.outcome, found.code]).toEqual(['notServed', 'HeldBackLastNextHop']);
  // Another candidate that forwards answers instead, and does not reach the endpoint behind it.
  expect(verdict(office, [state('n1'), state('n2', { heldBack }), state('n3')])).toMatchObject({
    outcome: 'partly',
    code: 'EndpointsCutOff',
  });
});

test('of two addresses one is contested: the other is not called unserved', () => {
  const [web] = office.services ?? [];
  const two: ClusterLiteral = { ...office, services: [{ ...web, name: key, assigned: ['192.0.2.100', '192.0.2.101'] }] };
  const conflict = { node: 'n2', address: '192.0.2.100', interface: 'eth0', linkAddress: '02:00:00:00:00:99' };
  const differing = [{ service: key, aspect: 'Announced', reason: reason('L2AddressConflict', conflict) }] as const;
  const found = verdict(two, [state('n1'), state('n2', { differing }), state('n3')]);
  expect(found).toMatchObject({ outcome: 'partly', code: 'L2AddressConflict' });
  expect(found.line).toMatch(/^Not served at 192\.0\.2\.100: /);
});

test('a selected node without a report of its links leaves the Service announced by ARP and NDP', () => {
  const silent = { ...state('n3') };
  delete (silent as { links?: unknown }).links;
  expect(verdict(office, [state('n1'), state('n2'), silent]).line).toMatch(
    /^Announced, but not every node stands ready: the agent of node "n3" has not reported its links/,
  );
  expect(verdict(office, [state('n1'), state('n2'), { ...silent, version: '0.1.0' }]).line).toMatch(
    /: the agent of node "n3" is of version 0\.1\.0 and does not report its links/,
  );
});

test('two nodes that answer on a split link are both named', () => {
  const twice = reason('L2TwoOwners', { node: 'n2', interface: 'eth0', other: 'n1', address: '192.0.2.100' });
  const instead = reason('L2AnswersInstead', { node: 'n1', address: '192.0.2.100', best: 'n2', because: 'no better placed node answers' });
  const differs = (because: typeof twice): Partial<NodeState> => ({
    differing: [{ service: key, aspect: 'Announced', reason: because }],
  });
  const found = verdict(office, [state('n1', differs(instead)), state('n2', differs(twice)), state('n3')]);
  expect(found).toMatchObject({ outcome: 'served', code: 'L2TwoOwners' });
  expect(found.line).toContain('nodes "n2" (eth0) and "n1" both answer for 192.0.2.100');
});

test('an interface that lost its carrier is the cause, with its node', () => {
  const cut = reason('L2NoCarrier', { node: 'n2', interface: 'eth0', networks: '192.0.2.0/24' });
  const alone = { ...office, nodes: [{ name: 'n2', labels: { place: '1' } }] };
  const found = verdict(alone, [state('n2', { links: [], host: [cut] })]);
  expect(found.line).toContain('eth0 of node "n2" (192.0.2.0/24) has no carrier: the node answers no ARP and NDP requests there');
  const elsewhere = reason('L2NoCarrier', { node: 'n2', interface: 'eth7', networks: '198.51.100.0/24' });
  expect(verdict(alone, [state('n2', { links: [], host: [elsewhere] })]).line).toContain('node "n2" has no interface for 192.0.2.100');
});

test('the fix for nodes with the label of excluded nodes is to remove it, not to change the L2Advertisement', () => {
  const label = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
  const excluded = { ...office, nodes: names.map((name) => ({ name, labels: label })) };
  const found = verdict(excluded);
  expect(found.line).toContain('has the label node.kubernetes.io/exclude-from-external-load-balancers');
  expect(found.line).toMatch(/Remove the label if the node should take traffic/);
  expect(found.line).not.toContain('make one node fit');
});
