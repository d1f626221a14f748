import { describe, expect, test } from 'vitest';
import { savedCases } from '../../../../test/fuzz/cases.ts';
import { corpus } from '../../../../test/fuzz/l2/corpus.ts';
import { endless, exhaustive } from '../../../../test/fuzz/l2/generate.ts';
import { checkAttack, checkFrame } from '../../../../test/fuzz/l2/oracle.ts';
import { attackOf } from '../../../../test/fuzz/l2/target.ts';
import { Random } from '../../../../test/fuzz/random.ts';
import { decodeFrame } from '../../../../src/l2/wire/frame.ts';
import { runs } from '../../../../test/support/property.ts';
import { toHex } from '../../../bgp/test/hex.ts';

/** The seed is taken from the time, so that each run sees other frames. A failure prints it. */
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
/** `npm test` checks every tenth of the truncations and flipped bits, another tenth each time. */
const stride = 10 / runs(10);
const testTimeout = 120_000;

function check(bytes: Uint8Array): void {
  try {
    checkFrame(bytes);
  } catch (error) {
    throw new Error(`FUZZ_SEED=${seed}: ${toHex(bytes)}`, { cause: error });
  }
}

/** `npm run fuzz` does the same for a longer time. */
describe('L2-32 the codec with any octets', { timeout: testTimeout }, () => {
  test('every frame of the corpus is decoded', () => {
    for (const frame of corpus) expect(decodeFrame(frame)).toHaveProperty('kind');
  });

  test('the codec handles the cases found before', () => {
    for (const { bytes } of savedCases('l2')) expect(() => check(bytes)).not.toThrow();
  });

  test('the codec handles every truncation and every flipped bit of the corpus', () => {
    let count = 0;
    for (const bytes of exhaustive()) if (count++ % stride === seed % stride) check(bytes);
    expect(count).toBeGreaterThan(10_000);
  });

  test(`the codec handles frames from seed ${seed}`, () => {
    const most = runs(20_000);
    let count = 0;
    for (const bytes of endless(new Random(seed))) {
      check(bytes);
      if (++count === most) break;
    }
    expect(count).toBe(most);
  });

  test(`a node answers for its addresses again after attacks from seed ${seed}`, () => {
    const random = new Random(seed);
    for (let attack = 0; attack < runs(20); attack++) expect(() => checkAttack(attackOf(random))).not.toThrow();
  });
});
