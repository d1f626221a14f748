import { describe, expect, test } from 'vitest';
import { savedCases } from '../../../../test/fuzz/cases.ts';
import { corpus } from '../../../../test/fuzz/bgp/corpus.ts';
import { endless, exhaustive, stream } from '../../../../test/fuzz/bgp/generate.ts';
import { checkMessage, checkStream, sessions } from '../../../../test/fuzz/bgp/oracle.ts';
import { Random } from '../../../../test/fuzz/random.ts';
import { decodeMessage } from '../../../../src/bgp/wire/index.ts';
import { runs } from '../../../../test/support/property.ts';
import { toHex } from '../hex.ts';

/** The seed is taken from the time, so that each run sees other messages. A failure prints it. */
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
/** `npm test` checks every tenth of the truncations and flipped bits, another tenth each time. */
const stride = 10 / runs(10);
/** Timeout of a test in milliseconds, far more than it needs, for a busy machine. */
const testTimeout = 60_000;

/** Checks the promises of the codec for these octets; a failure prints them with the seed. */
function check(bytes: Uint8Array): void {
  try {
    checkMessage(bytes);
  } catch (error) {
    throw new Error(`FUZZ_SEED=${seed}: ${toHex(bytes)}`, { cause: error });
  }
}

/** `npm run fuzz` does the same for a longer time. */
describe('BGP-084 the codec with any octets', { timeout: testTimeout }, () => {
  test('every message of the corpus is decoded', () => {
    for (const message of corpus) expect(sessions.some((session) => decodeMessage(message, session).ok)).toBe(true);
  });

  test.each(savedCases('bgp').map(({ name, bytes }) => [name, bytes] as const))('the codec handles a case found before: %s', (_, bytes) => {
    expect(() => check(bytes)).not.toThrow();
  });

  test('the codec handles every truncation and every flipped bit of the corpus', () => {
    let count = 0;
    for (const bytes of exhaustive()) if (count++ % stride === seed % stride) check(bytes);
    expect(count).toBeGreaterThan(10_000);
  });

  test(`the codec handles messages from seed ${seed}`, () => {
    const random = new Random(seed);
    const most = runs(20_000);
    let count = 0;
    for (const bytes of endless(random)) {
      check(bytes);
      if (count++ % 10 === 0) {
        checkStream(
          stream(random),
          Array.from({ length: 5 }, () => random.below(80)),
          random.pick(sessions),
        );
      }
      if (count === most) break;
    }
    expect(count).toBe(most);
  });
});
