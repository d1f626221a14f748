import { expect, test } from 'vitest';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import { SharedRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import type { UpdateFormat } from '../../../../src/bgp/rib/update-format.ts';
import type { Route } from '../../../../src/bgp/route.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { formatFor, Receiver } from './receiver.ts';

/** Sixty routes with three sets of attributes, which change from route to route. */
const routes: readonly Route[] = Array.from({ length: 60 }, (_, n) => ({ prefix: prefix(`192.0.2.${n}/32`), med: n % 3 }));
const keys = (list: readonly Route[]): string[] => list.map(({ prefix: { address } }) => `192.0.2.${address.value & 255n}/32`);

const [plain, extended] = [formatFor(), formatFor({ extendedMessages: true })];

class Peer {
  readonly rib: AdjRibOut;
  readonly receiver = new Receiver();
  readonly #format: UpdateFormat;
  calls = 0;

  constructor(store: RibStore, format = plain) {
    this.#format = format;
    this.rib = new AdjRibOut(store, () => this.calls++);
  }

  drain(): string[] {
    this.receiver.drain(this.rib, this.#format);
    return [...this.receiver.table.keys()].toSorted();
  }
}

function set(shared: SharedRoutes, list: readonly Route[]): void {
  for (const _ of shared.replaceGradually(list)) continue;
}

/** Ends everything, and returns what is left in the store. */
function left(store: RibStore, shared: SharedRoutes, ...peers: readonly Peer[]): number {
  set(shared, []);
  for (const { rib } of peers) rib.close();
  return store.tables[4].size + store.tables[6].size + store.sets.size + store.groups.size;
}

test('a shorter list withdraws the other routes from both kinds of sessions and keeps none of them', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peers = [new Peer(store), new Peer(store, extended), new Peer(store, extended)];
  const [first, second, late] = peers as [Peer, Peer, Peer];
  set(shared, routes);
  for (const peer of peers) expect(peer.drain()).toEqual(keys(routes).toSorted());
  const kept = routes.filter((_, n) => n % 4 === 0);
  set(shared, kept);
  expect(peers.map(({ calls }) => calls > 0)).toEqual([true, true, true]);
  expect(first.drain()).toEqual(keys(kept).toSorted());
  expect(second.drain()).toEqual(keys(kept).toSorted());
  expect(late.rib.advertised(4)).toBe(60);
  // The numbers of the withdrawn routes are held until the late peer has read.
  set(shared, [...kept, { prefix: prefix('198.51.100.1/32') }]);
  for (const peer of peers) expect(peer.drain()).toEqual([...keys(kept), '198.51.100.1/32'].toSorted());
  expect([late.receiver.withdrawn, store.tables[4].size, store.sets.size]).toEqual([45, 16, 4]);
  set(shared, []);
  for (const peer of peers) expect(peer.drain()).toEqual([]);
  expect(left(store, shared, ...peers)).toBe(0);
});

test('an empty list ends the own routes of a peer, also routes that were never sent', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const [peer, idle] = [new Peer(store), new Peer(store)];
  for (const { rib } of [peer, idle]) rib.replaceRoutes(routes);
  expect(peer.drain()).toHaveLength(60);
  for (const { rib } of [peer, idle]) rib.replaceRoutes([]);
  expect([peer.drain(), idle.drain()]).toEqual([[], []]);
  expect([peer.receiver.withdrawn, idle.receiver.messages, store.tables[4].size, store.sets.size]).toEqual([60, 0, 0, 0]);
  peer.rib.replaceRoutes(routes.slice(20, 40));
  expect(peer.drain()).toEqual(keys(routes.slice(20, 40)).toSorted());
  expect(left(store, shared, peer, idle)).toBe(0);
});

test('a list without routes loses no change that waits from the same turn', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  set(shared, routes);
  peer.drain();
  shared.withdraw(prefix('192.0.2.7/32'));
  shared.announce({ prefix: prefix('192.0.2.8/32'), med: 77 });
  set(shared, []);
  shared.announce({ prefix: prefix('192.0.2.9/32'), med: 99 });
  expect(peer.drain()).toEqual(['192.0.2.9/32']);
  expect(peer.receiver.withdrawn).toBe(59);
  expect(left(store, shared, peer)).toBe(0);
});

test('a withdrawn route that comes back in the same turn is neither withdrawn nor sent again', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  set(shared, routes);
  peer.drain();
  const { messages } = peer.receiver;
  set(shared, []);
  set(shared, routes);
  expect(peer.drain()).toHaveLength(60);
  expect([peer.receiver.withdrawn, peer.receiver.messages]).toEqual([0, messages]);
  expect(left(store, shared, peer)).toBe(0);
});

test('a session that cannot carry a route gets no withdrawal of it', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  const list = [...routes.slice(0, 5), { prefix: prefix('198.51.100.1/32'), nextHop: address('2001:db8::9') }];
  set(shared, list);
  expect(peer.drain()).toEqual(keys(routes.slice(0, 5)).toSorted());
  set(shared, []);
  expect([peer.drain(), peer.receiver.withdrawn]).toEqual([[], 5]);
  expect(left(store, shared, peer)).toBe(0);
});

test('withdrawals of a list go before announcements that wait', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  set(shared, routes.slice(0, 30));
  peer.drain();
  set(shared, routes);
  // One of three messages, each with one set of attributes.
  peer.receiver.drain(peer.rib, plain, 1);
  expect(peer.receiver.table.size).toBe(40);
  set(shared, routes.slice(10));
  peer.receiver.drain(peer.rib, plain, 1);
  expect([peer.receiver.table.size, peer.receiver.withdrawn]).toEqual([30, 10]);
  expect(peer.drain()).toEqual(keys(routes.slice(10)).toSorted());
  expect(left(store, shared, peer)).toBe(0);
});

test('a list withdraws a route that no session can carry, and a prefix with another path than the first', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  set(shared, [...routes, { prefix: prefix('198.51.100.1/32'), asPathPrepend: 99 }]);
  expect([peer.drain().length, peer.rib.notPossibleCount(plain)]).toEqual([60, 1]);
  set(shared, []);
  expect([peer.drain(), peer.rib.notPossibleCount(plain)]).toEqual([[], 0]);
  set(shared, [...routes.slice(1), { prefix: prefix('192.0.2.0/32'), pathId: 2 }]);
  expect(peer.drain()).toHaveLength(60);
  const { withdrawn } = peer.receiver;
  set(shared, []);
  // The first path takes the place of the second in the same turn.
  set(shared, routes.slice(0, 1));
  expect([peer.drain(), peer.receiver.withdrawn - withdrawn]).toEqual([['192.0.2.0/32'], 59]);
  expect(left(store, shared, peer)).toBe(0);
});

test('a shared route replaces a withdrawn own one, and an own route stays when the shared ones go', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const peer = new Peer(store);
  const own = routes.slice(0, 10).map((each) => ({ ...each, med: 50 }));
  set(shared, routes.slice(5, 15));
  peer.rib.replaceRoutes(own);
  expect(peer.drain()).toHaveLength(15);
  peer.rib.replaceRoutes(own.slice(0, 1));
  expect(peer.drain()).toEqual(keys([...own.slice(0, 1), ...routes.slice(5, 15)]).toSorted());
  set(shared, []);
  expect(peer.drain()).toEqual(keys(own.slice(0, 1)));
  expect(left(store, shared, peer)).toBe(0);
});
