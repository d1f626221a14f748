import assert from 'node:assert';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeNotification, describeNotification } from '../../../../src/bgp/wire/notification.ts';
import { decodeOpen } from '../../../../src/bgp/wire/open.ts';
import { decodeRouteRefresh } from '../../../../src/bgp/wire/refresh.ts';
import { readNlri } from '../../../../src/bgp/wire/nlri.ts';
import { decodeUpdate } from '../../../../src/bgp/wire/update.ts';
import { Framer } from '../../../../src/bgp/wire/framer.ts';
import { hex } from '../hex.ts';

const seeds = [
  hex('04fc00005a0a000001160214010400010001010400020001020041040000fc00'),
  hex('0004180a0001001c400101004002060201000fde9040030 40a000001800404000000070018c00002'),
  hex('00000030800e1d000201102001 0db80000000000000000000000020020 20010db80040010100400206020100 00fc00c0080400000001'),
  hex('0602076d61696e74656e'),
];

/** Every decoder takes any bytes. Prefixes that were counted can be read. */
function decodeAll(bytes: Uint8Array): void {
  decodeOpen(bytes);
  decodeRouteRefresh(bytes);
  describeNotification(decodeNotification(bytes));
  const framer = new Framer();
  framer.push(bytes);
  framer.next();
  for (const fourOctetAsn of [true, false]) {
    const update = decodeUpdate(bytes, { fourOctetAsn, internal: fourOctetAsn, families: [4, 6] });
    if (!update.ok) {
      assert.equal(update.fault.disposition, 'reset');
      continue;
    }
    for (const { family, bytes, count } of [...update.value.announced, ...update.value.withdrawn]) {
      assert.equal([...readNlri(family, bytes)].length, count);
    }
  }
}

describe('decoders never throw', () => {
  test('on random bytes', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 300 }), decodeAll);
    expect(fc.check(property, { interruptAfterTimeLimit: 3_000, numRuns: 3_000 }).counterexample).toBeNull();
  });

  test('on messages with flipped, cut off and repeated octets', () => {
    const mutation = fc.record({
      seed: fc.constantFrom(...seeds),
      flips: fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 4 }),
      cut: fc.nat(80),
      tail: fc.uint8Array({ maxLength: 20 }),
    });
    const property = fc.property(mutation, ({ seed, flips, cut, tail }) => {
      const bytes = Uint8Array.from([...seed.subarray(0, cut), ...tail]);
      for (const [at, mask] of flips) if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ mask;
      decodeAll(bytes);
    });
    expect(fc.check(property, { interruptAfterTimeLimit: 3_000, numRuns: 5_000 }).counterexample).toBeNull();
  });

  test('on every truncation and every flipped bit of the seeds', () => {
    const variants = seeds.flatMap((seed) => [
      ...Array.from({ length: seed.length + 1 }, (_, length) => seed.subarray(0, length)),
      ...Array.from({ length: seed.length * 8 }, (_, bit) => seed.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))),
    ]);
    expect(variants.length).toBeGreaterThan(1000);
    for (const variant of variants) expect(() => decodeAll(variant)).not.toThrow();
  });
});
