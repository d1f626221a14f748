import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveImport, type ImportOptions } from '../../../../../src/bgp/options/import-options.ts';
import { PeerOptionsError, resolveOptions, UnknownOptionError } from '../../../../../src/bgp/index.ts';
import { decideImport, isInRange } from '../../../../../src/bgp/rib/received/import-filter.ts';
import type { ReceivedPath } from '../../../../../src/bgp/rib/received/received-route.ts';
import { address, addressFromBytes } from '../../../../../src/net/address.ts';
import { lastAddress, maskedPrefix, prefix, prefixContains } from '../../../../../src/net/prefix.ts';
import { routerOptions } from '../../scripted-router.ts';
import { router } from './received.ts';

const path: ReceivedPath = {
  from: router,
  nextHops: [address('10.0.0.1')],
  origin: 'igp',
  asPath: [{ kind: 'sequence', asns: [65001, 65002, 65003] }],
  localPref: 100,
  communities: [
    { kind: 'standard', value: 65001 * 0x1_0000 + 7 },
    { kind: 'large', globalAdministrator: 65001, localData1: 1, localData2: 2 },
  ],
};

function decide(options: ImportOptions, text: string, change: Partial<ReceivedPath> = {}): number | 'refused' {
  const rules = resolveImport(options);
  if (typeof rules === 'string') throw new Error(rules);
  const decision = decideImport(rules, prefix(text), { ...path, ...change });
  return decision.accepted ? decision.localPref : 'refused';
}

describe('the prefixes of a rule', () => {
  test.each([
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.1.0.0/16', false],
    [{ prefix: '10.0.0.0/8', le: 16 }, '10.0.0.0/8', true],
    [{ prefix: '10.0.0.0/8', le: 16 }, '10.1.0.0/16', true],
    [{ prefix: '10.0.0.0/8', le: 16 }, '10.1.1.0/24', false],
    [{ prefix: '10.0.0.0/8', ge: 16 }, '10.0.0.0/8', false],
    [{ prefix: '10.0.0.0/8', ge: 16 }, '10.1.1.1/32', true],
    [{ prefix: '10.0.0.0/8', ge: 16, le: 24 }, '10.1.1.1/32', false],
    [{ prefix: '10.0.0.0/8', ge: 16 }, '11.1.1.1/32', false],
    ['0.0.0.0/0', '0.0.0.0/0', true],
    ['0.0.0.0/0', '::/0', false],
    [{ prefix: '::/0', ge: 0 }, '2001:db8::/32', true],
    [{ prefix: '::/0', ge: 0 }, '192.0.2.0/24', false],
  ] as const)('%j and %s: %s', (range, text, expected) => {
    expect(decide({ rules: [{ prefixes: [range] }] }, text)).toBe(expected ? 100 : 'refused');
  });

  test('a range has exactly the prefixes of its lengths inside its prefix', () => {
    const length = fc.nat(32);
    const octets = fc.uint8Array({ minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(octets, length, octets, length, length, length, (a, within, b, size, ge, le) => {
        const range = maskedPrefix(addressFromBytes(a), within);
        const tested = maskedPrefix(addressFromBytes(b), size);
        const inside = prefixContains(range, tested.address) && prefixContains(range, lastAddress(tested));
        expect(isInRange({ prefix: range, ge, le }, tested)).toBe(inside && size >= ge && size <= le);
      }),
    );
  });
});

describe('the conditions and the decision of a rule', () => {
  test('BGP-109 without a matching rule a route is refused, or accepted if the options say so (RFC 8212)', () => {
    expect(decide({}, '192.0.2.0/24')).toBe('refused');
    expect(decide({ otherwise: 'accept' }, '192.0.2.0/24')).toBe(100);
  });

  test('the first matching rule decides, and may set the degree of preference', () => {
    const rules = [{ prefixes: ['192.0.2.0/24'], action: 'refuse' }, { setLocalPref: 200 }] as const;
    expect(decide({ rules }, '192.0.2.0/24')).toBe('refused');
    expect(decide({ rules }, '198.51.100.0/24')).toBe(200);
  });

  test('all communities of a rule must be there', () => {
    expect(decide({ rules: [{ communities: ['65001:7', '65001:1:2'] }] }, '192.0.2.0/24')).toBe(100);
    expect(decide({ rules: [{ communities: ['65001:7', '65001:1:3'] }] }, '192.0.2.0/24')).toBe('refused');
    expect(decide({ rules: [{ communities: ['65001:7'] }] }, '192.0.2.0/24', { communities: [] })).toBe('refused');
  });

  test('the origin is the last AS of the path, or the AS of the peer for an empty path', () => {
    expect(decide({ rules: [{ originAsns: [65003] }] }, '192.0.2.0/24')).toBe(100);
    expect(decide({ rules: [{ originAsns: [65001] }] }, '192.0.2.0/24')).toBe('refused');
    expect(decide({ rules: [{ originAsns: [65001] }] }, '192.0.2.0/24', { asPath: [] })).toBe(100);
  });

  test('a path may have the maximum length and no more', () => {
    expect(decide({ rules: [{ maximumPathLength: 3 }] }, '192.0.2.0/24')).toBe(100);
    expect(decide({ rules: [{ maximumPathLength: 2 }] }, '192.0.2.0/24')).toBe('refused');
  });
});

test.each([
  ['"192.0.2.1/24"', { rules: [{ prefixes: ['192.0.2.1/24'] }] }],
  ['10.0.0.0/8: ge and le are lengths from 8 to 32', { rules: [{ prefixes: [{ prefix: '10.0.0.0/8', ge: 7 }] }] }],
  ['ge is not above le', { rules: [{ prefixes: [{ prefix: '10.0.0.0/8', ge: 24, le: 16 }] }] }],
  ['lengths from 8 to 32', { rules: [{ prefixes: [{ prefix: '10.0.0.0/8', le: 33 }] }] }],
  ['"nonsense"', { rules: [{ communities: ['nonsense'] }] }],
  ['cannot set their LOCAL_PREF', { rules: [{ action: 'refuse', setLocalPref: 5 }] }],
  ['setLocalPref', { rules: [{ setLocalPref: -1 }] }],
  ['maximumRoutes', { maximumRoutes: 1.5 }],
  ['more than 1000 rules', { rules: Array.from({ length: 1_001 }, () => ({})) }],
  ['more than 1000 entries', { rules: [{ originAsns: Array.from({ length: 1_001 }, (_, i) => i + 1) }] }],
] as const)('import options that cannot work are refused: %s', (message, options) => {
  const wrong = (): unknown => resolveOptions({ ...routerOptions, import: options });
  expect(wrong).toThrow(PeerOptionsError);
  expect(wrong).toThrow(message);
});

test('a misspelt option of a rule is refused', () => {
  const wrong = (): unknown => resolveOptions({ ...routerOptions, import: { rules: [{ prefix: [] } as object] } });
  expect(wrong).toThrow(UnknownOptionError);
  expect(wrong).toThrow('import.rules.prefix: a peer has no such option, did you mean import.rules.prefixes?');
});
