import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { address, type Family } from '../../../../src/net/address.ts';
import { formatPrefix, maskedPrefix, type Prefix } from '../../../../src/net/prefix.ts';
import { updateFormatOf, type UpdateFormat } from '../../../../src/bgp/rib/update-format.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import type { Community, Route } from '../../../../src/bgp/route.ts';
import { expectedAttributes, negotiated, nextHops, formatFor, Receiver } from './receiver.ts';
import { runs } from '../../../../test/support/property.ts';

/** Formats of different sessions; the first two are equal, so that they share packed UPDATEs. */
const sessions: readonly UpdateFormat[] = [
  formatFor(),
  formatFor(),
  formatFor({ fourOctetAsn: false }),
  formatFor({ internal: true }, 64512),
  formatFor({ extendedMessages: true }),
  updateFormatOf({ ...negotiated, families: [4] }, 1, undefined, nextHops),
  updateFormatOf(negotiated, 1, address('2001:db8::2'), { ipv4: address('10.0.0.2'), ipv6LinkLocal: address('fe80::2') }),
];

const community: fc.Arbitrary<Community> = fc.oneof(
  fc.record({ kind: fc.constant('standard' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({
    kind: fc.constant('large' as const),
    globalAdministrator: fc.nat(0xffff_ffff),
    localData1: fc.nat(9),
    localData2: fc.nat(0xffff_ffff),
  }),
  fc.record({ kind: fc.constant('extended' as const), type: fc.nat(255), subtype: fc.nat(255), value: fc.nat(2 ** 48 - 1) }),
);
const smallPrefix: fc.Arbitrary<Prefix> = fc.oneof(
  fc
    .tuple(fc.nat(15), fc.integer({ min: 20, max: 32 }))
    .map(([n, length]) => maskedPrefix({ family: 4, value: (10n << 24n) + BigInt(n * 512) }, length)),
  fc
    .tuple(fc.nat(15), fc.integer({ min: 100, max: 128 }))
    .map(([n, length]) => maskedPrefix({ family: 6, value: (1n << 125n) + BigInt(n * 65536) }, length)),
);
/** More communities than a message of 4096 octets holds, and fewer than one of 65535 holds. */
const many: readonly Community[] = Array.from({ length: 1000 }, (_, value) => ({ kind: 'standard', value }));
const smallRoute: fc.Arbitrary<Route> = fc.record(
  {
    prefix: smallPrefix,
    med: fc.nat(2),
    asPathPrepend: fc.nat(1),
    localPref: fc.constantFrom(100, 200),
    linkBandwidth: fc.constantFrom(0, 1.25e9),
    communities: fc.oneof({ weight: 9, arbitrary: fc.array(community, { maxLength: 2 }) }, { weight: 1, arbitrary: fc.constant(many) }),
  },
  { requiredKeys: ['prefix'] },
);
const peer = fc.nat(sessions.length - 1);
const action = fc.oneof(
  fc.record({ do: fc.constant('set' as const), peers: fc.array(peer, { maxLength: 4 }), routes: fc.array(smallRoute, { maxLength: 12 }) }),
  fc.record({
    do: fc.constant('update' as const),
    peers: fc.array(peer, { maxLength: 4 }),
    routes: fc.array(smallRoute, { maxLength: 4 }),
    withdraw: fc.array(smallPrefix, { maxLength: 4 }),
  }),
  fc.record({ do: fc.constant('send' as const), peer, most: fc.nat(3) }),
  fc.record({ do: fc.constant('reset' as const), peer }),
  fc.record({ do: fc.constant('refresh' as const), peer, family: fc.constantFrom<Family>(4, 6) }),
  fc.record({ do: fc.constant('another next hop' as const), peer, possible: fc.boolean() }),
);

/** Says if the session can carry the route, computed independently of the Adj-RIB-Out. */
function possible(route: Route, session: UpdateFormat): boolean {
  const size = (route.communities ?? []).length;
  return session.nextHops[route.prefix.address.family].kind !== 'impossible' && (size < 900 || session.maximumLength > 4096);
}

class CheckedPeer {
  readonly rib: AdjRibOut;
  receiver = new Receiver();
  desired = new Map<string, Route>();
  session: UpdateFormat;

  constructor(store: RibStore, session: UpdateFormat) {
    this.rib = new AdjRibOut(store);
    this.session = session;
  }

  check(): void {
    this.receiver.drain(this.rib, this.session);
    const routes = [...this.desired].filter(([, route]) => possible(route, this.session));
    expect(this.receiver.table).toEqual(new Map(routes.map(([prefix, route]) => [prefix, expectedAttributes(route, this.session)])));
    expect(this.rib.advertised(4) + this.rib.advertised(6)).toBe(routes.length);
    expect(this.rib.notPossibleCount(this.session)).toBe(this.desired.size - routes.length);
    expect([...this.rib.notPossible(this.session)].map(({ prefix }) => formatPrefix(prefix)).toSorted()).toEqual(
      [...this.desired].flatMap(([prefix, route]) => (possible(route, this.session) ? [] : [prefix])).toSorted(),
    );
  }
}

test('BGP-095 BGP-092 BGP-094 BGP-098 peers hold the desired routes after any change, reset and refresh', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (walk) => {
      const store = new RibStore();
      const checkedPeers = sessions.map((session) => new CheckedPeer(store, session));
      const named = (peers: readonly number[]): CheckedPeer[] => checkedPeers.filter((_, n) => peers.includes(n));
      for (const step of walk) {
        if (step.do === 'set' || step.do === 'update') {
          for (const checkedPeer of named(step.peers)) {
            if (step.do === 'set') {
              checkedPeer.rib.replaceRoutes(step.routes);
              checkedPeer.desired.clear();
            } else {
              for (const prefix of step.withdraw) {
                checkedPeer.rib.withdraw(prefix);
                checkedPeer.desired.delete(formatPrefix(prefix));
              }
              for (const route of step.routes) checkedPeer.rib.announce(route);
            }
            for (const route of step.routes) checkedPeer.desired.set(formatPrefix(route.prefix), route);
          }
          continue;
        }
        const checkedPeer = checkedPeers[step.peer];
        if (checkedPeer === undefined) throw new Error('no such peer');
        if (step.do === 'send') {
          checkedPeer.receiver.drain(checkedPeer.rib, checkedPeer.session, step.most);
        } else if (step.do === 'reset') {
          checkedPeer.rib.reset();
          checkedPeer.receiver = new Receiver();
        } else if (step.do === 'refresh') {
          checkedPeer.rib.readvertise(step.family);
        } else {
          // Does what a session does: the routes are sent again with the new next hop, or withdrawn when there is none.
          const ipv6 = step.possible ? ({ kind: 'multiprotocol', nextHop: new Uint8Array(16).fill(7) } as const) : undefined;
          const changed = { ...checkedPeer.session.nextHops, 6: ipv6 ?? ({ kind: 'impossible', why: 'for a test' } as const) };
          checkedPeer.session = { ...checkedPeer.session, nextHops: changed };
          for (const family of [4, 6] as const) checkedPeer.rib.readvertise(family);
        }
      }
      for (const checkedPeer of checkedPeers) checkedPeer.check();
      for (const checkedPeer of checkedPeers) checkedPeer.rib.close();
      expect([store.tables[4].size, store.tables[6].size, store.sets.size, store.groups.size]).toEqual([0, 0, 0, 0]);
    }),
    { numRuns: runs(300) },
  );
});

