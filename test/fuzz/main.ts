/**
 * Fuzzes the BGP codec. For any octets it must return a message or a fault, in time that grows linearly with their number, and a decoded
 * message must encode to the same content. oracle.ts has the checks, generate.ts the messages.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setImmediate } from 'node:timers/promises';
import { toHex } from '../unit/bgp/hex.ts';
import { saveCase, savedCases } from './cases.ts';
import { Coverage, formatCoverage } from './coverage.ts';

const help = `npm run fuzz -- [--seconds N] [--seed N]

  --seconds N   generates messages for N seconds, after every truncation and bit flip of the corpus (default 600)
  --seed N      repeats the run with this seed (default: a random seed, which is printed)

Prints the coverage of src/bgp/wire at the end. The exit status is 1 when the codec failed for a message. Such a message is
printed as hex and saved in test/fuzz/cases, where the unit tests run it from then on.`;

/** Milliseconds allowed for one message: far more than it needs, so that a busy machine does not look like a slow codec. */
const slowMilliseconds = 500;
/** Number of different failures after which the run stops. */
const maximumFailures = 10;

const { seconds, seed } = options();

const coverage = new Coverage(join(import.meta.dirname, '../../src/bgp/wire'));
coverage.start();
// Imported here, because the engine counts only modules loaded after `coverage.start()`.
const [{ checkMessage, checkStream, sessions }, { endless, exhaustive, stream }, { Random }] = await Promise.all([
  import('./oracle.ts'),
  import('./generate.ts'),
  import('./random.ts'),
]);

console.log(`seed ${seed}, ${seconds} s`);
const failures = new Map<string, string>();
let stopped = false;
process.once('SIGINT', () => (stopped = true));
let count = 0;

for (const { bytes } of savedCases()) attempt(bytes, () => checkMessage(bytes));
for (const bytes of exhaustive()) {
  attempt(bytes, () => checkMessage(bytes));
  if (count % 2_000 === 0) await setImmediate();
  if (isOver()) break;
}
console.log(`${count} messages: every truncation and every flipped bit of the corpus`);

const random = new Random(seed);
const begin = performance.now();
const end = begin + seconds * 1_000;
const before = count;
let lastReport = begin;
for (const bytes of endless(random)) {
  if (performance.now() >= end || isOver()) break;
  attempt(bytes, () => checkMessage(bytes));
  if (count % 10 === 0) {
    const several = stream(random);
    const cuts = Array.from({ length: 5 }, () => random.below(80));
    const session = random.pick(sessions);
    attempt(several, () => checkStream(several, cuts, session));
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
process.exitCode = failures.size > 0 ? 1 : 0;

/** Parses the options; exits for --help and for invalid options. */
function options(): { readonly seconds: number; readonly seed: number } {
  try {
    const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } } });
    if (values.help === true) {
      console.log(help);
      process.exit(0);
    }
    const seconds = Number(values.seconds ?? 600);
    const seed = Number(values.seed ?? randomInt(2 ** 32));
    if (!(seconds >= 0) || !Number.isSafeInteger(seed)) throw new TypeError('--seconds and --seed are numbers');
    return { seconds, seed };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    process.exit(2);
  }
}

function isOver(): boolean {
  return stopped || failures.size >= maximumFailures;
}

/** Runs a check and reports each different failure once. Failures with the same message are the same defect. */
function attempt(bytes: Uint8Array, check: () => void): void {
  count++;
  const problem = problemOf(check);
  if (problem === undefined || failures.has(problem)) return;
  failures.set(problem, toHex(bytes));
  const file = saveCase(bytes, `seed ${seed}: ${problem}`);
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
