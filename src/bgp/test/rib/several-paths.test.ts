import { describe, expect, test } from 'vitest';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { advertisedRoute } from '../../../../src/bgp/rib/advertised-route.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import { SharedRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import type { UpdateFormat } from '../../../../src/bgp/rib/update-format.ts';
import type { Route } from '../../../../src/bgp/route.ts';
import { address, formatAddress, type Family } from '../../../../src/net/address.ts';
import { formatPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { formatFor, host, Receiver } from './receiver.ts';

const withPathIds = formatFor({ addPathSend: [4, 6] });
const withoutPathIds = formatFor();

/** A speaker whose peers are routers that hold what they were sent. */
class Bench {
  readonly store = new RibStore();
  readonly shared = new SharedRoutes(this.store);

  peer(format: UpdateFormat): { rib: AdjRibOut; router: Receiver; sent: () => string[] } {
    const rib = new AdjRibOut(this.store);
    const router = new Receiver();
    /** Sends all that is due and returns it, withdrawals with a minus. */
    const sent = (): string[] => {
      const before = new Set(router.table.keys());
      const announced: string[] = [];
      const withdrawn = router.withdrawn;
      router.onAnnounced = (key, attributes) => announced.push(`${key} ${/med \d+/.exec(attributes)?.[0] ?? ''}`.trim());
      router.drain(rib, format);
      const gone = [...before].filter((key) => !router.table.has(key)).map((key) => `-${key}`);
      expect(router.withdrawn - withdrawn, 'a path is withdrawn to be announced again').toBe(gone.length);
      return [...gone, ...announced].toSorted();
    };
    return { rib, router, sent };
  }

  close(...peers: readonly { rib: AdjRibOut }[]): void {
    for (const { rib } of peers) rib.close();
    for (const _ of this.shared.replaceGradually([])) continue;
    const { tables, sets, groups } = this.store;
    expect([tables[4].size, tables[6].size, sets.size, groups.size, groups.kept]).toEqual([0, 0, 0, 0, 0]);
    expect([tables[4].additional, tables[6].additional]).toEqual([undefined, undefined]);
  }
}

const nets: Readonly<Record<Family, Prefix>> = { 4: prefix('192.0.2.0/24'), 6: prefix('2001:db8:7::/48') };

describe.each([4, 6] as const)('several paths of an IPv%i prefix', (family) => {
  const net = nets[family];
  const name = formatPrefix(net);
  const path = (pathId: number, med: number): Route => ({ prefix: net, pathId, med });

  test('BGP-129 go to a peer with ADD-PATH, and a change or withdrawal of one concerns this one only', () => {
    const bench = new Bench();
    const peer = bench.peer(withPathIds);
    for (const route of [path(7, 70), path(1, 10), path(0xffff_ffff, 90)]) bench.shared.announce(route);
    expect(peer.sent()).toEqual([`${name} med 10`, `${name} path 4294967295 med 90`, `${name} path 7 med 70`]);
    bench.shared.announce(path(7, 71));
    expect(peer.sent()).toEqual([`${name} path 7 med 71`]);
    bench.shared.announce(path(7, 71));
    expect(peer.sent()).toEqual([]);
    bench.shared.withdraw(net, 7);
    expect(peer.sent()).toEqual([`-${name} path 7`]);
    bench.shared.withdraw(net, 8);
    bench.shared.withdraw(net);
    expect(peer.sent()).toEqual([`-${name}`]);
    expect([...peer.router.table.keys()]).toEqual([`${name} path 4294967295`]);
    bench.close(peer);
  });

  test('BGP-129 are sent again after a route refresh, and to the next session', () => {
    const bench = new Bench();
    const peer = bench.peer(withPathIds);
    const routes = [path(2, 20), path(3, 30)];
    for (const _ of bench.shared.replaceGradually(routes)) continue;
    const all = [`${name} path 2 med 20`, `${name} path 3 med 30`];
    expect(peer.sent()).toEqual(all);
    peer.rib.readvertise(family);
    expect(peer.sent()).toEqual(all);
    for (const _ of bench.shared.replaceGradually(routes)) continue;
    expect(peer.sent()).toEqual([]);
    peer.rib.reset();
    peer.router.table.clear();
    expect(peer.sent()).toEqual(all);
    bench.close(peer);
  });

  test('BGP-130 give a peer without ADD-PATH the one with the smallest identifier, and the next when it goes', () => {
    const bench = new Bench();
    const [peer, other] = [bench.peer(withoutPathIds), bench.peer(withPathIds)];
    for (const route of [path(9, 90), path(4, 40), path(6, 60)]) bench.shared.announce(route);
    expect(peer.sent()).toEqual([`${name} med 40`]);
    expect(other.sent()).toHaveLength(3);
    bench.shared.announce(path(6, 61));
    expect(peer.sent()).toEqual([]);
    expect(other.sent()).toEqual([`${name} path 6 med 61`]);
    bench.shared.withdraw(net, 4);
    // One announcement that replaces the other, so that the peer is never without the prefix.
    expect(peer.sent()).toEqual([`${name} med 61`]);
    expect(other.sent()).toEqual([`-${name} path 4`]);
    bench.shared.announce(path(1, 10));
    expect(peer.sent()).toEqual([`${name} med 10`]);
    expect([peer.rib.advertised(family), other.rib.advertised(family)]).toEqual([1, 2]);
    other.sent();
    expect([peer.rib.advertised(family), other.rib.advertised(family)]).toEqual([1, 3]);
    peer.rib.readvertise(family);
    expect(peer.sent()).toEqual([`${name} med 10`]);
    for (const id of [1, 6, 9]) bench.shared.withdraw(net, id);
    expect(peer.sent()).toEqual([`-${name}`]);
    bench.close(peer, other);
  });

  test('are found by their identifiers, with their own next hops', () => {
    const bench = new Bench();
    const peer = bench.peer(withPathIds);
    const nextHop = address(family === 4 ? '10.0.0.9' : '2001:db8::9');
    bench.shared.announce({ ...path(5, 50), nextHop });
    bench.shared.announce(path(3, 30));
    peer.sent();
    const found = (pathId?: number): unknown => {
      const sent = peer.rib.advertisedPrefix(net, pathId);
      if (sent === undefined) return undefined;
      const route = advertisedRoute(sent, withPathIds);
      return [route.pathId, route.med, ...route.nextHops.map(formatAddress)];
    };
    const ofSession = family === 4 ? '10.0.0.2' : '2001:db8::2';
    expect([found(3), found(5), found()]).toEqual([
      [3, 30, ofSession],
      [5, 50, formatAddress(nextHop)],
      [3, 30, ofSession],
    ]);
    expect([found(1), found(4)]).toEqual([undefined, undefined]);
    bench.close(peer);
  });

  test('have shared routes, and those of the peer in place of the ones with the same identifier', () => {
    const bench = new Bench();
    const peer = bench.peer(withPathIds);
    bench.shared.announce(path(1, 10));
    bench.shared.announce(path(2, 20));
    peer.rib.announce(path(2, 25));
    peer.rib.announce(path(3, 35));
    expect(peer.sent()).toEqual([`${name} med 10`, `${name} path 2 med 25`, `${name} path 3 med 35`]);
    peer.rib.withdraw(net, 2);
    peer.rib.withdraw(net, 3);
    expect(peer.sent()).toEqual([`${name} path 2 med 20`, `-${name} path 3`].toSorted());
    bench.close(peer);
  });

  test('are found although the slot of the prefix is behind those of all routes', () => {
    const bench = new Bench();
    const { 4: table4, 6: table6 } = bench.store.tables;
    const table = family === 4 ? table4 : table6;
    // The routes fill the first table. The prefix gets a slot behind it, and the path the slot of a route that goes.
    const routes = Array.from({ length: table.capacity }, (_, n) => ({ prefix: host(n, family) }));
    for (const route of routes) bench.shared.announce(route);
    const first = table.acquire(net);
    for (const { prefix } of routes) bench.shared.withdraw(prefix);
    bench.shared.announce(path(2, 20));
    expect(table.find(net)).toBeGreaterThan(table.find(net, 2));
    const peers = [bench.peer(withoutPathIds), bench.peer(withPathIds)];
    expect(peers.map(({ sent }) => sent())).toEqual([[`${name} med 20`], [`${name} path 2 med 20`]]);
    peers[0]?.rib.readvertise(family);
    expect(peers[0]?.sent()).toEqual([`${name} med 20`]);
    expect([...(peers[0]?.rib.advertisedPrefixes(family, 0) ?? [])]).toHaveLength(1);
    table.release(first);
    bench.close(...peers);
  });
});

describe('the own next hop of a route', () => {
  const own = (text: string, net: Prefix = nets[4]): Route => ({ prefix: net, nextHop: address(text) });
  const viaOf = (format: UpdateFormat, route: Route): string | undefined => {
    const bench = new Bench();
    const peer = bench.peer(format);
    bench.shared.announce(route);
    peer.sent();
    const [attributes] = peer.router.table.values();
    const [problem] = peer.rib.notPossible(format);
    expect(peer.rib.notPossibleCount(format)).toBe(problem === undefined ? 0 : 1);
    bench.close(peer);
    return problem?.why ?? / via (.*)/.exec(attributes ?? '')?.[1];
  };

  test.each([
    ['IPv4', own('10.0.0.9'), formatFor(), '10.0.0.9'],
    ['IPv6', own('2001:db8::9', nets[6]), formatFor(), '2001:db8::9'],
    ['IPv6 for IPv4', own('2001:db8::9'), formatFor({ extendedNextHop: true }), '2001:db8::9'],
  ])('BGP-131 goes out in place of that of the session: %s', (_, route, format, expected) => {
    expect(viaOf(format, route)).toBe(expected);
  });

  test('BGP-131 goes out where the session has no next hop for the family', () => {
    const format = formatFor();
    const without: UpdateFormat = { ...format, nextHops: { ...format.nextHops, 6: { kind: 'impossible', why: 'none' } } };
    expect(viaOf(without, own('2001:db8::9', nets[6]))).toBe('2001:db8::9');
  });

  test.each([
    ['an IPv6 next hop of an IPv4 route, to a peer that does not take it', own('2001:db8::9'), formatFor(), /RFC 8950/],
    ['a route of a family that the session does not carry', own('10.0.0.9'), formatFor({ families: [6] }), /does not carry IPv4/],
    ['the address of the peer', own('10.0.0.9'), { ...formatFor(), peerAddress: address('10.0.0.9') }, /address of this peer.*5\.1\.3/],
  ])('BGP-131 does not go out, and the status says why: %s', (_, route, format, why) => {
    expect(viaOf(format, route)).toMatch(why);
  });

  test('BGP-131 that is the address of a peer gives it the next path, also in a running session', () => {
    const bench = new Bench();
    const [router, other] = [bench.peer({ ...withoutPathIds, peerAddress: address('10.0.0.9') }), bench.peer(withoutPathIds)];
    bench.shared.announce({ prefix: nets[4], pathId: 2, med: 2 });
    expect([router.sent(), other.sent()]).toEqual([['192.0.2.0/24 med 2'], ['192.0.2.0/24 med 2']]);
    bench.shared.announce({ ...own('10.0.0.9'), med: 1 });
    expect([router.sent(), other.sent()]).toEqual([[], ['192.0.2.0/24 med 1']]);
    bench.shared.withdraw(nets[4]);
    expect([router.sent(), other.sent()]).toEqual([[], ['192.0.2.0/24 med 2']]);
    bench.close(router, other);
  });
});