test('slots and attribute sets are reused when routes are replaced many times', () => {
  const store = new RibStore();
  const checkedPeers = [sessions[0], sessions[1], sessions[2]].map((session) => new CheckedPeer(store, session ?? formatFor()));
  for (let round = 0; round < 20; round++) {
    const routes = Array.from({ length: 500 }, (_, n): Route => {
      const value = BigInt(round * 500 + n);
      const prefix =
        n % 2 === 0 ? { address: { family: 4 as const, value }, length: 32 } : { address: { family: 6 as const, value }, length: 128 };
      return { prefix, med: round * 10 + (n % 10) };
    });
    for (const { rib } of checkedPeers) rib.replaceRoutes(routes);
    for (const { rib, receiver, session } of checkedPeers) receiver.drain(rib, session);
    if (round % 10 === 9) {
      for (const checkedPeer of checkedPeers) {
        checkedPeer.rib.reset();
        checkedPeer.receiver = new Receiver();
      }
    }
  }
  // At most the old and the new routes exist at once: 2 x 250 per family, in tables whose capacity grows in powers of two.
  expect([store.tables[4].capacity, store.tables[6].capacity]).toEqual([512, 512]);
  expect([store.tables[4].size, store.tables[6].size, store.sets.size]).toEqual([250, 250, 10]);
  for (const { rib } of checkedPeers) rib.close();
  expect([store.tables[4].size, store.tables[6].size, store.sets.size, store.groups.size]).toEqual([0, 0, 0, 0]);
});
