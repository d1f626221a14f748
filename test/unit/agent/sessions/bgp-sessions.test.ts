import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { AnnouncedRoutes } from '../../../../src/agent/reconcile/announced-routes.ts';
import { BgpSessions, type BgpSessionsOptions } from '../../../../src/agent/sessions/bgp-sessions.ts';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { maximumPeers } from '../../../../src/bgp/limits.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { address } from '../../../../src/net/address.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster, type ClusterLiteral, type PeerLiteral } from '../../decisions/fixtures.ts';
import { FakeBfd } from '../fakes/fake-bfd.ts';
import { Routers } from '../fakes/routers.ts';
import { basics, testbed, web } from '../testbed.ts';

const route = (text: string) => ({ prefix: prefix(text), communities: [], asPathPrepend: 0, aggregate: false });

let clock: VirtualClock;
let routers: Routers;
let speaker: Speaker;
let table: AnnouncedRoutes;
let sessions: BgpSessions;

beforeEach(() => {
  clock = new VirtualClock();
  routers = new Routers(clock);
  speaker = new Speaker({ clock, random: () => 0.5, transport: routers.transport });
  table = new AnnouncedRoutes();
  sessions = newSessions();
});

function newSessions(options: BgpSessionsOptions = {}): BgpSessions {
  const components = { speaker, clock, log: silentLog, startBfd: () => new FakeBfd() };
  return new BgpSessions(components, table, () => undefined, options);
}

function reconcile(...peers: readonly PeerLiteral[]): void {
  sessions.reconcile(cluster({ nodes: [{ name: 'n1' }], peers }), 'n1');
  routers.exchange();
}

function tell(): void {
  sessions.applyRouteChanges(table.takeChanges(0));
  routers.exchange();
}

const tor1 = { name: 'tor1', peerAddress: '10.0.0.254' };
const tor6 = { name: 'tor6', peerAddress: 'fd00::254' };
const statuses = (): string[] =>
  sessions.status().map(({ peer, state, lastError, warning }) => {
    const text = warning === undefined ? lastError : reasonText(warning);
    return `${peer} ${state}${text === undefined ? '' : `: ${text}`}`;
  });
const prefixes = (router: string): string[] | undefined => {
  const table = routers.table(router);
  return table && [...table.keys()];
};

