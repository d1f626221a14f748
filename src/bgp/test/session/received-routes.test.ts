import { beforeEach, describe, expect, test } from 'vitest';
import { Speaker, type Peer, type PeerOptions, type RouteInput } from '../../../../src/bgp/index.ts';
import type { Family } from '../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { describe as named, nameOf } from '../rib/received/received.ts';
import { pair, type Pair } from '../two-speakers.ts';
import { routerIdentity, routerOptions } from '../scripted-router.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import { encodeUpdateMessage } from '../../../../src/bgp/wire/update.ts';
import { nlriOf, type Path } from '../../../../src/bgp/wire/nlri.ts';
import type { AsPathSegment } from '../../../../src/bgp/wire/attributes/as-path.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const routes = (...prefixes: string[]): RouteInput[] => prefixes.map((text) => ({ prefix: text }));
const everything = { import: { otherwise: 'accept' } } as const;
const nets = ['198.51.100.0/24', '203.0.113.0/24'];

let both: Pair;
/** The changes of the received routes of the left speaker. */
let changes: string[];

const received = (peer: Peer = both.left.peer, family: Family = 4): string[] => [...peer.received(family)].map(nameOf).toSorted();
const wait = (seconds: number): void => both.clock.advance(seconds * 1000);

/** Starts both speakers: the left one dials and imports, the right one announces. */
function start(left: Partial<PeerOptions> = everything, right: Partial<PeerOptions> = {}): void {
  both.left.start(left, {});
  startRight(right);
  both.left.peer.on('routes', (event) => changes.push(...named(event.changes)));
  wait(5);
  expect(both.left.state).toBe('Established');
}

function startRight(change: Partial<PeerOptions> = {}, announced = nets, restarted = false): void {
  both.right.start({ passive: true, ...change }, { listen: [{}], restarted });
  both.right.speaker.rib.set(routes(...announced));
}

beforeEach(() => {
  both = pair();
  changes = [];
});

describe('a peer with import rules', () => {
  test('BGP-109 has the accepted routes, and an event for each UPDATE', () => {
    start({ import: { rules: [{ prefixes: ['198.51.100.0/24'], setLocalPref: 150 }] } });
    expect(received()).toEqual(['198.51.100.0/24']);
    expect(both.left.peer.receivedRoutes(prefix('198.51.100.0/24'))).toMatchObject([
      { localPref: 150, from: { peer: 'right', asn: 65001, internal: false }, asPath: [{ kind: 'sequence', asns: [65001] }] },
    ]);
    expect(both.left.peer.status()).toMatchObject({
      prefixesReceived: { ipv4: 2 },
      received: { accepted: { ipv4: 1, ipv6: 0 }, stale: { ipv4: 0, ipv6: 0 }, refused: { filter: 1 } },
    });
    both.right.speaker.rib.set([{ prefix: '198.51.100.0/24', med: 3 }]);
    wait(1);
    both.right.speaker.rib.set([]);
    wait(1);
    expect(changes).toEqual(['announced 198.51.100.0/24', 'changed 198.51.100.0/24', 'withdrawn 198.51.100.0/24']);
    expect(received()).toEqual([]);
  });

  test('BGP-128 receives, replaces and loses the routes of a speaker that sends path identifiers', () => {
    const ofBoth = { families: [4, 6], nextHop: { ipv6: '2001:db8::2' } } as const;
    start({ ...everything, ...ofBoth, addPathReceive: [4, 6] }, { ...ofBoth, addPathSend: [4] });
    const { rib } = both.right.speaker;
    rib.set(routes(...nets, '2001:db8:1::/48'));
    wait(1);
    expect(received()).toEqual(['198.51.100.0/24 1', '203.0.113.0/24 1']);
    // IPv6 has no path identifiers, because one side does not offer them.
    expect(received(both.left.peer, 6)).toEqual(['2001:db8:1::/48']);
    rib.set([{ prefix: '198.51.100.0/24', med: 3 }, ...routes('203.0.113.0/24', '2001:db8:1::/48')]);
    wait(1);
    expect(both.left.peer.receivedRoutes(prefix('198.51.100.0/24'))).toMatchObject([{ pathId: 1, med: 3 }]);
    rib.set([{ prefix: '198.51.100.0/24', med: 3 }]);
    wait(1);
    expect(received()).toEqual(['198.51.100.0/24 1']);
    expect(received(both.left.peer, 6)).toEqual([]);
  });

  test('BGP-128 receives path identifiers from the side that dials too', () => {
    start({ addPathSend: [4] }, { ...everything, addPathReceive: [4] });
    both.left.speaker.rib.set(routes('192.0.2.0/24'));
    wait(1);
    expect(received(both.right.peer)).toEqual(['192.0.2.0/24 1']);
    both.left.speaker.rib.set([]);
    wait(1);
    expect(received(both.right.peer)).toEqual([]);
  });

  test.each<[string, Partial<PeerOptions>, Partial<PeerOptions>]>([
    ['it does not ask for them', {}, { addPathSend: [4] }],
    ['the peer does not offer them', { addPathReceive: [4] }, {}],
    ['both only receive', { addPathReceive: [4] }, { addPathReceive: [4] }],
  ])('BGP-128 receives no path identifiers when %s', (_, left, right) => {
    start({ ...everything, ...left }, right);
    expect(received()).toEqual(nets);
  });

  test('loses its routes with the session when no side has graceful restart', () => {
    start();
    both.right.kill();
    wait(1);
    expect(received()).toEqual([]);
    expect(changes.slice(2)).toEqual(nets.map((text) => `withdrawn ${text}`));
  });

  test('loses its routes when it is removed, and passes none on', () => {
    start();
    expect(both.right.peer.status().prefixesReceived).toEqual({ ipv4: 0, ipv6: 0 });
    const { peer } = both.left;
    both.left.speaker.removePeer('right');
    expect(received(peer)).toEqual([]);
    expect(changes.slice(2)).toEqual(nets.map((text) => `withdrawn ${text}`));
  });
});

