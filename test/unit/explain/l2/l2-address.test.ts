import { expect, test } from 'vitest';
import { explainLiveService } from '../../../../src/explain/service/live-service.ts';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import type { LiveNode } from '../../../../src/explain/sessions/live-view.ts';
import type { LiveAddress, LiveLink, LiveLinkPeer } from '../../../../src/live/contract.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { cluster, matching, metadata, type ClusterLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
const key = 'shop/web' as const;

/** The weight makes n2 the best candidate, then n1, then n3. n4 has another network. */
const office: ClusterLiteral = {
  services: [{ name: key, ports: ['http:80/TCP'], assigned: ['192.0.2.100'] }],
  slices: [{ service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1'] }],
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
  nodes: [{ name: 'n1', labels: { place: '2' } }, { name: 'n2', labels: { place: '1' } }, { name: 'n3' }, { name: 'n4' }],
};

const macs: Readonly<Record<string, string>> = { n1: '02:00:00:00:00:01', n2: '02:00:00:00:00:02', n3: '02:00:00:00:00:03' };

function state(name: string, more: Partial<NodeState> = {}): NodeState {
  const networks = [prefix(name === 'n4' ? '198.51.100.0/24' : '192.0.2.0/24')];
  const links = [{ name: 'eth0', linkAddress: macs[name] ?? '02:00:00:00:00:04', networks, addresses: [] }];
  return { kind: 'NodeState', metadata: metadata(name), updated: ago(5), consumed: {}, sessions: [], differing: [], links, ...more };
}

const address = (changes: Partial<LiveAddress> = {}): LiveAddress => ({
  address: '192.0.2.100',
  interface: 'eth0',
  state: 'owner',
  since: ago(300),
  cause: 'it is the best placed node that lives',
  claims: 2,
  requests: 40,
  answers: 30,
  answersPerMinute: 6,
  lastAnswer: { at: ago(3), linkAddress: '02:00:00:00:00:99' },
  lastAnnouncement: ago(40),
  ...changes,
});

const peer = (node: string, changes: Partial<LiveLinkPeer> = {}): LiveLinkPeer => ({
  node,
  linkAddress: macs[node] ?? '',
  session: 'Up',
  sessionSince: ago(600),
  standing: 'in',
  answersWithoutSession: false,
  ...changes,
});

const link = (linkAddress: string, peers: readonly LiveLinkPeer[]): LiveLink => ({
  interface: 'eth0',
  linkAddress,
  settled: true,
  isolated: false,
  noPeerLiveness: false,
  peers,
  groups: { joined: 0, waiting: 0 },
});

const answer = (addresses: readonly LiveAddress[], links: readonly LiveLink[]): LiveNode => ({
  started: ago(600),
  sessions: [],
  routes: [],
  addresses,
  links,
});

function explained(
  states: readonly NodeState[],
  live: Readonly<Record<string, LiveNode>> = {},
  detail: 'brief' | 'whole' = 'brief',
  literal: ClusterLiteral = office,
): string {
  const nodeStates = new Map(states.map((one) => [one.metadata.name, one]));
  const explanation = explainLiveService({ ...cluster(literal), nodeStates }, key, now, { live: new Map(Object.entries(live)) });
  if (explanation === undefined) throw new RangeError('no such Service');
  return renderService(explanation, detail).join('\n');
}

const all = ['n1', 'n2', 'n3', 'n4'].map((name) => state(name));

test('explain names the owner, its interface and the next one by decision and reports alone', () => {
  expect(explained(all)).toContain(`192.0.2.100 by ARP
  n2 answers on eth0 (02:00:00:00:00:02), as decided and reported
  if n2 fails, n1 answers`);
});

test('explain says why a better candidate is out: its agent is silent', () => {
  const text = explained(all.map((one) => (one.metadata.name === 'n2' ? { ...one, updated: ago(600) } : one)));
  expect(text).toContain('  n1 answers on eth0 (02:00:00:00:00:01), as decided and reported\n  n2 is better placed, but out: ');
  expect(text).toContain('  if n1 fails, n3 answers');
});

test.each<[string, object, string]>([
  [
    'nothing is set',
    {},
    'end when the owner changes; with herald.dev/load-balancing: consistent and herald.dev/direct-return: "true" they survive',
  ],
  [
    'hashing is consistent',
    { loadBalancing: 'consistent' },
    'end when the owner changes; with herald.dev/direct-return: "true" they survive',
  ],
  [
    'hashing is consistent and pods answer directly',
    { loadBalancing: 'consistent', directReturn: true },
    'survive a change of the owner, except those to pods of a node that fails',
  ],
  [
    'the policy is Local',
    { loadBalancing: 'consistent', directReturn: true, externalTrafficPolicy: 'Local' },
    'end when the owner changes; with externalTrafficPolicy: Cluster they survive',
  ],
])('explain says whether open connections survive a change of the owner when %s', (_, more, text) => {
  const endpoints = ['10.244.1.1@n1', '10.244.2.1@n2'];
  const literal = {
    ...office,
    services: (office.services ?? []).map((service) => ({ ...service, ...more })),
    slices: [{ service: key, ports: ['http:8080/TCP'], endpoints }],
  };
  expect(explained(all, {}, 'brief', literal)).toContain(`\n  open connections ${text}\n`);
});

test('explain -o wide says why a node is no candidate', () => {
  expect(explained(all, {}, 'whole')).toContain('  n4 is no candidate: node "n4" has no interface for 192.0.2.100');
  expect(explained(all)).not.toContain('n4 is no candidate');
});

test('explain tells what the network says where the agent of the owner answers', () => {
  const live = { n2: answer([address()], [link('02:00:00:00:00:02', [peer('n1'), peer('n3')])]) };
  expect(explained(all, live)).toContain(`192.0.2.100 by ARP
  n2 answers on eth0 (02:00:00:00:00:02) for 5 min: it is the best placed node that lives; claimed 2 times (asked now)
    last request answered 3 s ago (02:00:00:00:00:99); 6 in the last minute; announced 40 s ago
  if n2 fails, n1 answers`);
  expect(explained(all, live, 'whole')).toContain('    BFD with n1 is Up for 10 min: it lives\n    BFD with n3 is Up for 10 min: it lives');
});

test('explain believes a node that answers, and says since when the better one is dead for it', () => {
  const links = [link('02:00:00:00:00:01', [peer('n2', { session: 'Down', sessionSince: ago(20), standing: 'out' }), peer('n3')])];
  const text = explained(all, { n1: answer([address()], links) });
  expect(text).toContain('  n1 answers on eth0 (02:00:00:00:00:01) for 5 min');
  expect(text).toContain('  n2 is better placed, but does not answer: BFD with n2 is Down for 20 s: it counts as dead');
  expect(text).toContain('  if n1 fails, n3 answers');
});

test('explain warns that no host has asked since the claim, and of a conflict with its MAC address', () => {
  const { lastAnswer: _, ...unasked } = address({ lastConflict: { at: ago(30), linkAddress: '02:00:00:00:00:66' } });
  const text = explained(all, { n2: answer([unasked], [link('02:00:00:00:00:02', [])]) });
  expect(text).toContain(
    '    no request answered; announced 40 s ago\n    no ARP request for it has reached eth0 of node "n2" since the claim',
  );
  // L2NobodyAsks
  expect(text).toContain('promiscuous: true in the L2Advertisement');
  expect(text).toContain('    another host claimed the address 30 s ago (02:00:00:00:00:66)');
});

test('explain does not expect a request in the first minute of a claim', () => {
  const { lastAnswer: _, ...unasked } = address({ since: ago(30) });
  expect(explained(all, { n2: answer([unasked], []) })).not.toContain('since the claim');
});

test('explain says that the asked owner does not answer, and why', () => {
  const waiting = address({ state: 'conflict', since: ago(9), cause: 'a host that is no node claimed the address', claims: 1 });
  const text = explained(all, { n2: answer([waiting], [link('02:00:00:00:00:02', [])]) });
  expect(text).toContain(
    '  no node answers ARP for it\n  n2 on eth0 gives way to another host for 9 s: a host that is no node claimed the address (asked now)',
  );
});
