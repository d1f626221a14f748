import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asPathLength,
  decodeAsPath,
  encodeAsPath,
  mergeAs4Path,
  type AsPathSegment,
} from '../../../../../src/bgp/wire/attributes/as-path.ts';
import { toHex } from '../../hex.ts';
import { asPath } from '../arbitraries.ts';

const sequence = (...asns: number[]): AsPathSegment => ({ kind: 'sequence', asns });
const set = (...asns: number[]): AsPathSegment => ({ kind: 'set', asns });
const confederation = (...asns: number[]): AsPathSegment => ({ kind: 'confederationSequence', asns });
const trans = 23456;
const big = 4_200_000_000;

describe('the real path behind a 2-octet peer (RFC 6793 4.2.3)', () => {
  test.each<[string, AsPathSegment[], AsPathSegment[] | undefined, readonly AsPathSegment[], number?]>([
    ['AS_PATH alone counts without AS4_PATH', [sequence(1, trans)], undefined, [sequence(1, trans)]],
    ['AS4_PATH of equal length replaces AS_PATH', [sequence(trans, 2)], [sequence(big, 2)], [sequence(big, 2)]],
    ['a shorter AS4_PATH gets the leading ASNs of AS_PATH', [sequence(1, 2, trans)], [sequence(big)], [sequence(1, 2, big)]],
    ['an empty AS4_PATH changes nothing', [sequence(1, 2)], [], [sequence(1, 2)]],
    ['a longer AS4_PATH is out of date and ignored', [sequence(1)], [sequence(big, 1)], [sequence(1)]],
    ['AS4_PATH is out of date when AGGREGATOR is not AS_TRANS', [sequence(1, trans)], [sequence(1, big)], [sequence(1, trans)], 7],
    ['AS4_PATH counts when AGGREGATOR is AS_TRANS', [sequence(1, trans)], [sequence(1, big)], [sequence(1, big)], trans],
    [
      'a set counts as one AS number',
      [sequence(1), set(2, 3), sequence(trans)],
      [set(2, 3), sequence(big)],
      [sequence(1), set(2, 3), sequence(big)],
    ],
    ['a leading set is taken whole', [set(1, 2), sequence(trans)], [sequence(big)], [set(1, 2), sequence(big)]],
    [
      'leading confederation segments are kept and not counted',
      [confederation(9, 8), sequence(1, trans)],
      [sequence(big)],
      [confederation(9, 8), sequence(1, big)],
    ],
    [
      'a confederation segment is kept after a kept segment',
      [sequence(1), confederation(9), sequence(trans)],
      [sequence(big)],
      [sequence(1), confederation(9), sequence(big)],
    ],
    ['confederation segments in AS4_PATH are dropped', [sequence(trans)], [confederation(9), sequence(big)], [sequence(big)]],
    ['both segments of AS4_PATH count', [sequence(1, trans), set(5)], [sequence(big), set(5)], [sequence(1, big), set(5)]],
  ])('AS_PATH and AS4_PATH are merged: %s', (_, path, as4Path, expected, aggregator) => {
    expect(mergeAs4Path(path, as4Path, aggregator)).toEqual(expected);
  });

  test('the merge restores the path that a 4-octet speaker sent through 2-octet speakers', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 0xffff_ffff }), { minLength: 1, maxLength: 20 }),
        fc.array(fc.nat(60_000)),
        (real, added) => {
          const front = added.map((asn) => asn + 1).filter((asn) => asn !== trans);
          const narrow = decodeAsPath(encodeAsPath([sequence(...front, ...real)], false), false) ?? [];
          expect(mergeAs4Path(narrow, [sequence(...real)])).toEqual([sequence(...front, ...real)]);
        },
      ),
    );
  });

  test('the merged path is as long as AS_PATH for any two paths', () => {
    fc.assert(
      fc.property(asPath, asPath, (path, as4Path) => {
        expect(asPathLength(mergeAs4Path(path, as4Path))).toBe(asPathLength(path));
      }),
    );
  });
});

test('every path survives encoding and decoding with four octets', () => {
  fc.assert(
    fc.property(asPath, (path) => {
      expect(decodeAsPath(encodeAsPath(path, true), true)).toEqual(path);
    }),
  );
});

test('BGP-023 numbers above two octets are encoded as AS_TRANS in a 2-octet path', () => {
  expect(toHex(encodeAsPath([sequence(65_535, 65_536)], false))).toBe('0202ffff5ba0');
  expect(toHex(encodeAsPath([set(1), sequence()], false))).toBe('01010001');
});
