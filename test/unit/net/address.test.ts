import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  address,
  addressBytes,
  addressFromBytes,
  bitsOf,
  compareAddresses,
  formatAddress,
  isLinkLocal,
  parseAddress,
  parseAddressLeniently,
  sameAddress,
  type Address,
} from '../../../src/net/address.ts';
import { runs } from '../../support/property.ts';

const anyAddress = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((value): Address => ({ family: 4, value })),
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((value): Address => ({ family: 6, value })),
  // Groups with many zeros, where the compression rules of RFC 5952 matter.
  fc.array(fc.constantFrom(0n, 0n, 0n, 1n, 0xabcdn), { minLength: 8, maxLength: 8 }).map((groups): Address => {
    return { family: 6, value: groups.reduce<bigint>((value, group) => (value << 16n) | group, 0n) };
  }),
);

/** Eight groups in some legal spelling: leading zeros, upper case, and "::" for any run of zero groups. */
const spelledIpv6 = fc
  .tuple(
    fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 }),
    fc.array(fc.record({ width: fc.integer({ min: 1, max: 4 }), upper: fc.boolean() }), { minLength: 8, maxLength: 8 }),
    fc.option(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 1, max: 8 }))),
  )
  .map(([groups, spellings, gap]) => {
    const words = groups.map((group, index) => {
      const { width = 1, upper = false } = spellings[index] ?? {};
      const word = group.toString(16).padStart(width, '0');
      return upper ? word.toUpperCase() : word;
    });
    const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
    const [from = 0, length = 0] = gap ?? [];
    const isGap = gap !== null && from + length <= 8 && groups.slice(from, from + length).every((group) => group === 0);
    const text = isGap ? `${words.slice(0, from).join(':')}::${words.slice(from + length).join(':')}` : words.join(':');
    return { text, value };
  })
  // An IPv4-mapped address is refused.
  .filter(({ value }) => value >> 32n !== 0xffffn);

describe('strict address parsing', () => {
  test('an IPv6 address has the value of its groups in every legal spelling', () => {
    fc.assert(
      fc.property(spelledIpv6, ({ text, value }) => {
        expect(parseAddress(text)).toMatchObject({ ok: true, value: { family: 6, value } });
      }),
      { numRuns: runs(2_000) },
    );
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8::0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['fe80::1', 'fe80::1'],
  ])('%s is read as %s', (text, canonical) => {
    const result = parseAddress(text);
    expect(result.ok && formatAddress(result.value)).toBe(canonical);
  });

  test.each([
    ['10.1', 'four octets'],
    ['1', 'four octets'],
    ['010.0.0.1', 'leading zero'],
    ['192.0.2.00', 'leading zero'],
    ['0x10.0.0.1', 'octet'],
    ['192.0.2.256', 'above 255'],
    ['192.0.2.1 ', 'octet'],
    ['192.0.2.-1', 'octet'],
    ['', 'not an IP address'],
    ['example.org', 'not an IP address'],
    ['::ffff:192.0.2.1', 'write 192.0.2.1'],
    ['fe80::1%eth0', 'zone'],
    ['1::2::3', 'once'],
    ['1:2:3:4:5:6:7', 'eight groups'],
    ['1:2:3:4:5:6:7:8:9', 'eight groups'],
    ['1:2:3:4:5:6:7:8::', 'eight groups'],
    ['12345::', 'not an IPv6 address'],
    [':1:2:3:4:5:6:7', 'not an IPv6 address'],
    ['2001:db8::192.0.2.1:1', 'not an IPv6 address'],
    [`${'0'.repeat(60)}::1`, 'too long'],
  ])('%j is refused: %s', (text, why) => {
    const result = parseAddress(text);
    expect(result.ok ? 'accepted' : result.problem).toContain(why);
  });

  test('every accepted address is valid for the system, in the same family', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.%'.split('')) })), (text) => {
        const result = parseAddress(text);
        if (result.ok) expect(result.value.family === 4 ? isIPv4(text) : isIPv6(text)).toBe(true);
      }),
    );
  });
});

describe('lenient address parsing for Kubernetes objects', () => {
  test('leading zeros are read as decimal, with a warning that shows the right form', () => {
    expect(parseAddressLeniently('172.030.000.041')).toEqual({
      ok: true,
      value: address('172.30.0.41'),
      warning: expect.stringContaining('write 172.30.0.41') as string,
    });
    expect(parseAddressLeniently('192.0.2.1')).toEqual({ ok: true, value: address('192.0.2.1') });
    expect(parseAddressLeniently('10.1').ok).toBe(false);
  });
});

describe('address values', () => {
  test('formatting or encoding an address and reading it back gives the same address', () => {
    fc.assert(
      fc.property(anyAddress, (value) => {
        // An IPv4-mapped address can be formatted but not read back: it stands for an IPv4 address.
        if (value.family === 4 || value.value >> 32n !== 0xffffn) expect(address(formatAddress(value))).toEqual(value);
        expect(addressFromBytes(addressBytes(value))).toEqual(value);
        expect(addressBytes(value)).toHaveLength(bitsOf(value.family) / 8);
      }),
    );
  });

  test('RFC 5952: formatting compresses the first longest run of zeros, but never a single group', () => {
    fc.assert(
      fc.property(anyAddress, (value) => {
        const text = formatAddress(value);
        expect(text).toBe(text.toLowerCase());
        if (value.family === 4 || !text.includes('::')) return;
        const zeros = 8 - text.split(':').filter((group) => group !== '').length;
        expect(zeros).toBeGreaterThan(1);
        const full = [...Array(8).keys()].map((i) => ((value.value >> BigInt(112 - 16 * i)) & 0xffffn) === 0n);
        const runs = full
          .map((zero, i) => (zero && full[i - 1] !== true ? full.slice(i).findIndex((z) => !z) : 0))
          .map((n, i) => (n < 0 ? 8 - i : n));
        expect(zeros).toBe(Math.max(...runs));
      }),
    );
  });

  test('addresses sort by family, then by number', () => {
    const sorted = ['10.0.0.10', '10.0.0.9', '::1', '::', '255.0.0.0'].map(address).toSorted(compareAddresses).map(formatAddress);
    expect(sorted).toEqual(['10.0.0.9', '10.0.0.10', '255.0.0.0', '::', '::1']);
    expect(sameAddress(address('::1'), address('0.0.0.1'))).toBe(false);
  });

  test('link-local is fe80::/10', () => {
    expect(['fe80::1', 'febf::1', 'fec0::1', '169.254.0.1'].map((text) => isLinkLocal(address(text)))).toEqual([true, true, false, false]);
  });
});