test('without import rules no route is kept and no event is emitted', () => {
  start({});
  expect(received()).toEqual([]);
  expect(both.left.peer.status()).not.toHaveProperty('received');
  expect(both.left.peer.status().prefixesReceived.ipv4).toBe(2);
  expect(changes).toEqual([]);
});

describe('too many routes', () => {
  test('BGP-110 end the session with Cease 6/1, and the pause before the next session doubles (RFC 4486)', () => {
    const downs: [number, string][] = [];
    both.left.start({ import: { otherwise: 'accept', maximumRoutes: 1 }, flapDamping: false }, {});
    both.left.peer.on('down', ({ reason }) => downs.push([Math.round(both.clock.now() / 1000), reason]));
    both.left.peer.on('routes', (event) => changes.push(...named(event.changes)));
    startRight({ flapDamping: false });
    wait(50);
    const pauses = downs.slice(1).map(([at], n) => at - (downs[n]?.[0] ?? 0));
    expect(pauses.slice(0, 3)).toEqual([5, 10, 20]);
    expect(downs[0]?.[1]).toBe('the peer announces more than 1 IPv4 prefixes: closed with Cease: Maximum Number of Prefixes Reached (6/1)');
    expect(received()).toEqual([]);
    expect(both.left.peer.status().counters.notifications.sent).toEqual({
      'Cease: Maximum Number of Prefixes Reached (6/1)': downs.length,
    });
  });

  test('are not kept as stale, also with graceful restart', () => {
    const gracefulRestart = { restartTime: 60 };
    start({ import: { otherwise: 'accept', maximumRoutes: 2 }, gracefulRestart }, { gracefulRestart });
    both.right.speaker.rib.announce({ prefix: '192.0.2.0/24' });
    wait(1);
    expect(both.left.state).toBe('Idle');
    expect(received()).toEqual([]);
  });

  test('do not count when the rules refuse them', () => {
    start({ import: { rules: [{ prefixes: ['203.0.113.0/24'] }], maximumRoutes: 1 } });
    expect(received()).toEqual(['203.0.113.0/24']);
  });
});

describe('a change of the import rules', () => {
  const reconfigure = (change: Partial<PeerOptions>): void => {
    both.left.peer.reconfigure({ ...both.left.options, ...change });
    wait(1);
  };

  test('BGP-111 decides about all routes again in the session: the peer sends refused ones again', () => {
    start({ import: { rules: [{ prefixes: ['198.51.100.0/24'] }] } });
    reconfigure({ import: { rules: [{ prefixes: ['203.0.113.0/24'] }] } });
    expect(changes).toEqual(['announced 198.51.100.0/24', 'withdrawn 198.51.100.0/24', 'announced 203.0.113.0/24']);
    expect(received()).toEqual(['203.0.113.0/24']);
    expect(both.left.peer.status().counters).toMatchObject({ established: 1, sent: { routeRefresh: 1 } });
    reconfigure({ import: { rules: [{ prefixes: ['203.0.113.0/24'] }] }, minimumHoldTime: 3 });
    expect(both.left.peer.status().counters.sent.routeRefresh).toBe(1);
  });

  test('to the first rules fills the table during the session, and to none empties it', () => {
    start({});
    reconfigure(everything);
    expect(received()).toEqual(nets);
    reconfigure({});
    expect(received()).toEqual([]);
    expect(changes).toEqual([...nets.map((text) => `announced ${text}`), ...nets.map((text) => `withdrawn ${text}`)]);
    expect(both.left.peer.status().counters.established).toBe(1);
  });
});