describe('sessions', () => {
  test('a session that starts late gets every route, a running one only changes', () => {
    reconcile(tor1);
    table.replaceRoutes(
      'a/a',
      new Map([
        ['tor1', [route('192.0.2.1/32')]],
        ['tor6', [route('2001:db8::1/128')]],
      ]),
    );
    tell();
    expect(prefixes('10.0.0.254')).toEqual(['192.0.2.1/32']);
    reconcile(tor1, tor6);
    expect(prefixes('fd00::254')).toEqual(['2001:db8::1/128']);
    table.replaceRoutes('a/a', new Map());
    tell();
    expect([prefixes('10.0.0.254'), prefixes('fd00::254')]).toEqual([[], []]);
  });

  test('a session that was lost gets everything again when it returns', () => {
    reconcile(tor1);
    table.replaceRoutes('a/a', new Map([['tor1', [route('192.0.2.1/32')]]]));
    tell();
    routers.sessions[0]?.close();
    routers.exchange();
    table.replaceRoutes('a/b', new Map([['tor1', [route('192.0.2.2/32')]]]));
    tell();
    expect(routers.table('10.0.0.254')).toBeUndefined();
    clock.advance(10_000);
    routers.exchange();
    expect(prefixes('10.0.0.254')?.toSorted()).toEqual(['192.0.2.1/32', '192.0.2.2/32']);
  });

  test.each([
    [true, false],
    [true, true],
    [false, false],
  ])('graceful restart that a BGPPeer asks for (%s) and the router does not offer (%s) is reported', (enableGracefulRestart, isOffered) => {
    routers.gracefulRestart = isOffered;
    reconcile({ ...tor1, enableGracefulRestart });
    const [status] = sessions.status();
    expect(status?.state).toBe('Established');
    expect(status?.warning && `${reasonText(status.warning)}; ${remedyText(status.warning)}`).toBe(
      enableGracefulRestart && !isOffered
        ? 'the session with BGPPeer "tor1" is up without graceful restart: the router 10.0.0.254 did not offer it, and drops the routes of this node while its agent restarts; ' +
            'configure on the router: neighbor 10.0.0.1 graceful-restart-helper, and reset the session there; or set spec.enableGracefulRestart: false in BGPPeer "tor1"'
        : undefined,
    );
  });

  test('a family that the router does not offer is reported with the line of the router, for its routes only', () => {
    routers.families = [4];
    table.replaceRoutes('a/a', new Map([['tor1', [route('192.0.2.1/32'), route('2001:db8::1/128')]]]));
    reconcile({ ...tor1, dualStackAddressFamily: true });
    const [status] = sessions.status();
    expect(status).toMatchObject({ state: 'Established', warning: { code: 'PeerFamilyNotNegotiated' } });
    const [first, ...others] = sessions.unsupportedRoutes();
    expect(others).toEqual([]);
    expect(first).toMatchObject({ peer: 'tor1', prefix: '2001:db8::1/128', reason: status?.warning });
    expect(first && reasonText(first.reason)).toBe(
      'the session with BGPPeer "tor1" is up without IPv6: the router 10.0.0.254 did not offer it',
    );
    expect(first && remedyText(first.reason)).toMatch(
      /^configure on the router: address-family ipv6 unicast, neighbor \S+ activate; or, if another BGPPeer carries IPv6, set spec.dualStackAddressFamily: false/,
    );
  });

  test('a route without a possible next hop keeps its own reason when the router offers both families', () => {
    table.replaceRoutes('a/a', new Map([['tor1', [route('2001:db8::1/128')]]]));
    reconcile({ ...tor1, dualStackAddressFamily: true });
    expect(sessions.status()[0]).not.toHaveProperty('warning');
    expect(sessions.unsupportedRoutes()).toMatchObject([{ reason: { code: 'RouteNotPossible' } }]);
  });

  test('a session that is down reports the cause rather than a warning', () => {
    reconcile({ ...tor1, bfdProfile: 'fast' });
    expect(statuses()).toEqual([expect.stringContaining('tor1 Established: BFDProfile "fast" of "tor1" does not exist')]);
    routers.sessions[0]?.close();
    routers.exchange();
    expect(statuses()).toEqual([expect.stringMatching(/^tor1 (Idle|Active|Connect): .*closed/)]);
  });

  test('the peer of a removed session gets the reason, and the others stay', () => {
    reconcile(tor1, tor6);
    reconcile(tor6);
    expect(routers.notifications).toEqual([expect.stringContaining('10.0.0.254 Cease: Administrative Shutdown (6/2)')]);
    expect(statuses()).toEqual(['tor6 Established']);
  });

  test.each<[string, Partial<PeerLiteral>]>([
    ['keepaliveTimeSeconds', { keepaliveTimeSeconds: 10 }],
    ['connectTimeSeconds', { connectTimeSeconds: 30 }],
    ['flapDamping', { flapDamping: false }],
  ])('%s changes while the session runs', (_, change) => {
    reconcile(tor1);
    reconcile({ ...tor1, ...change });
    expect(routers.notifications).toEqual([]);
    expect(routers.transport.dialed).toHaveLength(1);
  });

  test.each<[string, Partial<PeerLiteral>]>([
    ['peerPort', { peerPort: 1179 }],
    ['holdTimeSeconds', { holdTimeSeconds: 30 }],
    ['password', { password: 'secret' }],
    ['ebgpMultiHop', { ebgpMultiHop: true }],
    ['ttlSecurityHops', { ttlSecurityHops: 1 }],
    ['enableGracefulRestart', { enableGracefulRestart: true }],
    ['localASN', { localASN: 64_999 }],
    ['interface', { interface: 'eth1' }],
    ['dualStackAddressFamily', { dualStackAddressFamily: true }],
  ])('%s resets the session, which comes back with its routes', async (_, change) => {
    reconcile(tor1);
    table.replaceRoutes('a/a', new Map([['tor1', [route('192.0.2.1/32')]]]));
    tell();
    reconcile({ ...tor1, ...change });
    // The old connection ends before the next one starts.
    clock.advance(1_000);
    await setImmediate();
    clock.advance(5_000);
    routers.exchange();
    expect(routers.notifications).toEqual([expect.stringContaining('10.0.0.254 Cease: Other Configuration Change (6/6)')]);
    expect(prefixes('10.0.0.254')).toEqual(['192.0.2.1/32']);
  });

  test('a flapping session is held back and reported, and starts at once when flapDamping is removed', () => {
    reconcile(tor1);
    for (let flap = 0; flap < 4; flap++) {
      expect(statuses()[0]).toMatch(/^tor1 Established/);
      routers.sessions.at(-1)?.close();
      routers.exchange();
      clock.advance(5_000);
      routers.exchange();
    }
    const [status] = sessions.status();
    expect(status).toMatchObject({ state: 'Idle', damping: { flapsInLastHour: 4, until: expect.stringMatching(/^2026-/) } });
    reconcile({ ...tor1, flapDamping: false });
    expect(sessions.status()[0]).toMatchObject({ state: 'Established', damping: { flapsInLastHour: 4 } });
    expect(sessions.status()[0]?.damping?.until).toBeUndefined();
  });

  test('adminDown closes the session and keeps it closed until it is lifted', () => {
    reconcile(tor1);
    reconcile({ ...tor1, adminDown: true, shutdownMessage: 'maintenance' });
    clock.advance(60_000);
    routers.exchange();
    expect(routers.notifications).toEqual(['10.0.0.254 Cease: Administrative Shutdown (6/2): "maintenance"']);
    expect(statuses()).toEqual(['tor1 Idle: administratively down']);
    reconcile(tor1);
    expect(statuses()[0]).toMatch(/^tor1 Established/);
  });
});

