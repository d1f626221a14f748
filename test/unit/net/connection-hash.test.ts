import { expect, test } from 'vitest';
import { address } from '../../../src/net/address.ts';
import { hashSeed, jenkinsHash, slotOf } from '../../../src/net/connection-hash.ts';

/** The kernel computes the same values: test/lab/consistent-hashing.test.ts sends packets for this formula. */
test.each([
  [0, 1_192_440_144],
  [1, 2_742_733_888],
  [2, 2_494_526_375],
  [3, 3_037_704_201],
  [4, 3_731_850_195],
  [5, 420_139_495],
  [6, 1_405_282_028],
  [7, 4_102_590_853],
])('jenkinsHash matches the kernel for %i words', (count, expected) => {
  expect(
    jenkinsHash(
      Uint32Array.from({ length: count }, (_, index) => index + 1),
      hashSeed,
    ),
  ).toBe(expected);
});

test.each([
  ['connection', '10.99.0.2', 20_000, 1021, 808],
  ['connection', '10.99.0.2', 20_001, 251, 5],
  ['connection', 'fd99::2', 20_000, 1021, 802],
  ['client', '10.99.0.2', 20_000, 1021, 420],
  ['client', 'fd99::2', 0, 16_381, 5696],
] as const)('slotOf hashes the %s: source %s port %i of %i slots gives slot %i', (hashed, source, port, size, slot) => {
  expect(slotOf(hashed, address(source), port, size)).toBe(slot);
});

test('the port changes the slot of a connection hash, but not of a client hash', () => {
  const slots = (hashed: 'client' | 'connection'): Set<number> =>
    new Set(Array.from({ length: 1000 }, (_, index) => slotOf(hashed, address('192.0.2.7'), 32_768 + index, 251)));
  expect(slots('client').size).toBe(1);
  // 251 (1 - (250/251)^1000) = 246 slots on average, with a standard deviation of two.
  expect(slots('connection').size).toBeGreaterThan(234);
});
