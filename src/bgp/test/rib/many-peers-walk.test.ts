// The walks compare very often: node:assert costs a tenth of `expect`.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { address, sameAddress, type Family } from '../../../../src/net/address.ts';
import { prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import { SharedRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import { updateFormatOf, type UpdateFormat } from '../../../../src/bgp/rib/update-format.ts';
import type { Community, Route } from '../../../../src/bgp/route.ts';
import { expectedAttributes, formatFor, negotiated, pathKey, Receiver } from './receiver.ts';
import { runs } from '../../../../test/support/property.ts';

/** Formats of the sessions; the first four are equal. */
const formats: readonly UpdateFormat[] = [
  formatFor(),
  formatFor(),
  formatFor(),
  formatFor(),
  formatFor({ internal: true }, 64512),
  formatFor({ extendedMessages: true }),
  updateFormatOf({ ...negotiated, families: [4] }, 1, address('10.0.0.2'), {}),
  // Two equal sessions with ADD-PATH, and one that differs in a family.
  formatFor({ addPathSend: [4, 6] }),
  formatFor({ addPathSend: [4, 6] }),
  formatFor({ addPathSend: [6] }),
  // The address of this peer is the next hop of some routes.
  { ...formatFor(), peerAddress: address('10.0.0.8') },
  { ...formatFor({ addPathSend: [4, 6], extendedNextHop: true }), peerAddress: address('2001:db8::8') },
];

/** More communities than a message of 4096 octets holds. */
const many: readonly Community[] = Array.from({ length: 1000 }, (_, value) => ({ kind: 'standard', value }));

const somePrefix: fc.Arbitrary<Prefix> = fc
  .tuple(fc.boolean(), fc.nat(14))
  .map(([isIpv4, n]) => prefix(isIpv4 ? `192.0.2.${n}/32` : `2001:db8::${n}/128`));
const pathId = fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, fc.constantFrom(1, 2, 3, 0xffff_ffff));
/** A next hop of the family of the route, or an IPv6 next hop of an IPv4 route; the peers with `peerAddress` are among them. */
const nextHop = fc.constantFrom(undefined, undefined, undefined, '10.0.0.8', '10.0.0.9', '2001:db8::8', '2001:db8::9');
const someRoute: fc.Arbitrary<Route> = fc.record(
  {
    prefix: somePrefix,
    pathId,
    nextHop: nextHop.map((text) => (text === undefined ? undefined : address(text))),
    med: fc.nat(2),
    communities: fc.oneof({ weight: 15, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(many) }),
  },
  { requiredKeys: ['prefix', 'med'] },
) as fc.Arbitrary<Route>;
const peer = fc.nat(formats.length - 1);
const manyRoutes = fc.array(someRoute, { maxLength: 15 });
const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), routes: manyRoutes }),
  { weight: 4, arbitrary: fc.record({ do: fc.constant('announce' as const), route: someRoute }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('withdraw' as const), prefix: somePrefix, pathId }) },
  fc.record({ do: fc.constant('own set' as const), peer, routes: fc.array(someRoute, { maxLength: 3 }) }),
  fc.record({ do: fc.constant('own announce' as const), peer, route: someRoute }),
  fc.record({ do: fc.constant('own withdraw' as const), peer, prefix: somePrefix, pathId }),
  { weight: 12, arbitrary: fc.record({ do: fc.constant('send' as const), peer, most: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('send all' as const), peer }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reconnect' as const), peer }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refresh' as const), peer, family: fc.constantFrom<Family>(4, 6) }) },
  fc.record({ do: fc.constant('next hop' as const), peer, possible: fc.boolean() }),
);

type Routes = Map<string, Route>;

const put = (routes: Routes, added: readonly Route[]): void => {
  for (const route of added) routes.set(pathKey(route.prefix, route.pathId), route);
};

/** A peer with the simplest Adj-RIB-Out there is: what it should have, what it has, and for which prefixes it asked again. */
class ModelPeer {
  readonly rib: AdjRibOut;
  readonly own: Routes = new Map();
  readonly #shared: Routes;
  #format: UpdateFormat;
  #receiver = new Receiver();
  readonly #askedAgain = new Set<string>();
  /** True if `changed` was called, or the session began, since the peer had everything. */
  #isNotified = true;

  constructor(store: RibStore, shared: Routes, format: UpdateFormat) {
    this.rib = new AdjRibOut(store, () => {
      this.#isNotified = true;
    });
    this.#shared = shared;
    this.#format = format;
  }

