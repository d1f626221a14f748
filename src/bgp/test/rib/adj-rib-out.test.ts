import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address, type Family } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { updateFormatOf } from '../../../../src/bgp/rib/update-format.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { SharedRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import type { Community, Route } from '../../../../src/bgp/route.ts';
import { host, negotiated, variedPrefix, formatFor, Receiver } from './receiver.ts';
import { runs } from '../../../../test/support/property.ts';

const format = formatFor();
const standard = (count: number): Community[] => Array.from({ length: count }, (_, value) => ({ kind: 'standard', value }));

describe('an Adj-RIB-Out', () => {
  test('BGP-095 setting the same routes sends nothing, and setting others sends only the difference', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    const routes = Array.from({ length: 100 }, (_, n): Route => ({ prefix: host(n), med: n % 3 }));
    rib.replaceRoutes(routes);
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 100, withdrawn: 0, messages: 3 });
    rib.replaceRoutes(routes.map((route) => ({ ...route, communities: [] })));
    expect(rib.next(format)).toBeUndefined();
    rib.replaceRoutes([...routes.slice(1), { prefix: host(200) }]);
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 101, withdrawn: 1 });
  });

  test('BGP-095 a route announced and withdrawn before it was sent sends nothing', () => {
    const rib = new AdjRibOut();
    rib.announce({ prefix: host(1) });
    rib.withdraw(host(1));
    expect(rib.next(format)).toBeUndefined();
  });

  test('BGP-095 a route withdrawn and announced again before it was sent sends nothing', () => {
    const rib = new AdjRibOut();
    rib.announce({ prefix: host(1), med: 1 });
    new Receiver().drain(rib);
    rib.withdraw(host(1));
    rib.announce({ prefix: host(1), med: 1 });
    expect(rib.next(format)).toBeUndefined();
  });

  test('the last of two routes with the same prefix is sent', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.replaceRoutes([
      { prefix: host(1), med: 1 },
      { prefix: host(1), med: 2 },
    ]);
    receiver.drain(rib);
    expect(receiver.announced).toBe(1);
    expect([...receiver.table.values()]).toEqual([expect.stringMatching(/^med 2/)]);
  });

  test('BGP-099 an empty Adj-RIB-Out sends nothing, and withdrawing an unknown prefix is no error', () => {
    const rib = new AdjRibOut();
    rib.replaceRoutes([]);
    rib.withdraw(host(1));
    rib.withdraw(host(1, 6));
    expect(rib.next(format)).toBeUndefined();
  });

  test('BGP-094 withdrawals are sent before announcements', () => {
    const rib = new AdjRibOut();
    rib.announce({ prefix: host(1) });
    rib.announce({ prefix: host(1, 6) });
    new Receiver().drain(rib);
    rib.announce({ prefix: host(2) });
    rib.withdraw(host(1));
    rib.withdraw(host(1, 6));
    const [first, second, third] = [rib.next(format), rib.next(format), rib.next(format)];
    expect(first?.length).toBe(28);
    expect(first?.subarray(19, 21)).toEqual(Uint8Array.of(0, 5));
    expect(second?.[24]).toBe(15); // MP_UNREACH_NLRI
    expect(third?.subarray(19, 21)).toEqual(Uint8Array.of(0, 0));
  });

  test('BGP-096 changed attributes are sent as one announcement without a withdrawal', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.announce({ prefix: host(1), med: 1 });
    receiver.drain(rib);
    rib.announce({ prefix: host(1), med: 2 });
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 2, withdrawn: 0, messages: 2 });
    expect([...receiver.table.values()]).toEqual([expect.stringMatching(/^med 2/)]);
  });

  test.each([4, 6] as const)('BGP-091 BGP-093 ten thousand IPv%i prefixes are announced and withdrawn in the fewest messages', (family) => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.replaceRoutes(Array.from({ length: 10_000 }, (_, n) => ({ prefix: host(n, family) })));
    receiver.drain(rib);
    const size = family === 4 ? 5 : 17;
    const attributes = 4 + 9 + (family === 4 ? 7 : 4 + 21);
    expect(receiver.messages).toBe(Math.ceil(10_000 / Math.floor((4096 - 23 - attributes) / size)));
    receiver.messages = 0;
    rib.replaceRoutes([]);
    receiver.drain(rib);
    expect(receiver).toMatchObject({
      withdrawn: 10_000,
      messages: Math.ceil(10_000 / Math.floor((4096 - 23 - (family === 4 ? 0 : 7)) / size)),
    });
    expect(receiver.table.size).toBe(0);
  });

  test('BGP-092 no message is too long, and a route that does not fit is reported with its size', () => {
    const sizes = fc.record({
      standard: fc.oneof(fc.nat(1000), fc.constantFrom(62, 63, 64, 900, 950)),
      large: fc.oneof(fc.nat(400), fc.constantFrom(20, 21, 22)),
      extended: fc.oneof(fc.nat(100), fc.constantFrom(0, 31, 32)),
      prepend: fc.nat(32),
      change: fc.record({ fourOctetAsn: fc.boolean(), internal: fc.boolean(), extendedMessages: fc.boolean() }),
      family: fc.constantFrom<Family>(4, 6),
    });
    fc.assert(
      fc.property(sizes, ({ standard: count, large, extended, prepend, change, family }) => {
        const communities: Community[] = [
          ...standard(count),
          ...Array.from({ length: large }, (_, n): Community => ({ kind: 'large', globalAdministrator: n, localData1: 0, localData2: 0 })),
          ...Array.from({ length: extended }, (_, value): Community => ({ kind: 'extended', type: 0, subtype: 2, value })),
        ];
        // Prefixes of all lengths, too many for one message.
        const rib = new AdjRibOut();
        rib.replaceRoutes(
          Array.from({ length: 1200 }, (_, n) => ({
            prefix: n % 3 === 0 ? host(n, family) : variedPrefix(n, family),
            communities,
            asPathPrepend: prepend,
          })),
        );
        const receiver = new Receiver();
        const session = formatFor(change);
        receiver.drain(rib, session);
        const refused = [...rib.notPossible(session)];
        expect(receiver.table.size + refused.length).toBe(1200);
        const small = change.extendedMessages || 4 * count + 12 * large + 8 * extended < 3_000;
        expect(small && refused.length > 0).toBe(false);
        for (const { why } of refused) expect(why).toMatch(/attributes take \d+ octets/);
      }),
      { numRuns: runs(60) },
    );
  });

  test('a route is withdrawn when its new attributes are too large to send', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.announce({ prefix: host(1) });
    receiver.drain(rib);
    rib.announce({ prefix: host(1), communities: standard(2000) });
    receiver.drain(rib);
    expect(receiver.table.size).toBe(0);
    expect(rib.notPossibleCount(format)).toBe(1);
    rib.announce({ prefix: host(1) });
    receiver.drain(rib);
    expect(receiver.table.size).toBe(1);
    expect(rib.notPossibleCount(format)).toBe(0);
  });

  test.each([
    ['more prepends than routers accept', { asPathPrepend: 33 }, 'asPathPrepend 33 is above 32'],
    ['more communities than the longest message holds', { communities: standard(17_000) }, /attributes take 68\d+ octets/],
    ['a bandwidth below zero', { linkBandwidth: -1 }, /^linkBandwidth -1 is not a number/],
    ['a bandwidth that is NaN', { linkBandwidth: Number.NaN }, /^linkBandwidth NaN is not a number/],
    ['an infinite bandwidth', { linkBandwidth: Infinity }, /^linkBandwidth Infinity is not a number/],
  ] as const)('%s: the route is never sent, and is reported even without a session', (_, wrong, why) => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.announce({ prefix: host(1) });
    receiver.drain(rib);
    rib.announce({ prefix: host(1), ...wrong });
    receiver.drain(rib);
    expect(receiver.table.size).toBe(0);
    expect([...rib.notPossible(undefined)]).toEqual([{ prefix: host(1), why: expect.stringMatching(why) }]);
    expect([rib.notPossibleCount(undefined), rib.notPossibleCount(format)]).toEqual([1, 1]);
    rib.replaceRoutes([{ prefix: host(2), ...wrong }]);
    expect([...rib.notPossible(undefined)].map(({ prefix }) => formatPrefix(prefix))).toEqual(['10.0.0.2/32']);
    rib.withdraw(host(2));
    expect(rib.notPossibleCount(undefined)).toBe(0);
  });

  test('BGP-088 routes of a family are withdrawn when its next hop is lost, and announced when it is back', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.replaceRoutes([{ prefix: host(1) }, { prefix: host(1, 6) }]);
    receiver.drain(rib);
    const without6 = updateFormatOf(negotiated, 1, address('10.0.0.2'), {});
    for (const family of [4, 6] as const) rib.readvertise(family);
    receiver.drain(rib, without6);
    expect([...receiver.table.keys()]).toEqual(['10.0.0.1/32']);
    expect([...rib.notPossible(without6)].map(({ prefix }) => formatPrefix(prefix))).toEqual(['2001:db8::1/128']);
    expect(rib.notPossibleCount(without6)).toBe(1);
    receiver.drain(rib);
    expect(receiver.table.size).toBe(2);
    expect(rib.notPossibleCount(format)).toBe(0);
  });

  test('BGP-083 a refresh of one family sends all routes of only that family, without withdrawals', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.replaceRoutes([{ prefix: host(1) }, { prefix: host(2) }, { prefix: host(1, 6) }]);
    receiver.drain(rib);
    rib.readvertise(4);
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 5, withdrawn: 0 });
    expect([rib.advertised(4), rib.advertised(6)]).toEqual([2, 1]);
  });

  test('a prefix leaves the store when its new announcement is withdrawn before it was sent', () => {
    const store = new RibStore();
    const rib = new AdjRibOut(store);
    for (const family of [4, 6] as const) {
      rib.announce({ prefix: host(1, family) });
      rib.next(format);
      rib.withdraw(host(1, family));
      rib.next(format);
      rib.announce({ prefix: host(1, family) });
      rib.withdraw(host(1, family));
      expect(rib.next(format)).toBeUndefined();
      expect(store.tables[family].size).toBe(0);
    }
  });

  test('a closed Adj-RIB-Out is empty and accepts no routes', () => {
    const store = new RibStore();
    const rib = new AdjRibOut(store);
    rib.replaceRoutes([{ prefix: host(1) }, { prefix: host(1, 6), asPathPrepend: 99 }]);
    rib.next(format);
    rib.close();
    rib.replaceRoutes([{ prefix: host(2) }]);
    rib.announce({ prefix: host(3) });
    expect([store.tables[4].size, store.tables[6].size, store.sets.size, store.groups.size]).toEqual([0, 0, 0, 0]);
    expect(rib.notPossibleCount(undefined)).toBe(0);
  });
});

