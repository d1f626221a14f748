import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Family } from '../../../../src/net/address.ts';
import { maskedPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { PrefixTable } from '../../../../src/bgp/rib/interned/prefix-table.ts';
import { countNlri, readPaths } from '../../../../src/bgp/wire/nlri.ts';
import { pathKey } from './receiver.ts';
import { runs } from '../../../../test/support/property.ts';

const anyPrefix = (family: Family): fc.Arbitrary<Prefix> => {
  const bits = family === 4 ? 32 : 128;
  // A few small values, so that prefixes repeat, or any value at all.
  const value = fc.oneof(fc.bigInt({ min: 0n, max: 40n }), fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }));
  return fc.tuple(value, fc.constantFrom(0, 1, 8, 24, bits - 1, bits)).map(([value, length]) => maskedPrefix({ family, value }, length));
};

describe.each([4, 6] as const)('the table of IPv%i prefixes', (family) => {
  test('acquire and release agree with a Map of reference counts after any sequence', () => {
    const step = fc.record({ hold: fc.boolean(), prefix: anyPrefix(family), pathId: fc.constantFrom(undefined, 1, 2, 3, 0xffff_ffff) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (walk) => {
        const table = new PrefixTable(family);
        const model = new Map<string, { slot: number; holders: number; prefix: Prefix; pathId: number }>();
        for (const { hold, prefix, pathId } of walk) {
          const text = pathKey(prefix, pathId);
          const known = model.get(text);
          if (known !== undefined) expect(table.find(prefix, pathId)).toBe(known.slot);
          else if (pathId !== undefined && pathId !== 1) expect(table.find(prefix, pathId)).toBe(-1);
          if (hold) {
            const slot = table.acquire(prefix, pathId);
            expect(slot).toBe(known?.slot ?? slot);
            model.set(text, { slot, holders: (known?.holders ?? 0) + 1, prefix, pathId: pathId ?? 1 });
          } else if (known !== undefined) {
            table.release(known.slot);
            if (--known.holders === 0) model.delete(text);
          }
          // An additional path also holds its prefix.
          expect(table.size).toBe(new Set([...model].flatMap(([key, { prefix }]) => [key, pathKey(prefix)])).size);
        }
        expect(new Set([...model.values()].map(({ slot }) => slot)).size).toBe(model.size);
        for (const { slot, prefix, pathId } of model.values()) {
          expect([table.prefix(slot), table.pathId(slot)]).toEqual([prefix, pathId]);
          expect(table.find(prefix, pathId)).toBe(slot);
          const next = table.additional?.next(slot) ?? -1;
          if (next !== -1) expect([table.prefix(next), table.pathId(next) > pathId]).toEqual([prefix, true]);
        }
        table.releaseAll(Int32Array.from([...model.values()].flatMap(({ slot, holders }) => Array<number>(holders).fill(slot))));
        expect([table.size, table.additional]).toEqual([0, undefined]);
      }),
      { numRuns: runs(200) },
    );
  });

  test('write() encodes a prefix as the decoder reads it', () => {
    fc.assert(
      fc.property(anyPrefix(family), (prefix) => {
        const table = new PrefixTable(family);
        const slot = table.acquire(prefix);
        const bytes = new Uint8Array(40).fill(0xee);
        const slots = Int32Array.of(slot);
        const size = 1 + Math.ceil(prefix.length / 8);
        expect(table.write({ slots, start: 0, end: 1 }, bytes, size - 1)).toEqual({ count: 0, length: 0 });
        expect(table.write({ slots, start: 0, end: 1 }, bytes, size)).toEqual({ count: 1, length: size });
        expect(bytes.subarray(size).every((byte) => byte === 0xee)).toBe(true);
        expect(countNlri(family, bytes.subarray(0, size))).toBe(1);
        expect([...readPaths({ family, bytes: bytes.subarray(0, size), pathIds: false })]).toEqual([{ prefix }]);
      }),
    );
  });

  test('the table grows, and frees its memory with the last prefix', () => {
    const table = new PrefixTable(family);
    const slots = Array.from({ length: 5000 }, (_, n) => table.acquire({ address: { family, value: BigInt(n) }, length: 32 }));
    expect([table.size, table.capacity]).toEqual([5000, 8192]);
    for (const slot of slots) table.release(slot);
    expect([table.size, table.capacity]).toEqual([0, 16]);
    expect(table.find({ address: { family, value: 7n }, length: 32 })).toBe(-1);
  });
});

test.each([
  ['a few of the slots', 100, 30, 0],
  ['most of the slots', 100, 90, 0],
  ['most of the slots except some with another holder', 100, 90, 3],
  ['all slots', 100, 100, 0],
])('releaseAll releases %s', (_, size, released, staying) => {
  const table = new PrefixTable(4);
  const slots = Array.from({ length: size }, (_, n) => table.acquire({ address: { family: 4, value: BigInt(n) }, length: 32 }));
  for (let n = 0; n < staying; n++) table.retain(n * 7);
  table.releaseAll(Int32Array.from(slots.slice(0, released)));
  expect(table.size).toBe(size - released + staying);
  for (const slot of slots) {
    const stays = slot >= released || (slot % 7 === 0 && slot / 7 < staying);
    expect(table.find({ address: { family: 4, value: BigInt(slot) }, length: 32 })).toBe(stays ? slot : -1);
  }
});

test('prefixes and paths are found after releaseAll has taken most of the table', () => {
  const table = new PrefixTable(4);
  const at = (n: number): Prefix => ({ address: { family: 4, value: BigInt(n) }, length: 32 });
  const slots = Array.from({ length: 90 }, (_, n) => [table.acquire(at(n)), table.acquire(at(n), 2), table.acquire(at(n), 3)]);
  table.releaseAll(Int32Array.from(slots.slice(0, 80).flat()));
  expect(table.size).toBe(30);
  for (const [n, expected] of slots.entries()) {
    expect([table.find(at(n)), table.find(at(n), 2), table.find(at(n), 3)]).toEqual(n < 80 ? [-1, -1, -1] : expected);
  }
  for (const slot of slots.slice(80, 89).flat()) table.release(slot);
  expect([80, 88, 89].map((n) => table.find(at(n)) >= 0)).toEqual([false, false, true]);
});

test('releaseAll releases a slot as often as it is listed', () => {
  const table = new PrefixTable(4);
  const [twice, once] = [table.acquire(prefix('10.0.0.0/8')), table.acquire(prefix('10.0.0.0/9'))];
  table.retain(twice);
  table.releaseAll(Int32Array.of(twice, once, twice));
  expect(table.size).toBe(0);
});
