import assert from 'node:assert';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address, type Family } from '../../../src/net/address.ts';
import { formatPrefix, maskedPrefix, prefix, type Prefix } from '../../../src/net/prefix.ts';
import { AttributeSets } from '../../../src/bgp/attribute-set.ts';
import type { Negotiated } from '../../../src/bgp/negotiate.ts';
import { outboundOf, type Outbound } from '../../../src/bgp/outbound.ts';
import { RibOut } from '../../../src/bgp/rib-out.ts';
import type { Community, Route } from '../../../src/bgp/route.ts';
import { ordinary } from './negotiated.ts';
import { readNlri } from '../../../src/bgp/wire/nlri.ts';
import { decodeUpdate } from '../../../src/bgp/wire/update.ts';

const nextHops = { ipv4: address('10.0.0.2'), ipv6: address('2001:db8::2') };
const outboundFor = (change: Partial<Negotiated> = {}): Outbound =>
  outboundOf({ ...ordinary, ...change }, 4_200_000_000, undefined, nextHops);
const outbound = outboundFor();

/** A receiver that knows nothing but RFC 4271: what it holds is what a router would. */
class Receiver {
  readonly table = new Map<string, string>();
  announced = 0;
  withdrawn = 0;
  messages = 0;

  receive(message: Uint8Array, session: Outbound): void {
    this.messages++;
    assert(message.length <= 4096, `a message of ${message.length} octets`);
    assert.equal((message[16] ?? 0) * 256 + (message[17] ?? 0), message.length);
    const update = decodeUpdate(message.subarray(19), { fourOctetAsn: session.fourOctetAsn, internal: session.internal, families: [4, 6] });
    if (!update.ok) throw new Error(update.fault.problem);
    assert.deepEqual(update.value.faults, []);
    const { attributes, announced, withdrawn } = update.value;
    const path = attributes.as4Path ?? attributes.asPath ?? [];
    const text = textOf(attributes.med, path.flatMap(({ asns }) => asns).length, attributes.communities ?? []);
    for (const { family, bytes } of withdrawn) {
      for (const prefix of readNlri(family, bytes)) {
        this.withdrawn++;
        assert(this.table.delete(formatPrefix(prefix)), `${formatPrefix(prefix)} is withdrawn and was not there`);
      }
    }
    for (const { family, bytes, nextHop } of announced) {
      assert.equal(nextHop?.length, family === 4 ? 4 : 16);
      for (const prefix of readNlri(family, bytes)) {
        this.announced++;
        this.table.set(formatPrefix(prefix), text);
      }
    }
  }

  drain(rib: RibOut, session: Outbound = outbound, most = Infinity): void {
    for (let i = 0; i < most; i++) {
      const message = rib.next(session);
      if (message === undefined) return;
      this.receive(message, session);
    }
  }
}

function textOf(med: number | undefined, pathLength: number, communities: readonly Community[]): string {
  const texts = communities.map((c) => (c.kind === 'standard' ? `${c.value}` : `${c.globalAdministrator}:${c.localData1}:${c.localData2}`));
  return `med ${med ?? '-'} path ${pathLength} ${[...new Set(texts)].sort().join()}`;
}

const expectedText = ({ med, asPathPrepend = 0, communities = [] }: Route): string => textOf(med, 1 + asPathPrepend, communities);