const set = (shared: SharedRoutes, routes: readonly Route[]): void => {
  for (const _ of shared.replaceGradually(routes)) continue;
};

describe('peers that share one store', () => {
  const routes = Array.from({ length: 2000 }, (_, n): Route => ({ prefix: host(n), med: n % 2 }));

  /** Returns the messages of each peer. The peers take turns with one message each. */
  function burst(ribs: readonly AdjRibOut[], sessions = ribs.map(() => formatFor())): Uint8Array[][] {
    const sent: Uint8Array[][] = ribs.map(() => []);
    for (let more = true; more;) {
      more = false;
      for (const [n, rib] of ribs.entries()) {
        const message = rib.next(sessions[n] ?? format);
        if (message === undefined) continue;
        sent[n]?.push(message);
        more = true;
      }
    }
    return sent;
  }

  const made = (count: number): { readonly store: RibStore; readonly shared: SharedRoutes; readonly ribs: AdjRibOut[] } => {
    const store = new RibStore();
    const shared = new SharedRoutes(store);
    const ribs = Array.from({ length: count }, () => new AdjRibOut(store));
    for (const rib of ribs) rib.next(formatFor());
    set(shared, routes);
    return { store, shared, ribs };
  };

  test('peers with equal formats share message objects, which are dropped after the last peer got them', () => {
    const { store, shared, ribs } = made(3);
    for (const change of [() => {}, () => set(shared, routes.slice(0, 1000)), () => set(shared, [])]) {
      change();
      const [first = [], second = [], third = []] = burst(ribs);
      expect(second).toHaveLength(first.length);
      for (const [n, message] of first.entries()) {
        expect(second[n]).toBe(message);
        expect(third[n]).toBe(message);
      }
      expect(store.groups.kept).toBe(0);
    }
  });

  test('peers with different formats get different messages', () => {
    const { ribs } = made(2);
    const [first = [], second = []] = burst(ribs, [formatFor(), formatFor({ internal: true })]);
    expect(first.some((message) => second.includes(message))).toBe(false);
  });

  test('peers with different pending prefixes get messages of their own with those prefixes', () => {
    const { ribs } = made(2);
    ribs[0]?.announce({ prefix: host(9000) });
    const receivers = burst(ribs).map((messages) => {
      const receiver = new Receiver();
      for (const message of messages) receiver.receive(message, format);
      return receiver.table;
    });
    expect(receivers.map((table) => table.size)).toEqual([2001, 2000]);
    expect(receivers.map((table) => table.has('10.0.35.40/32'))).toEqual([true, false]);
  });

  test('a packed UPDATE with an outdated prefix is not sent to a slower peer', () => {
    const { store, shared, ribs } = made(2);
    const [fast = new AdjRibOut(), slow = new AdjRibOut()] = ribs;
    const [first, second] = [new Receiver(), new Receiver()];
    for (const [rib, receiver] of [
      [fast, first],
      [slow, second],
    ] as const) {
      receiver.drain(rib, format, 1);
    }
    first.drain(fast);
    shared.withdraw(host(0));
    shared.withdraw(host(1999));
    for (const [rib, receiver] of [
      [fast, first],
      [slow, second],
    ] as const) {
      receiver.drain(rib);
    }
    expect(first).toMatchObject({ announced: 2000, withdrawn: 2 });
    // The slow peer was told the first prefix, but not yet the last one.
    expect(second).toMatchObject({ announced: 1999, withdrawn: 1 });
    expect(store.groups.kept).toBe(0);
  });

  test('withdrawals do not wait until a burst of announcements is sent', () => {
    const { shared, ribs } = made(1);
    const [rib = new AdjRibOut()] = ribs;
    const receiver = new Receiver();
    receiver.drain(rib, format, 1);
    shared.withdraw(host(0));
    receiver.drain(rib, format, 1);
    expect(receiver.withdrawn).toBe(1);
  });

  test('a peer that was slow gets the changes since in one message', () => {
    const { shared, ribs } = made(2);
    const [fast = new AdjRibOut(), slow = new AdjRibOut()] = ribs;
    const [first, second] = [new Receiver(), new Receiver()];
    first.drain(fast);
    second.drain(slow);
    second.messages = 0;
    for (let n = 0; n < 100; n++) {
      shared.announce({ prefix: host(5000 + n) });
      if (n % 2 === 0) shared.withdraw(host(5000 + n));
      first.drain(fast);
    }
    second.drain(slow);
    expect(second).toMatchObject({ announced: 2050, withdrawn: 0, messages: 1 });
    expect(second.table).toEqual(first.table);
  });

  test('the changes kept for a peer that does not read are bounded by the size of the table', () => {
    const store = new RibStore({ retainedChanges: 100, longDelta: 1024 });
    const shared = new SharedRoutes(store);
    const [fast, slow] = [new AdjRibOut(store), new AdjRibOut(store)];
    const reader = new Receiver();
    for (const rib of [fast, slow]) reader.drain(rib);
    for (let n = 0; n < 2_000; n++) {
      shared.announce({ prefix: host(n) });
      if (n >= 10) shared.withdraw(host(n - 10));
      reader.drain(fast);
    }
    // A change of a prefix that the slow peer never got is forgotten.
    expect(store.tables[4].size).toBeLessThan(200);
    const receiver = new Receiver();
    receiver.drain(slow);
    expect(receiver).toMatchObject({ announced: 10, withdrawn: 0 });
  });

  test('a refresh sends the routes again to the peer that asked, and to no other', () => {
    const { ribs } = made(2);
    const receivers = ribs.map((rib) => {
      const receiver = new Receiver();
      receiver.drain(rib);
      return receiver;
    });
    ribs[0]?.readvertise(4);
    for (const [n, rib] of ribs.entries()) receivers[n]?.drain(rib);
    expect(receivers.map(({ announced }) => announced)).toEqual([4000, 2000]);
  });

  test('the number of messages kept for a peer that does not read is bounded', () => {
    const store = new RibStore();
    const shared = new SharedRoutes(store);
    const [fast, slow] = [new AdjRibOut(store), new AdjRibOut(store)];
    for (const rib of [fast, slow]) new Receiver().drain(rib);
    set(
      shared,
      Array.from({ length: 5000 }, (_, n): Route => ({ prefix: host(n), med: n })),
    );
    new Receiver().drain(fast);
    expect(store.groups.kept).toBe(4096);
    const receiver = new Receiver();
    receiver.drain(slow);
    expect(receiver.table.size).toBe(5000);
    slow.reset();
    expect(store.groups.kept).toBe(0);
  });
});
