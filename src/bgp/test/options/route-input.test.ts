import { expect, test } from 'vitest';
import { parseCommunity } from '../../../../src/bgp/options/community-text.ts';
import { RouteError, toPath, toPrefix, toRoute, toRoutes, type RouteInput } from '../../../../src/bgp/options/route-input.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';

test.each([
  ['64512:100', { kind: 'standard', value: 64512 * 65536 + 100 }],
  ['0:0', { kind: 'standard', value: 0 }],
  ['65535:65535', { kind: 'standard', value: 0xffff_ffff }],
  ['4200000000:1:2', { kind: 'large', globalAdministrator: 4_200_000_000, localData1: 1, localData2: 2 }],
  ['large:64512:1:2', { kind: 'large', globalAdministrator: 64512, localData1: 1, localData2: 2 }],
  ['no-export', { kind: 'standard', value: 0xffff_ff01 }],
  ['graceful-shutdown', { kind: 'standard', value: 0xffff_0000 }],
])('the text %s is a community', (text, community) => {
  expect(parseCommunity(text)).toEqual({ ok: true, value: community });
});

test.each([
  '',
  '100',
  '65536:1',
  '1:65536',
  '4294967296:1:2',
  '1:2:3:4',
  'large:1:2',
  '-1:2',
  '1:',
  ':1',
  '1:2:',
  ' 1:2',
  'toString',
  '0x1:2',
])('the text %j is no community', (text) => {
  expect(parseCommunity(text).ok).toBe(false);
});

test('toRoute parses text fields and copies the others', () => {
  const large = { kind: 'large', globalAdministrator: 1, localData1: 2, localData2: 3 } as const;
  expect(toRoute({ prefix: '2001:db8::/64', communities: ['64512:1', large], med: 7, localPref: 0, asPathPrepend: 2 })).toEqual({
    prefix: prefix('2001:db8::/64'),
    communities: [{ kind: 'standard', value: 64512 * 65536 + 1 }, large],
    med: 7,
    localPref: 0,
    asPathPrepend: 2,
  });
  expect(toRoute({ prefix: '192.0.2.1/32' })).toEqual({ prefix: prefix('192.0.2.1/32') });
});

test('toRoute returns the same object for a route without text', () => {
  const route = { prefix: prefix('192.0.2.1/32'), communities: [{ kind: 'standard', value: 1 }] } as const;
  expect(toRoute(route)).toBe(route);
});

test.each([
  ['an array', (inputs: RouteInput[]) => inputs],
  ['a set', (inputs: RouteInput[]) => new Set(inputs)],
  ['an iterator that can be read only once', (inputs: RouteInput[]) => inputs.values()],
])('toRoutes checks all routes of %s first, and its result can be iterated twice', (_, from) => {
  const good: RouteInput[] = [{ prefix: '192.0.2.1/32' }, { prefix: prefix('192.0.2.2/32'), med: 1 }];
  const routes = toRoutes(from(good));
  for (let n = 0; n < 2; n++) {
    expect([...routes]).toEqual([{ prefix: prefix('192.0.2.1/32') }, { prefix: prefix('192.0.2.2/32'), med: 1 }]);
  }
  expect(() => toRoutes(from([...good, { prefix: 'x' }]))).toThrow(RouteError);
});

test.each<[keyof RouteInput, Partial<RouteInput>, string]>([
  ['prefix', { prefix: '192.0.2.1' }, 'address/length'],
  ['prefix', { prefix: '192.0.2.1/24' }, '192.0.2.0/24'],
  ['communities', { communities: ['no-such-name'] }, 'no-such-name'],
  ['med', { med: -1 }, 'whole number'],
  ['med', { med: 2 ** 32 }, '4294967295'],
  ['localPref', { localPref: 1.5 }, 'whole number'],
  ['asPathPrepend', { asPathPrepend: 33 }, '32'],
  ['pathId', { pathId: 0 }, '0 is not a whole number from 1 to 4294967295'],
  ['pathId', { pathId: 2 ** 32 }, 'from 1 to 4294967295'],
  ['pathId', { pathId: 1.5 }, 'whole number'],
  ['nextHop', { nextHop: '10.0.0' }, '10.0.0'],
  ['nextHop', { prefix: '2001:db8::/64', nextHop: '10.0.0.9' }, '2001:db8::/64 needs an IPv6 next hop'],
  ['nextHop', { nextHop: 'fe80::1' }, 'set nextHop.ipv6LinkLocal'],
  ['nextHop', { nextHop: '169.254.0.1' }, 'unicast address'],
  ['nextHop', { nextHop: '0.0.0.0' }, 'unicast address'],
  ['nextHop', { nextHop: '127.0.0.1' }, 'unicast address'],
  ['nextHop', { nextHop: '224.0.0.1' }, 'unicast address'],
  ['nextHop', { nextHop: '::1' }, 'unicast address'],
  ['nextHop', { nextHop: 'ff02::1' }, 'unicast address'],
])('an invalid %s is refused with a message that says what to write: %j', (field, change, text) => {
  const read = (): unknown => toRoute({ prefix: '192.0.2.1/32', ...change });
  expect(read).toThrow(RouteError);
  expect(read).toThrow(text);
  expect(read).toThrow(expect.objectContaining({ code: 'ERR_BGP_ROUTE', field }));
});

