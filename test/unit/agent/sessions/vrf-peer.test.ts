import { beforeEach, expect, test } from 'vitest';
import { AnnouncedRoutes } from '../../../../src/agent/reconcile/announced-routes.ts';
import { BgpSessions } from '../../../../src/agent/sessions/bgp-sessions.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { peersOfNode } from '../../../../src/decisions/announcement/peers.ts';
import { peersOnNode, peerStatus } from '../../../../src/decisions/configuration/peer-status.ts';
import { objectOfReason } from '../../../../src/decisions/verdict/object-of-reason.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { valuesOf } from '../../../../src/model/store/snapshot-values.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster, type PeerLiteral } from '../../decisions/fixtures.ts';
import { FakeBfd } from '../fakes/fake-bfd.ts';
import { Routers } from '../fakes/routers.ts';

const tor: PeerLiteral = { name: 'tor', peerAddress: '10.0.0.254', vrf: 'red' };
const plain: PeerLiteral = { name: 'plain', peerAddress: '10.0.0.254' };

let clock: VirtualClock;
let routers: Routers;
let speaker: Speaker;
let sessions: BgpSessions;
/** VRFs of the fake kernel. */
let vrfs: Set<string>;

beforeEach(() => {
  clock = new VirtualClock();
  routers = new Routers(clock);
  vrfs = new Set(['red']);
  const { transport } = routers;
  const [dial, listen] = [transport.dial.bind(transport), transport.listen.bind(transport)];
  const failure = { kind: 'noVrf', detail: 'there is no VRF red on this host' } as const;
  transport.dial = (options, events) => {
    if (options.vrf === undefined || vrfs.has(options.vrf)) return dial(options, events);
    return dial(options, { connected: () => events.closed(failure), data: () => {}, drain: () => {}, closed: () => {} });
  };
  transport.listen = (options, events) => {
    if (options.vrf === undefined || vrfs.has(options.vrf)) return listen(options, events);
    clock.after(0, () => events.failed(failure));
    return { setKeys: () => new Map(), close: () => {} };
  };
  speaker = new Speaker({ clock, random: () => 0.5, transport });
  const components = { speaker, clock, log: silentLog, startBfd: () => new FakeBfd() };
  sessions = new BgpSessions(components, new AnnouncedRoutes(), () => undefined, { listenForPassivePeers: true });
});

function reconcile(...peers: readonly PeerLiteral[]): Snapshot {
  const snapshot = cluster({ nodes: [{ name: 'n1' }], peers });
  sessions.reconcile(snapshot, 'n1');
  routers.exchange();
  return snapshot;
}

const states = (): string[] => sessions.status().map(({ peer, state, cause }) => `${peer} ${state} ${cause?.code ?? ''}`.trim());

test('a BGPPeer with vrf has its session in the VRF, beside one with the same address in none', () => {
  reconcile(tor, plain);
  expect(states()).toEqual(['plain Established', 'tor Established']);
  expect(new Set(routers.transport.dialed.map(({ vrf }) => vrf))).toEqual(new Set(['red', undefined]));
});

test('two BGPPeers with one address in one VRF are one router', () => {
  const [, second] = peersOfNode(cluster({ nodes: [{ name: 'n1' }], peers: [tor, { ...tor, name: 'tor2' }] }), 'n1');
  expect(second).toMatchObject({ peer: 'tor2', result: { reason: { code: 'DuplicatePeer' } } });
});

test('a missing VRF is in the condition of the BGPPeer, and the session starts when the VRF is created', () => {
  vrfs.clear();
  const snapshot = reconcile(tor, plain);
  expect(states()).toEqual(['plain Established', 'tor Active PeerVRFMissing']);
  const [, { cause } = {}] = sessions.status();
  if (cause === undefined) throw new Error('there is no cause');
  expect(reasonText(cause)).toBe('BGPPeer "tor" has spec.vrf: red, but there is no VRF red on the node, or its kernel has none');
  expect(remedyText(cause)).toContain('ip link add red type vrf table NUMBER (needs a kernel with CONFIG_NET_VRF); or remove spec.vrf');
  expect(objectOfReason(nodeState, cause)).toEqual({ object: 'BGPPeer/tor', field: 'spec.vrf' });
  expect(conditionOf(snapshot)).toEqual(cause);
  vrfs.add('red');
  clock.advance(60_000);
  routers.exchange();
  expect(states()).toEqual(['plain Established', 'tor Established']);
});

test('a passive BGPPeer with vrf makes the agent listen in that VRF only, and names a missing VRF', () => {
  reconcile({ ...tor, passive: true });
  expect(speaker.listening().sockets.map(({ vrf }) => vrf)).toEqual(['red']);
  reconcile({ ...plain, passive: true });
  expect(speaker.listening().sockets.map(({ vrf }) => vrf)).toEqual([undefined]);
  vrfs.clear();
  reconcile({ ...tor, passive: true }, { ...plain, passive: true });
  expect(states()).toEqual(['plain Active', 'tor Active PeerVRFMissing']);
});

test('a BGPPeer with dynamicNeighbors in a VRF that does not exist has the same reason', () => {
  vrfs.clear();
  const { peerAddress: _, ...dynamic } = {
    ...tor,
    dynamicASN: 'external' as const,
    dynamicNeighbors: { ranges: [prefix('10.0.0.0/24')], asns: [], maximum: 2 },
  };
  const snapshot = reconcile(dynamic);
  expect(states()).toEqual(['tor Active PeerVRFMissing']);
  expect(sessions.status()[0]?.lastError).toContain('cannot listen on port 179: there is no VRF red');
  expect(conditionOf(snapshot)?.code).toBe('PeerVRFMissing');
  vrfs.add('red');
  clock.advance(60_000);
  expect(states()).toEqual(['tor Active']);
});

/** The reason in the condition Ready of the BGPPeer, when the node has reported its sessions. */
function conditionOf(snapshot: Snapshot) {
  const [peer, state] = [snapshot.peers.get('tor'), { ...nodeState, sessions: sessions.status() }];
  if (peer === undefined) throw new Error('there is no BGPPeer');
  const now = clock.date().getTime();
  const reported: Snapshot = {
    ...valuesOf(snapshot),
    nodeStates: new Map([['n1', { ...state, updated: clock.date().toISOString() }]]),
  };
  const { cause } = peersOnNode(reported, 'n1', now).get('tor') ?? {};
  if (cause === undefined) throw new Error('the node reports no cause');
  return peerStatus(peer, { nodes: 1, expected: 1, established: 0, cause }).unready;
}

const nodeState = {
  kind: 'NodeState' as const,
  metadata: {
    namespace: '',
    name: 'n1',
    uid: '',
    resourceVersion: '',
    labels: {},
    annotations: {},
    creationTimestamp: '',
    deleting: false,
  },
  consumed: {},
  differing: [],
};