describe('peers of each kind', () => {
  test('sessions open with the settings of their BGPPeer', () => {
    reconcile({ ...tor1, ttlSecurityHops: 2, interface: 'eth0' }, { ...tor6, peerAddress: 'fe80::254', interface: 'eth1' });
    expect(routers.transport.dialed).toMatchObject([
      { address: address('10.0.0.254'), ttl: 255, minimumTtl: 254, interface: 'eth0' },
      { address: address('fe80::254'), ttl: 255, interface: 'eth1' },
    ]);
  });

  test('a peer without an address is discovered on its interface, which the status names', () => {
    reconcile({ name: 'tor', interface: 'eth1' });
    expect(sessions.status()).toMatchObject([{ peer: 'tor', address: 'unnumbered on eth1', interface: 'eth1', state: 'Active' }]);
    expect(statuses()[0]).toContain('no router advertisement was received on eth1 yet');
    routers.transport.discoveries.get('eth1')?.found(address('fe80::7'));
    routers.exchange();
    expect(sessions.status()).toMatchObject([{ peer: 'tor', address: 'fe80::7', interface: 'eth1', state: 'Established' }]);
  });

  test('a refused peer without an address is listed in the status, too', () => {
    reconcile({ name: 'a', interface: 'eth1' }, { name: 'b', interface: 'eth1' });
    expect(sessions.status()[1]).toMatchObject({ peer: 'b', address: 'unnumbered on eth1', since: '' });
    expect(statuses()[1]).toBe('b Idle: BGPPeer "a" already peers with the router on eth1 on the same nodes');
  });
});