const path = (pathId: number, prefix = '192.0.2.1/32'): RouteInput => ({ prefix, pathId });

test('toRoute parses a next hop, and an IPv4 route may have an IPv6 one', () => {
  const [ipv4, ipv6] = [address('10.0.0.9'), address('2001:db8::9')];
  expect(toRoute({ prefix: '192.0.2.1/32', pathId: 2, nextHop: '10.0.0.9' })).toEqual({
    prefix: prefix('192.0.2.1/32'),
    pathId: 2,
    nextHop: ipv4,
  });
  expect(toRoute({ prefix: prefix('192.0.2.1/32'), nextHop: '2001:db8::9' })).toMatchObject({ nextHop: ipv6 });
  const route = { prefix: prefix('192.0.2.1/32'), nextHop: ipv4 };
  expect(toRoute(route)).toBe(route);
});

test.each<[string, RouteInput[], string | undefined]>([
  ['one identifier for two prefixes', [path(2), path(2, '192.0.2.2/32')], undefined],
  ['two identifiers for a prefix', [path(2), path(1)], undefined],
  ['one identifier twice for a prefix', [path(1), path(2), path(2)], '2 comes twice for 192.0.2.1/32: give each path'],
  ['the first identifier twice for a prefix', [path(2), path(1), path(1)], '1 comes twice for 192.0.2.1/32'],
  ['a route without identifier before one with the first', [{ prefix: '192.0.2.1/32' }, path(1)], 'without identifier has 1'],
  ['a route without identifier after one with the first', [path(1), { prefix: '192.0.2.1/32' }], 'without identifier has 1'],
  ['a route without identifier before one with the second', [{ prefix: '192.0.2.1/32' }, path(2)], undefined],
  ['two routes without identifier', [{ prefix: '192.0.2.1/32' }, { prefix: '192.0.2.1/32', med: 1 }, path(2)], undefined],
  ['as many paths as a prefix may have', Array.from({ length: 256 }, (_, n) => path(n + 1)), undefined],
  ['one path more', Array.from({ length: 257 }, (_, n) => path(n + 1)), '192.0.2.1/32 has more than 256 paths'],
])('toRoutes checks the path identifiers of a list: %s', (_, inputs, text) => {
  if (text === undefined) {
    expect([...toRoutes(inputs)]).toHaveLength(inputs.length);
    return;
  }
  expect(() => toRoutes(inputs)).toThrow(text);
  expect(() => toRoutes(inputs)).toThrow(expect.objectContaining({ code: 'ERR_BGP_ROUTE', field: 'pathId' }));
});

test('toPath takes a prefix, or a prefix with a path identifier', () => {
  const parsed = prefix('192.0.2.1/32');
  for (const input of ['192.0.2.1/32', parsed, { prefix: parsed }, { prefix: '192.0.2.1/32' }])
    expect(toPath(input)).toEqual({ prefix: parsed });
  expect(toPath({ prefix: '192.0.2.1/32', pathId: 7 })).toEqual({ prefix: parsed, pathId: 7 });
  expect(() => toPath({ prefix: '192.0.2.1/32', pathId: 0 })).toThrow('pathId: 0 is not a whole number from 1 to 4294967295');
});

test.each<[string, 4 | 6, bigint, number, RegExp]>([
  ['a length above 32 for IPv4', 4, 0xc000_0200n, 33, /192.0.2.0: 33 is not a length from 0 to 32/],
  ['a length above 128 for IPv6', 6, 0n, 129, /::: 129 is not a length from 0 to 128/],
  ['a negative length', 4, 0n, -1, /-1 is not a length/],
  ['a fraction', 4, 0n, 24.5, /24.5 is not a length/],
  ['bits beyond the length', 4, 0xc000_0201n, 24, /192.0.2.1\/24 has bits beyond its length/],
  ['IPv6 bits beyond the length', 6, 1n, 127, /::1\/127 has bits beyond its length/],
])('a prefix object is checked: %s', (_, family, value, length, words) => {
  const wrong = { address: { family, value }, length };
  expect(() => toRoute({ prefix: wrong })).toThrow(words);
  expect(() => toPrefix(wrong)).toThrow(RouteError);
  expect(() => toRoutes([{ prefix: '192.0.2.1/32' }, { prefix: wrong }])).toThrow(RouteError);
});