describe('BGP-116 graceful restart of the peer (RFC 4724 4.2)', () => {
  const gracefulRestart = { restartTime: 60 };
  const graceful = { ...everything, gracefulRestart };
  const stale = nets.map((text) => `${text} restart`);

  /** Kills the right speaker, so that its routes become stale. */
  function loseRight(): void {
    both.right.kill();
    wait(1);
    expect(received()).toEqual(stale);
    expect(both.left.peer.status().received?.stale).toEqual({ ipv4: 2, ipv6: 0 });
    both.right.host = both.network.host(both.right.host.addresses);
  }

  test('keeps its routes, marked as stale, until it has sent them again', () => {
    start(graceful, { gracefulRestart });
    loseRight();
    startRight({ gracefulRestart }, ['198.51.100.0/24', '192.0.2.0/24'], true);
    wait(10);
    expect(received()).toEqual(['192.0.2.0/24', '198.51.100.0/24']);
    expect(changes.slice(2)).toEqual([
      ...stale.map((text) => `changed ${text}`),
      'changed 198.51.100.0/24',
      'announced 192.0.2.0/24',
      'withdrawn 203.0.113.0/24 restart',
    ]);
  });

  test('loses its routes when it does not return within its restart time', () => {
    start(graceful, { gracefulRestart });
    loseRight();
    wait(57);
    expect(received()).toEqual(stale);
    wait(3);
    expect(received()).toEqual([]);
  });

  test('loses them when it returns without having preserved its forwarding, or without graceful restart', () => {
    for (const change of [{ gracefulRestart }, {}]) {
      both = pair();
      start(graceful, { gracefulRestart });
      loseRight();
      startRight(change, [], false);
      let atOnce: string[] | undefined;
      both.left.peer.on('established', () => (atOnce = received()));
      wait(10);
      expect(atOnce).toEqual([]);
    }
  });

  test('loses the rest 360 s after its return if it sends no End-of-RIB', () => {
    start(graceful, { gracefulRestart });
    loseRight();
    both.right.start({ passive: true, gracefulRestart }, { listen: [{}], restarted: true });
    wait(300);
    expect(both.left.state).toBe('Established');
    expect(received()).toEqual(stale);
    wait(70);
    expect(received()).toEqual([]);
  });

  test('loses its routes at once when this side closes the session, also while they are stale', () => {
    start(graceful, { gracefulRestart });
    loseRight();
    both.left.peer.pathLost();
    expect(received()).toEqual([]);
  });

  test('keeps its routes after the hold timer expired, because both sides support that (RFC 8538)', () => {
    start(graceful, { gracefulRestart });
    both.network.cut(both.left.host, both.right.host);
    wait(12);
    expect(both.left.state).not.toBe('Established');
    expect(received()).toEqual(stale);
  });

  test('loses its routes when it is shut down with a Hard Reset (RFC 8538 3)', () => {
    start(graceful, { gracefulRestart });
    both.right.speaker.removePeer('left', 'maintenance');
    wait(1);
    expect(received()).toEqual([]);
  });

  test('BGP-117 keeps its routes as long-lived stale after the restart time, if both agreed (RFC 9494)', () => {
    start({ ...graceful, longLivedStaleTime: 1 }, { gracefulRestart, longLivedStaleTime: 600 });
    both.right.speaker.rib.announce({ prefix: '203.0.113.0/24', communities: ['no-llgr'] });
    wait(1);
    both.right.kill();
    wait(59);
    expect(received()).toEqual(stale);
    wait(2);
    expect(received()).toEqual(['198.51.100.0/24 longLived']);
    wait(590);
    expect(received()).toEqual(['198.51.100.0/24 longLived']);
    wait(15);
    expect(received()).toEqual([]);
  });
});