describe('listening', () => {
  const passive = { ...tor1, passive: true };
  const listening = (): number[] => speaker.listening().sockets.map(({ port }) => port);

  test('the speaker listens from the first passive peer to the last', () => {
    sessions = newSessions({ listenForPassivePeers: true });
    reconcile(tor1);
    expect(listening()).toEqual([]);
    reconcile(passive, tor6);
    expect(listening()).toEqual([179]);
    expect(speaker.listening().sockets).toEqual([{ port: 179, listening: true }]);
    reconcile(tor6);
    expect(listening()).toEqual([]);
    expect(statuses()).toEqual(['tor6 Established']);
  });

  test('passive peers, and only they, report that listening failed', () => {
    sessions = newSessions({ listenForPassivePeers: true });
    routers.transport.listen = (_, events) => {
      clock.after(0, () => events.failed({ kind: 'inUse', detail: 'address already in use' }));
      return { setKeys: () => new Map(), close: () => {} };
    };
    reconcile(passive, tor6);
    expect(statuses()).toEqual(['tor1 Active: cannot listen on port 179: address already in use', 'tor6 Established']);
  });

  test('configured listening stays as it is: without any, a passive peer is refused', () => {
    reconcile(passive);
    expect(listening()).toEqual([]);
    expect(statuses()[0]).toContain(
      'tor1 Idle: no session with "tor1" is possible: it has passive: true, but the agent of this node was started with --bgp-listen none',
    );
    speaker = new Speaker({ clock, random: () => 0.5, transport: routers.transport, listen: [{ port: 1179 }] });
    sessions = newSessions();
    reconcile(passive);
    expect(listening()).toEqual([1179]);
    expect(statuses()).toEqual(['tor1 Active']);
    reconcile(tor6);
    expect(listening()).toEqual([1179]);
  });
});

describe('a session whose Secret is deleted', () => {
  const locked = { ...tor1, passwordSecret: { namespace: 'herald', name: 'bgp' } };
  const nodes = [{ name: 'n1' }];
  const password = 'correct horse';
  const running = { n1: { tor1: '10.0.0.254' } };
  const start = (literal: ClusterLiteral): void => {
    sessions.reconcile(cluster({ nodes, peers: [locked], ...literal }), 'n1');
    routers.exchange();
  };

  test('the session keeps its last password, also through a change, and reports the missing Secret', () => {
    start({ secrets: [{ name: 'herald/bgp', password }] });
    start({ running });
    start({ running, peers: [{ ...locked, keepaliveTimeSeconds: 10 }] });
    expect(routers.notifications).toEqual([]);
    expect(routers.transport.dialed).toHaveLength(1);
    expect(statuses()).toEqual([
      'tor1 Established: Secret herald/bgp of "tor1" cannot be used: it does not exist; a session that already uses its password keeps running, others end',
    ]);
    start({ running, secrets: [{ name: 'herald/bgp', password }] });
    expect(statuses()).toEqual(['tor1 Established']);
  });

  test('the session does not come back after a restart of the agent, nor without a password', () => {
    start({ running });
    expect(statuses()).toEqual(['tor1 Idle: BGPPeer "tor1" needs Secret herald/bgp: it does not exist']);
    start({ peers: [tor1] });
    start({ running });
    expect(statuses()).toEqual(['tor1 Idle: BGPPeer "tor1" needs Secret herald/bgp: it does not exist']);
  });
});