  /** The routes that the session can carry, in the order of path identifiers. */
  get #carried(): Route[] {
    const routes = [...new Map([...this.#shared, ...this.own]).values()];
    return routes.filter((route) => canCarry(this.#format, route)).toSorted((a, b) => (a.pathId ?? 1) - (b.pathId ?? 1));
  }

  /** The attributes that the peer should have, by path. Without path identifiers it has the first path of each prefix. */
  get wanted(): Map<string, string> {
    const wanted = new Map<string, string>();
    for (const route of this.#carried) {
      const hasPathIds = this.#format.pathIds.includes(route.prefix.address.family);
      const key = pathKey(route.prefix, hasPathIds ? route.pathId : undefined);
      if (!wanted.has(key)) wanted.set(key, expectedAttributes(route, this.#format));
    }
    return wanted;
  }

  send(most = Infinity): void {
    for (let n = 0; n < most; n++) {
      const before = new Map(this.#receiver.table);
      const { wanted } = this;
      const message = this.rib.next(this.#format);
      if (message === undefined) {
        // Nothing is left over, and nothing is sent without need.
        assert.deepEqual(before, wanted);
        this.#isNotified = false;
        return;
      }
      assert(this.#isNotified, 'a peer that is not told of a change would wait for ever');
      const { announced } = this.#receiver;
      this.#receiver.onAnnounced = (key, attributes) => {
        // An announcement has the attributes that the peer should have now, and it is a change or was asked for.
        assert.equal(attributes, wanted.get(key));
        assert(before.get(key) !== attributes || this.#askedAgain.has(key), `${key} is announced without a change`);
        this.#askedAgain.delete(key);
      };
      this.#receiver.receive(message, this.#format);
      for (const key of before.keys()) assert(this.#receiver.table.has(key) || !wanted.has(key), `${key} is withdrawn`);
      const hasWithdrawals = [...before.keys()].some((key) => this.#receiver.table.has(key) && !wanted.has(key));
      assert(this.#receiver.announced === announced || !hasWithdrawals, 'withdrawals are sent first');
    }
  }

  reconnect(): void {
    this.rib.reset();
    this.#receiver = new Receiver();
    this.#askedAgain.clear();
    this.#isNotified = true;
  }

  refresh(family: Family): void {
    this.rib.readvertise(family);
    for (const key of this.#receiver.table.keys()) if (key.includes(':') === (family === 6)) this.#askedAgain.add(key);
  }

  /** Does what a session does: the routes are sent again with the new next hop, or withdrawn when there is none. */
  changeNextHop(possible: boolean): void {
    const ipv6 = possible ? ({ kind: 'multiprotocol', nextHop: new Uint8Array(16).fill(7) } as const) : undefined;
    this.#format = { ...this.#format, nextHops: { ...this.#format.nextHops, 6: ipv6 ?? { kind: 'impossible', why: 'for a test' } } };
    for (const family of [4, 6] as const) this.refresh(family);
    this.#isNotified = true;
  }

  check(): void {
    assert.equal(this.rib.advertised(4) + this.rib.advertised(6), this.#receiver.table.size);
    const listed = ([4, 6] as const).flatMap((family) => [...this.rib.advertisedPrefixes(family, 0)]);
    const hasPathIds = (prefix: Prefix): boolean => this.#format.pathIds.includes(prefix.address.family);
    assert.deepEqual(
      listed.map(({ prefix, pathId }) => pathKey(prefix, hasPathIds(prefix) ? pathId : undefined)).toSorted(),
      [...this.#receiver.table.keys()].toSorted(),
    );
    const desired = new Map([...this.#shared, ...this.own]).size;
    const notPossible = desired - this.#carried.length;
    assert.equal(this.rib.notPossibleCount(this.#format), notPossible);
    assert.equal([...this.rib.notPossible(this.#format)].length, notPossible);
  }
}

function canCarry({ maximumLength, nextHops, families, extendedNextHop, peerAddress }: UpdateFormat, route: Route): boolean {
  const { prefix, nextHop, communities = [] } = route;
  const { family } = prefix.address;
  if (communities.length >= 900 && maximumLength <= 4096) return false;
  if (nextHop === undefined) return nextHops[family].kind !== 'impossible';
  if (peerAddress !== undefined && sameAddress(nextHop, peerAddress)) return false;
  return families.includes(family) && (nextHop.family === family || (family === 4 && extendedNextHop));
}

test.each([
  ['with the bounds of production', { retainedChanges: 65_536, longDelta: 1_024 }],
  ['when long bursts are not merged', { retainedChanges: 65_536, longDelta: 2 }],
  ['when slow peers are merged at once', { retainedChanges: 1, longDelta: 1_024 }],
  ['when slow peers are merged now and then', { retainedChanges: 60, longDelta: 3 }],
])('BGP-094 BGP-095 BGP-098 peers get what an own Adj-RIB-Out would send, %s', (_, feedLimits) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (walk) => {
      const store = new RibStore(feedLimits);
      const shared = new SharedRoutes(store);
      const routes: Routes = new Map();
      const peers = formats.map((format) => new ModelPeer(store, routes, format));
      for (const each of walk) {
        const peer = 'peer' in each ? peers[each.peer] : undefined;
        switch (each.do) {
          case 'set':
            for (const _ of shared.replaceGradually(each.routes)) continue;
            routes.clear();
            put(routes, each.routes);
            break;
          case 'announce':
            shared.announce(each.route);
            put(routes, [each.route]);
            break;
          case 'withdraw':
            shared.withdraw(each.prefix, each.pathId);
            routes.delete(pathKey(each.prefix, each.pathId));
            break;
          case 'own set':
            peer?.rib.replaceRoutes(each.routes);
            peer?.own.clear();
            if (peer !== undefined) put(peer.own, each.routes);
            break;
          case 'own announce':
            peer?.rib.announce(each.route);
            if (peer !== undefined) put(peer.own, [each.route]);
            break;
          case 'own withdraw':
            peer?.rib.withdraw(each.prefix, each.pathId);
            peer?.own.delete(pathKey(each.prefix, each.pathId));
            break;
          case 'send':
            peer?.send(each.most);
            break;
          case 'send all':
            peer?.send();
            break;
          case 'reconnect':
            peer?.reconnect();
            break;
          case 'refresh':
            peer?.refresh(each.family);
            break;
          case 'next hop':
            peer?.changeNextHop(each.possible);
            break;
        }
        for (const peer of peers) peer.check();
      }
      for (const peer of peers) peer.send();
      for (const peer of peers) peer.check();
      expect(store.groups.kept).toBe(0);
      for (const { rib } of peers) rib.close();
      for (const _ of shared.replaceGradually([])) continue;
      expect([store.tables[4].size, store.tables[6].size, store.sets.size, store.groups.size, store.groups.kept]).toEqual([0, 0, 0, 0, 0]);
    }),
    { numRuns: runs(300) },
  );
});