describe('a scripted router', () => {
  /** Connects our speaker to a router that sends these messages. */
  function session(change: Partial<PeerOptions>, ...sent: Uint8Array[]): Peer {
    const clock = new VirtualClock();
    const transport = new MemoryTransport(clock);
    const peer = new Speaker({ clock, transport }).addPeer({ ...routerOptions, ...everything, ...change });
    const { capabilities, ...open } = localOpenMessage(routerIdentity);
    const addPath = { kind: 'addPath', families: [{ afi: 1, safi: 1, receive: false, send: true }] } as const;
    clock.advance(0);
    const messages = [encodeOpen({ ...open, capabilities: [...capabilities, addPath] }), keepaliveMessage, ...sent];
    for (const message of messages) transport.remote.send(message);
    clock.advance(0);
    expect(peer.status().state).toBe('Established');
    return peer;
  }

  const announce = (asPath: readonly AsPathSegment[], ...paths: Path[]): Uint8Array => {
    const nextHop = Uint8Array.of(10, 0, 0, 1);
    return encodeUpdateMessage(
      { withdrawn: [], announced: [nlriOf(4, paths, nextHop)], attributes: { origin: 0, asPath, nextHop } },
      { fourOctetAsn: true },
    );
  };
  const sequence = [{ kind: 'sequence', asns: [65001] }] as const;
  const [net1, net2] = [prefix('198.51.100.0/24'), prefix('203.0.113.0/24')];
  const marker = (subtype: number): Uint8Array => encodeRouteRefresh({ afi: 1, subtype, safi: 1 });

  test('BGP-115 announces several paths of a prefix on a session with ADD-PATH (RFC 7911)', () => {
    const paths = [1, 2].map((pathId) => ({ prefix: net1, pathId }));
    const peer = session({ addPathReceive: [4] }, announce(sequence, ...paths));
    expect(received(peer)).toEqual(['198.51.100.0/24 1', '198.51.100.0/24 2']);
    expect(peer.receivedRoutes(net1)).toHaveLength(2);
  });

  test('BGP-112 announces a path with an AS_SET, which counts as a withdrawal (RFC 9774)', () => {
    const set = [...sequence, { kind: 'set', asns: [65007, 65008] }] as const;
    const peer = session({}, announce(sequence, { prefix: net1 }, { prefix: net2 }), announce(set, { prefix: net1 }));
    expect(received(peer)).toEqual(['203.0.113.0/24']);
    expect(peer.status().received?.refused).toEqual({ asSet: 1 });
    expect(peer.status().state).toBe('Established');
  });

  test('sends its routes again between two markers, after which the others are gone (RFC 7313)', () => {
    const both = announce(sequence, { prefix: net1 }, { prefix: net2 });
    const again = announce(sequence, { prefix: net1 });
    expect(received(session({}, both, marker(1), again))).toEqual(nets);
    expect(received(session({}, both, marker(1), again, marker(2)))).toEqual(['198.51.100.0/24']);
  });
});

test('the best path over several peers changes with their routes, and each loser has its step', () => {
  start();
  const { speaker } = both.left;
  const host = both.network.host([{ family: 4, value: 0x0a00_0003n }]);
  expect(speaker.bestPath('198.51.100.0/24')).toMatchObject({ best: { from: { peer: 'right' } }, eliminated: [] });
  const third = speaker.addPeer({ ...both.left.options, ...everything, name: 'third', address: '10.0.0.3', peerAsn: 65002 });
  const router = new Speaker({
    asn: 65002,
    routerId: '10.0.0.3',
    listen: [{}],
    clock: both.clock,
    transport: host,
  });
  router.addPeer({ address: '10.0.0.1', peerAsn: 64512, passive: true });
  router.rib.set([{ prefix: '198.51.100.0/24', asPathPrepend: 1 }, { prefix: '192.0.2.0/24' }]);
  wait(10);
  expect(received(third)).toEqual(['192.0.2.0/24', '198.51.100.0/24']);
  expect(speaker.bestPath('198.51.100.0/24')).toMatchObject({
    best: { from: { peer: 'right' } },
    eliminated: [{ route: { from: { peer: 'third' } }, step: 'asPathLength', value: 2, better: 1 }],
  });
  const selected = [...speaker.bestPaths(4)].map(({ best }) => `${formatPrefix(best.prefix)} from ${best.from.peer}`);
  expect(selected.toSorted()).toEqual(['192.0.2.0/24 from third', '198.51.100.0/24 from right', '203.0.113.0/24 from right']);
  both.right.speaker.rib.withdraw('198.51.100.0/24');
  wait(1);
  expect(speaker.bestPath('198.51.100.0/24')).toMatchObject({ best: { from: { peer: 'third' } }, eliminated: [] });
  expect(speaker.bestPath('10.0.0.0/8')).toBeUndefined();
  expect(() => speaker.bestPath('10.0.0.0')).toThrow('prefix');
});