describe('a refused peer', () => {
  test.each<[string, PeerLiteral]>([
    ['a link-local address', { name: 'bad', peerAddress: 'fe80::1' }],
    ['passive mode that is impossible', { name: 'bad', peerAddress: '10.0.0.99', passive: true }],
    ['ttlSecurityHops beside ebgpMultiHop', { name: 'bad', peerAddress: '10.0.0.99', ttlSecurityHops: 1, ebgpMultiHop: true }],
    ['the address of another peer', { name: 'tor2', peerAddress: '10.0.0.254' }],
    ['a missing password Secret', { name: 'bad', peerAddress: '10.0.0.99', passwordSecret: { namespace: 'a', name: 'b' } }],
  ])('a peer with %s is refused alone, and the status says why', (_, bad) => {
    reconcile(bad, tor1, tor6);
    expect(statuses()).toEqual(
      expect.arrayContaining(['tor1 Established', 'tor6 Established', expect.stringMatching(new RegExp(`^${bad.name} Idle: .`))]),
    );
    reconcile(tor1, tor6);
    expect(statuses()).toEqual(['tor1 Established', 'tor6 Established']);
  });

  test('a running session with a refused change keeps running and is listed once', () => {
    reconcile(tor1);
    reconcile({ ...tor1, peerAddress: 'fe80::1' });
    expect(statuses()).toEqual([
      expect.stringContaining(
        'tor1 Established: the session with "tor1" keeps its earlier settings, because its present ones are not possible: interface: a link-local',
      ),
    ]);
    reconcile(tor1);
    expect(statuses()).toEqual(['tor1 Established']);
  });

  test('a peer beyond the limit is refused alone', () => {
    const peers = Array.from({ length: maximumPeers + 1 }, (_, i): PeerLiteral => ({
      name: `p${1000 + i}`,
      peerAddress: `10.1.${i >> 8}.${i & 255}`,
    }));
    reconcile(...peers);
    expect(speaker.peers).toHaveLength(maximumPeers);
    expect(statuses().at(-1)).toContain('a speaker has at most 1024 peers');
    reconcile(...peers.slice(1));
    expect(statuses().at(-1)).toBe(`p${1000 + maximumPeers} Established`);
  });
});

describe('a change of session settings', () => {
  const intent = (change: Partial<PeerLiteral> = {}): SessionIntent => {
    const [peer] = peersOfNode(cluster({ nodes: [{ name: 'n1' }], peers: [{ ...tor1, ...change }] }), 'n1');
    if (peer === undefined || !('session' in peer.result)) throw new Error('no session');
    return peer.result.session;
  };
  const [possible, impossible] = [intent(), intent({ peerAddress: 'fe80::1' })];

  test.each([
    ['no difference', possible, intent(), undefined],
    ['another address', possible, intent({ peerAddress: '10.0.0.9' }), { change: 'reset', fields: ['address'], agreed: ['address'] }],
    ['another keepalive time', possible, intent({ keepaliveTimeSeconds: 7 }), { change: 'live', fields: ['keepaliveTime'] }],
    ['adminDown', possible, intent({ adminDown: true }), { change: 'reset', fields: ['adminDown'] }],
    ['to what is refused: it runs on', possible, impossible, undefined],
    ['from what is refused', impossible, possible, { change: 'reset', fields: ['interface'] }],
  ] as const)('%s', (_, before, after, expected) => {
    expect(sessionChange(before, after)).toEqual(expected);
  });
});

describe('an agent with real sessions', () => {
  test('the agent sends Cease with its message, and leaves no timer', async () => {
    let routers: Routers | undefined;
    const bed = testbed([...basics, ...web('a', ['192.0.2.1'])], {
      speaker: (clock) => {
        routers = new Routers(clock);
        return new Speaker({ clock, random: () => 0.5, transport: routers.transport });
      },
      deliver: () => routers?.exchange(),
    });
    await bed.agent.start();
    await bed.advance(100);
    expect([...(routers?.table('10.0.0.254')?.keys() ?? [])]).toEqual(['192.0.2.1/32']);
    expect(bed.states.at(-1)?.sessions).toMatchObject([
      { peer: 'tor1', state: 'Established', prefixesSent: 1, localASN: 64512, peerASN: 64513 },
    ]);
    bed.takeLog();
    const stopped = bed.agent.stop('agent stopped');
    await bed.advance(1_000);
    await stopped;
    expect(routers?.notifications).toEqual(['10.0.0.254 Cease: Administrative Shutdown (6/2): "agent stopped"']);
    expect(bed.takeLog()).toEqual(['data plane closed']);
    expect(bed.states.at(-1)?.consumed).toMatchObject({ Service: '1' });
    expect(bed.clock.pending).toBe(0);
  });
});
