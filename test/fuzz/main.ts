/**
 * Fuzzes the codecs of BGP and of ARP and NDP. For any octets a codec must return a message or a fault, in time that grows linearly with their
 * number, and a decoded message must encode to the same content. `oracle.ts` of each codec has the checks, `generate.ts` the input.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setImmediate } from 'node:timers/promises';
import { toHex } from '../../src/bgp/test/hex.ts';
import { saveCase, savedCases } from './cases.ts';
import { codecNames, sourcesOf, type CodecName, type FuzzedCodec } from './codec.ts';
import { Coverage, formatCoverage } from './coverage.ts';

const help = `npm run fuzz -- [--codec NAME] [--seconds N] [--seed N]

  --codec NAME  bgp or l2 (ARP and NDP); default: both, one after the other
  --seconds N   generates input for N seconds, shared by the codecs, after every truncation and bit flip of the corpus (default 600)
  --seed N      repeats the run with this seed (default: a random seed, which is printed)

Prints the coverage of the sources of each codec at its end. The exit status is 1 when a codec failed for some input. Such input is
printed as hex and saved in test/fuzz/cases, where the unit tests run it from then on.`;

/** Milliseconds allowed for one message: far more than it needs, so that a busy machine does not look like a slow codec. */
const slowMilliseconds = 500;
/** Number of different failures after which the run stops. */
const maximumFailures = 10;

const { codecs, seconds, seed } = options();
const failures = new Map<string, string>();
let stopped = false;
process.once('SIGINT', () => (stopped = true));
for (const name of codecs) await fuzz(name, seconds / codecs.length);
process.exitCode = failures.size > 0 ? 1 : 0;

async function fuzz(name: CodecName, share: number): Promise<void> {
  const coverage = new Coverage(join(import.meta.dirname, '../..', sourcesOf[name]));
  coverage.start();
  // Imported here, because the engine counts only modules loaded after `coverage.start()`.
  const [{ codec }, { Random }] = await Promise.all([
    import(`./${name}/target.ts`) as Promise<{ readonly codec: FuzzedCodec }>,
    import('./random.ts'),
  ]);

  console.log(`${name}: seed ${seed}, ${share} s`);
  let count = 0;
  const attempt = (bytes: Uint8Array, check: () => void): void => {
    count++;
    judge(name, bytes, check);
  };
  for (const { bytes } of savedCases(name)) attempt(bytes, () => codec.check(bytes));
  for (const bytes of codec.exhaustive()) {
    attempt(bytes, () => codec.check(bytes));
    if (count % 2_000 === 0) await setImmediate();
    if (isOver()) break;
  }
  console.log(`${count} messages: every truncation and every flipped bit of the corpus`);

  const random = new Random(seed);
  const begin = performance.now();
  const end = begin + share * 1_000;
  const before = count;
  let lastReport = begin;
  for (const bytes of codec.endless(random)) {
    if (performance.now() >= end || isOver()) break;
    attempt(bytes, () => codec.check(bytes));
    if (count % codec.checksPerSequence === 0) {
      const sequence = codec.sequence(random);
      attempt(sequence.bytes, () => sequence.check());
    }
    if (count % 2_000 < 2) await setImmediate(); // lets SIGINT be handled
    if (performance.now() - lastReport > 30_000) {
      lastReport = performance.now();
      console.log(`${count} messages, ${failures.size} failures`);
    }
  }
  const rate = (count - before) / Math.max(0.001, (performance.now() - begin) / 1_000);
  console.log(`${count} messages, ${Math.round(rate)} a second; seed ${seed}; ${failures.size} failures\n`);
  console.log(formatCoverage(coverage.report()));
  coverage.stop();
}

/** Parses the options; exits for --help and for invalid options. */
function options(): { readonly codecs: readonly CodecName[]; readonly seconds: number; readonly seed: number } {
  try {
    const { values } = parseArgs({
      options: { codec: { type: 'string' }, seconds: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } },
    });
    if (values.help === true) {
      console.log(help);
      process.exit(0);
    }
    const seconds = Number(values.seconds ?? 600);
    const seed = Number(values.seed ?? randomInt(2 ** 32));
    if (!(seconds >= 0) || !Number.isSafeInteger(seed)) throw new TypeError('--seconds and --seed are numbers');
    const codecs = codecNames.filter((name) => values.codec === undefined || values.codec === name);
    if (codecs.length === 0) throw new TypeError(`--codec is one of ${codecNames.join(', ')}`);
    return { codecs, seconds, seed };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    process.exit(2);
  }
}

function isOver(): boolean {
  return stopped || failures.size >= maximumFailures;
}

/** Runs a check and reports each different failure once. Failures with the same message are the same defect. */
function judge(name: CodecName, bytes: Uint8Array, check: () => void): void {
  const problem = problemOf(check);
  if (problem === undefined || failures.has(problem)) return;
  failures.set(problem, toHex(bytes));
  const file = saveCase(name, bytes, `seed ${seed}: ${problem}`);
  console.error(`FAILED with seed ${seed}: ${problem}\n${toHex(bytes)}\nsaved as ${file}\n`);
}

/**
 * Returns the failure of a check, or undefined. A message is slow when it is slow three times in a row; once may be the machine's fault.
 */
function problemOf(check: () => void): string | undefined {
  try {
    for (let i = 0; i < 3; i++) {
      const start = performance.now();
      check();
      if (performance.now() - start < slowMilliseconds) return undefined;
    }
    return `more than ${slowMilliseconds} ms for one message`;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message.split('\n')[0] ?? ''}` : String(error);
  }
}