const community: fc.Arbitrary<Community> = fc.oneof(
  fc.record({ kind: fc.constant('standard' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({
    kind: fc.constant('large' as const),
    globalAdministrator: fc.nat(0xffff_ffff),
    localData1: fc.nat(9),
    localData2: fc.nat(0xffff_ffff),
  }),
);
const smallPrefix: fc.Arbitrary<Prefix> = fc.oneof(
  fc
    .tuple(fc.nat(15), fc.integer({ min: 20, max: 32 }))
    .map(([n, length]) => maskedPrefix({ family: 4, value: (10n << 24n) + BigInt(n * 512) }, length)),
  fc
    .tuple(fc.nat(15), fc.integer({ min: 100, max: 128 }))
    .map(([n, length]) => maskedPrefix({ family: 6, value: (1n << 125n) + BigInt(n * 65536) }, length)),
);
const smallRoute: fc.Arbitrary<Route> = fc.record(
  { prefix: smallPrefix, med: fc.nat(2), asPathPrepend: fc.nat(1), communities: fc.array(community, { maxLength: 2 }) },
  { requiredKeys: ['prefix'] },
);

const host = (n: number, family: Family = 4): Prefix =>
  family === 4
    ? maskedPrefix({ family, value: BigInt(0x0a000000 + n) }, 32)
    : maskedPrefix({ family, value: (0x20010db8n << 96n) + BigInt(n) }, 128);

/** Prefixes that take other numbers of octets on the wire; all different. */
const odd = (n: number, family: Family): Prefix =>
  family === 4 ? maskedPrefix({ family, value: BigInt(n) << 8n }, 24) : maskedPrefix({ family, value: BigInt(n) << 96n }, 48 + (n % 17));

describe('the RIB to a peer', () => {
  test('after any walk of changes, resets, refreshes and half-sent bursts the receiver holds exactly what is desired', () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('set' as const), routes: fc.array(smallRoute, { maxLength: 12 }) }),
      fc.record({
        do: fc.constant('update' as const),
        routes: fc.array(smallRoute, { maxLength: 4 }),
        withdraw: fc.array(smallPrefix, { maxLength: 4 }),
      }),
      fc.record({ do: fc.constant('send' as const), most: fc.nat(3) }),
      fc.constant({ do: 'reset' as const }),
      fc.record({ do: fc.constant('refresh' as const), family: fc.constantFrom<Family>(4, 6) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), fc.constantFrom(outbound, outboundFor({ fourOctetAsn: false })), (walk, session) => {
        const rib = new RibOut();
        let receiver = new Receiver();
        const desired = new Map<string, string>();
        for (const step of walk) {
          if (step.do === 'set') {
            rib.set(step.routes);
            desired.clear();
          } else if (step.do === 'update') {
            for (const prefix of step.withdraw) {
              rib.withdraw(prefix);
              desired.delete(formatPrefix(prefix));
            }
            for (const route of step.routes) rib.announce(route);
          } else if (step.do === 'send') {
            receiver.drain(rib, session, step.most);
          } else if (step.do === 'reset') {
            rib.reset();
            receiver = new Receiver();
          } else {
            rib.readvertise(step.family);
          }
          if ('routes' in step) for (const route of step.routes) desired.set(formatPrefix(route.prefix), expectedText(route));
        }
        receiver.drain(rib, session);
        expect(receiver.table).toEqual(desired);
        expect(rib.advertised(4) + rib.advertised(6)).toBe(desired.size);
      }),
      { numRuns: 400 },
    );
  });

  test('the same set again sends nothing, and a change sends that change', () => {
    const rib = new RibOut();
    const receiver = new Receiver();
    const routes = Array.from({ length: 100 }, (_, n): Route => ({ prefix: host(n), med: n % 3 }));
    rib.set(routes);
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 100, withdrawn: 0, messages: 3 });
    rib.set(routes.map((route) => ({ ...route, communities: [] })));
    expect(rib.next(outbound)).toBeUndefined();
    rib.set([...routes.slice(1), { prefix: host(200) }]);
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 101, withdrawn: 1 });
  });

  test('announced and withdrawn before it was sent: nothing', () => {
    const rib = new RibOut();
    rib.announce({ prefix: host(1) });
    rib.withdraw(host(1));
    expect(rib.next(outbound)).toBeUndefined();
  });

  test('withdrawn and announced again before it was sent: nothing', () => {
    const rib = new RibOut();
    rib.announce({ prefix: host(1), med: 1 });
    new Receiver().drain(rib);
    rib.withdraw(host(1));
    rib.announce({ prefix: host(1), med: 1 });
    expect(rib.next(outbound)).toBeUndefined();
  });

  test('withdrawals leave before announcements', () => {
    const rib = new RibOut();
    rib.announce({ prefix: host(1) });
    new Receiver().drain(rib);
    rib.announce({ prefix: host(2) });
    rib.withdraw(host(1));
    const first = rib.next(outbound);
    expect(first?.length).toBe(28);
    expect(first?.subarray(19, 21)).toEqual(Uint8Array.of(0, 5));
  });

  test('other attributes are one announcement and no withdrawal', () => {
    const rib = new RibOut();
    const receiver = new Receiver();
    rib.announce({ prefix: host(1), med: 1 });
    receiver.drain(rib);
    rib.announce({ prefix: host(1), med: 2 });
    receiver.drain(rib);
    expect(receiver).toMatchObject({ announced: 2, withdrawn: 0 });
  });

  test.each([4, 6] as const)('IPv%i: ten thousand prefixes take as few messages as possible, both ways', (family) => {
    const rib = new RibOut();
    const receiver = new Receiver();
    rib.set(Array.from({ length: 10_000 }, (_, n) => ({ prefix: host(n, family) })));
    receiver.drain(rib);
    const size = family === 4 ? 5 : 17;
    const attributes = 4 + 9 + (family === 4 ? 7 : 4 + 21);
    expect(receiver.messages).toBe(Math.ceil(10_000 / Math.floor((4096 - 23 - attributes) / size)));
    receiver.messages = 0;
    rib.set([]);
    receiver.drain(rib);
    expect(receiver).toMatchObject({
      withdrawn: 10_000,
      messages: Math.ceil(10_000 / Math.floor((4096 - 23 - (family === 4 ? 0 : 7)) / size)),
    });
    expect(receiver.table.size).toBe(0);
  });

  test('no message is too long, whatever the attributes; what cannot fit is refused with its size', () => {
    const sizes = fc.record({
      standard: fc.oneof(fc.nat(1000), fc.constantFrom(63, 64, 900, 950)),
      large: fc.oneof(fc.nat(400), fc.constantFrom(21, 22)),
      prepend: fc.nat(32),
      fourOctetAsn: fc.boolean(),
      internal: fc.boolean(),
      family: fc.constantFrom<Family>(4, 6),
    });
    fc.assert(
      fc.property(sizes, ({ standard, large, prepend, fourOctetAsn, internal, family }) => {
        const communities: Community[] = [
          ...Array.from({ length: standard }, (_, value): Community => ({ kind: 'standard', value })),
          ...Array.from({ length: large }, (_, n): Community => ({ kind: 'large', globalAdministrator: n, localData1: 0, localData2: 0 })),
        ];
        // More than one message whatever the attributes, of prefixes of all lengths.
        const count = 1200;
        const rib = new RibOut();
        rib.set(
          Array.from({ length: count }, (_, n) => ({
            prefix: n % 3 === 0 ? host(n, family) : odd(n, family),
            communities,
            asPathPrepend: prepend,
          })),
        );
        const receiver = new Receiver();
        receiver.drain(rib, outboundFor({ fourOctetAsn, internal }));
        const refused = [...rib.notPossible(undefined)];
        expect(receiver.table.size + refused.length).toBe(count);
        const small = 4 * standard + 12 * large < 3_000;
        expect(small && refused.length > 0).toBe(false);
        for (const { why } of refused) expect(why).toMatch(/attributes take \d+ octets/);
      }),
      { numRuns: 60 },
    );
  });

  test('a route that becomes too large is withdrawn, not left behind as it was', () => {
    const rib = new RibOut();
    const receiver = new Receiver();
    rib.announce({ prefix: host(1) });
    receiver.drain(rib);
    rib.announce({ prefix: host(1), communities: Array.from({ length: 2000 }, (_, value) => ({ kind: 'standard', value })) });
    receiver.drain(rib);
    expect(receiver.table.size).toBe(0);
    expect(rib.notPossibleCount(outbound)).toBe(1);
    rib.announce({ prefix: host(1) });
    receiver.drain(rib);
    expect(receiver.table.size).toBe(1);
    expect(rib.notPossibleCount(outbound)).toBe(0);
    rib.announce({ prefix: host(1), asPathPrepend: 33 });
    rib.withdraw(host(1));
    expect(rib.notPossibleCount(outbound)).toBe(0);
  });

  test('a family that loses its next hop is taken back', () => {
    const rib = new RibOut();
    const receiver = new Receiver();
    rib.set([{ prefix: host(1) }, { prefix: host(1, 6) }]);
    receiver.drain(rib);
    const without6 = outboundOf(ordinary, 1, address('10.0.0.2'), {});
    receiver.drain(rib, without6);
    expect([...receiver.table.keys()]).toEqual(['10.0.0.1/32']);
    expect([...rib.notPossible(without6)].map(({ prefix }) => formatPrefix(prefix))).toEqual(['2001:db8::1/128']);
  });
});

