import { describe, expect, test } from 'vitest';
import { savedCases } from '../../../fuzz/cases.ts';
import { corpus } from '../../../fuzz/corpus.ts';
import { endless, exhaustive, stream } from '../../../fuzz/generate.ts';
import { checkMessage, checkStream, sessions } from '../../../fuzz/oracle.ts';
import { Random } from '../../../fuzz/random.ts';
import { decodeMessage } from '../../../../src/bgp/wire/index.ts';
import { toHex } from '../hex.ts';

/** The seed goes with the date of the run, so that each run sees other messages; the failure names it. */
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
const milliseconds = 1_500;
/** Milliseconds after which a test is given up: far more than it takes, for a busy machine. */
const patience = 60_000;

/** The codec keeps its promises for these octets; otherwise they are in the message. */
function check(bytes: Uint8Array): void {
  try {
    checkMessage(bytes);
  } catch (error) {
    throw new Error(`FUZZ_SEED=${seed}: ${toHex(bytes)}`, { cause: error });
  }
}

/** `npm run fuzz` does the same for longer. */
describe('BGP-084 the codec is total, and what it decoded it encodes again', { timeout: patience }, () => {
  test('every message of the corpus is decoded', () => {
    for (const message of corpus) expect(sessions.some((session) => decodeMessage(message, session).ok)).toBe(true);
  });

  test.each(savedCases().map(({ name, bytes }) => [name, bytes] as const))('%s, found before', (_, bytes) => {
    expect(() => check(bytes)).not.toThrow();
  });

  test('every truncation and every flipped bit of the corpus', () => {
    let count = 0;
    for (const bytes of exhaustive()) {
      check(bytes);
      count++;
    }
    expect(count).toBeGreaterThan(10_000);
  });

  test(`messages from seed ${seed}`, () => {
    const random = new Random(seed);
    const end = performance.now() + milliseconds;
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
      if (count % 100 === 0 && performance.now() > end) break;
    }
    expect(count).toBeGreaterThan(99);
  });
});
