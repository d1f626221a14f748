import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address, bitsOf, formatAddress, type Address } from '../../../src/net/address.ts';
import {
  comparePrefixes,
  formatPrefix,
  hostPrefix,
  isHostPrefix,
  lastAddress,
  maskedPrefix,
  parsePrefix,
  parsePrefixLeniently,
  prefix,
  prefixContains,
  withoutPrefix,
} from '../../../src/net/prefix.ts';
import {
  formatRange,
  parseRange,
  rangeContains,
  rangeOfPrefix,
  rangeSize,
  rangesOverlap,
  rangeToPrefixes,
  type AddressRange,
} from '../../../src/net/range.ts';

const anyAddress = fc
  .constantFrom<4 | 6>(4, 6)
  .chain((family) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bitsOf(family)) - 1n }).map((value): Address => ({ family, value })));
const anyPrefix = anyAddress.chain((address) => fc.nat(bitsOf(address.family)).map((length) => maskedPrefix(address, length)));

function range(text: string): AddressRange {
  const result = parseRange(text);
  if (!result.ok) throw new RangeError(result.problem);
  return result.value;
}

describe('prefix', () => {
  test.each([
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['192.0.2.1/32', '192.0.2.1/32'],
    ['2001:DB8::/32', '2001:db8::/32'],
  ])('%s is read as %s', (text, canonical) => {
    const result = parsePrefix(text);
    expect(result.ok && formatPrefix(result.value)).toBe(canonical);
  });

  test.each([
    ['192.0.2.0', 'address/length'],
    ['192.0.2.0/33', '0 to 32'],
    ['2001:db8::/129', '0 to 128'],
    ['192.0.2.0/024', '0 to 32'],
    ['192.0.2.0/', '0 to 32'],
    ['192.0.2.1/24', 'write 192.0.2.0/24'],
    ['192.0.2.00/24', 'leading zero'],
  ])('%s is refused: %s', (text, why) => {
    const result = parsePrefix(text);
    expect(result.ok ? 'accepted' : result.problem).toContain(why);
  });

  test('lenient reading accepts host bits and leading zeros with a warning', () => {
    expect(parsePrefixLeniently('203.0.113.077/025')).toMatchObject({ ok: false });
    expect(parsePrefixLeniently('203.0.113.077/25')).toMatchObject({ ok: true, value: prefix('203.0.113.0/25') });
    expect(parsePrefixLeniently('203.0.113.000/25')).toMatchObject({
      ok: true,
      warning: expect.stringContaining('leading zeros') as string,
    });
  });

  test.each([
    ['10.0.0.0/8', '10.0.0.0/9', ['10.128.0.0/9']],
    ['10.0.0.0/8', '10.64.0.0/10', ['10.0.0.0/10', '10.128.0.0/9']],
    ['10.0.0.0/9', '10.0.0.0/8', []],
    ['10.0.0.0/8', '10.0.0.0/8', []],
    ['10.0.0.0/8', '11.0.0.0/8', ['10.0.0.0/8']],
    ['::/0', '127.0.0.0/8', ['::/0']],
  ])('withoutPrefix splits %s around %s', (text, hole, rest) => {
    expect(withoutPrefix(prefix(text), prefix(hole)).map(formatPrefix)).toEqual(rest);
  });

  test('formatting and reading gives the same prefix, which contains its first and last address', () => {
    fc.assert(
      fc.property(anyPrefix, (value) => {
        const text = formatPrefix(value);
        if (!text.startsWith('::ffff:')) expect(prefix(text)).toEqual(value);
        expect(prefixContains(value, value.address)).toBe(true);
        expect(prefixContains(value, lastAddress(value))).toBe(true);
        expect(comparePrefixes(value, value)).toBe(0);
        expect(isHostPrefix(hostPrefix(value.address))).toBe(true);
      }),
    );
  });

  test('a prefix contains exactly the addresses that mask to it', () => {
    fc.assert(
      fc.property(anyPrefix, anyAddress, (value, other) => {
        const masked = other.family === value.address.family && formatPrefix(maskedPrefix(other, value.length)) === formatPrefix(value);
        expect(prefixContains(value, other)).toBe(masked);
      }),
    );
  });
});

describe('address range', () => {
  test.each([
    ['192.0.2.0/30', '192.0.2.0/30', 4n],
    ['192.0.2.1-192.0.2.9', '192.0.2.1-192.0.2.9', 9n],
    ['192.0.2.0 - 192.0.2.255', '192.0.2.0/24', 256n],
    ['2001:db8::/64', '2001:db8::/64', 2n ** 64n],
    ['::1-::1', '::1/128', 1n],
  ])('%s is read as %s with %s addresses', (text, canonical, size) => {
    expect(formatRange(range(text))).toBe(canonical);
    expect(rangeSize(range(text))).toBe(size);
  });

  test.each([
    ['192.0.2.1', 'neither'],
    ['192.0.2.9-192.0.2.1', 'swap'],
    ['192.0.2.1-::1', 'family'],
    ['192.0.2.1-192.0.2', 'end of the range'],
    ['010.0.0.1-10.0.0.2', 'start of the range'],
  ])('%s is refused: %s', (text, why) => {
    const result = parseRange(text);
    expect(result.ok ? 'accepted' : result.problem).toContain(why);
  });

  test('rangeToPrefixes covers the range exactly with the fewest prefixes', () => {
    const anyRange = fc.tuple(anyAddress, fc.bigInt({ min: 0n, max: 2n ** 40n })).map(([first, extra]): AddressRange => {
      const most = 2n ** BigInt(bitsOf(first.family)) - 1n;
      const last = first.value + extra > most ? most : first.value + extra;
      return { first, last: { family: first.family, value: last } };
    });
    fc.assert(
      fc.property(anyRange, (value) => {
        const prefixes = rangeToPrefixes(value);
        let next = value.first.value;
        for (const part of prefixes) {
          expect(part.address.value).toBe(next);
          next = lastAddress(part).value + 1n;
        }
        expect(next).toBe(value.last.value + 1n);
        expect(prefixes.length).toBeLessThanOrEqual(2 * bitsOf(value.first.family));
        expect(rangeContains(value, value.first) && rangeContains(value, value.last)).toBe(true);
      }),
    );
  });

  test('two ranges overlap exactly when they share an address', () => {
    expect(rangesOverlap(range('192.0.2.0/30'), range('192.0.2.3-192.0.2.9'))).toBe(true);
    expect(rangesOverlap(range('192.0.2.0/30'), range('192.0.2.4-192.0.2.9'))).toBe(false);
    expect(rangesOverlap(range('::/0'), range('0.0.0.0/0'))).toBe(false);
    expect(rangeOfPrefix(prefix('::/0')).last).toEqual(address('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'));
    expect(formatAddress(address('ffff::'))).toBe('ffff::');
  });
});