describe('next hops', () => {
  const v6 = address('2001:db8::2');
  test.each([
    ['IPv4 over IPv4', 4, address('10.0.0.2'), {}, {}, 'classic'],
    ['IPv4 over IPv6 without RFC 8950', 4, v6, {}, {}, 'impossible'],
    ['IPv4 over IPv6 with RFC 8950', 4, v6, { extendedNextHop: true }, {}, 'multiprotocol'],
    ['IPv4 over IPv6 with a configured IPv4 next hop', 4, v6, {}, { ipv4: address('10.0.0.2') }, 'classic'],
    ['IPv6 over IPv6', 6, v6, {}, {}, 'multiprotocol'],
    ['IPv6 over IPv4', 6, address('10.0.0.2'), {}, {}, 'impossible'],
    ['IPv6 over IPv4 with a configured next hop', 6, address('10.0.0.2'), {}, { ipv6: v6 }, 'multiprotocol'],
    ['IPv6 not negotiated', 6, v6, { families: [4] as const }, {}, 'impossible'],
    ['an unknown local address', 4, undefined, {}, {}, 'impossible'],
  ] as const)('%s: %s', (_, family, local, change, hops, kind) => {
    expect(outboundOf({ ...ordinary, ...change }, 1, local, hops).carriage[family].kind).toBe(kind);
  });
});

test('attribute sets are one object as long as somebody holds them, and gone afterwards', () => {
  const sets = new AttributeSets();
  const route: Route = { prefix: prefix('10.0.0.0/8'), med: 1 };
  const [a, b] = [sets.acquire(route), sets.acquire({ ...route, localPref: 100 })];
  if (!a.ok || !b.ok) throw new Error('refused');
  expect(a.set).toBe(b.set);
  sets.release(a.set);
  expect(sets.size).toBe(1);
  sets.release(b.set);
  expect(sets.size).toBe(0);
});
