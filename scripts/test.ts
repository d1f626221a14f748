/**
 * Runs the test tiers and closes with one line, "N passed, N failed", which counts every test and every static check.
 *
 *   node scripts/test.ts quick   what `npm test` runs: types, build, lint, format, import graph, unit and property tests, a lab smoke run
 *   node scripts/test.ts model   random sequences of objects and faults: the kernel's tables against a plan from nothing, a million operations on addresses
 *   node scripts/test.ts lab     every lab suite, one after the other
 *   node scripts/test.ts peers   our speaker against BIRD, FRR, GoBGP and OpenBGPD
 *   node scripts/test.ts aws     the AWS provider against moto, an emulator, over HTTP on loopback
 *   node scripts/test.ts conformance   against kube-apiserver, and beside kube-proxy
 *   node scripts/test.ts docs    every command of the tutorial and the how-to pages, in namespaces and against kube-apiserver
 *   node scripts/test.ts quick -t 'BGP-'   further arguments: only vitest, with them; by name (-t) the tests are listed
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Outcome {
  readonly passed: number;
  readonly failed: number;
}

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const environment = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };

const tiers: Readonly<Record<string, () => Outcome[]>> = {
  quick: () => [
    check('types', 'tsc', ['-p', '.']),
    build(),
    check('lint', 'oxlint', ['--type-aware', '--deny-warnings']),
    check('format', 'oxfmt', ['--check', 'src', 'providers', 'test', 'scripts']),
    vitest('unit and property tests', ['--project', 'unit']),
    // The same each time, as whoever changes something else must not be held up by what a long run finds.
    vitest('model test, a short run', ['--project', 'model'], {
      MODEL_SEED: '2',
      MODEL_RUNS: '3',
      MODEL_OPERATIONS: '100000',
      ...process.env,
    }),
    vitest('lab smoke run', ['--project', 'lab', 'test/lab/smoke.test.ts']),
  ],
  aws: () => [vitest('aws', ['--project', 'aws'])],
  conformance: () => [vitest('conformance', ['--project', 'conformance'])],
  docs: () => [vitest('docs', ['--project', 'docs'])],
  model: () => [vitest('model test', ['--project', 'model'], { MODEL_RUNS: '150', MODEL_OPERATIONS: '1000000', ...process.env })],
  peers: () => [vitest('peers', ['--project', 'peers'])],
  lab: () => [vitest('lab suites', ['--project', 'lab'])],
};

const [tier = 'quick', ...vitestArguments] = process.argv.slice(2);
const run = tiers[tier];
if (run === undefined) {
  console.error(`unknown tier ${tier}: one of ${Object.keys(tiers).join(', ')}`);
  process.exit(2);
}
const outcomes = vitestArguments.length > 0 ? [vitest(vitestArguments.join(' '), inProject(vitestArguments))] : run();
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** Where no file is named, only tests of the tier: a name alone would also find those of the labs, which need minutes. */
function inProject(args: readonly string[]): readonly string[] {
  const chosen = args.some((arg) => arg.startsWith('test/') || arg.startsWith('--project'));
  return chosen ? args : ['--project', tier === 'quick' ? 'unit' : tier, ...args];
}

/** One static check counts as one test. */
function check(title: string, command: string, args: readonly string[]): Outcome {
  const { status } = execute(title, command, args);
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** What `npm run build` makes, made aside: the tree stays without dist/, from which bin/herald would run. */
function build(): Outcome {
  const folder = mkdtempSync(join(tmpdir(), 'herald-build-'));
  try {
    return check('build', 'tsc', ['-p', 'tsconfig.build.json', '--outDir', folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A run that ends badly without naming a failed test (a crash, a file that does not load) counts as one failure. */
function vitest(title: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Outcome {
  const folder = mkdtempSync(join(tmpdir(), 'herald-test-'));
  try {
    const report = join(folder, 'report.json');
    const words = ['run', ...args, ...listing(args), '--reporter=json', `--outputFile.json=${report}`];
    const { status } = execute(title, 'vitest', words, variables);
    const { numPassedTests, numFailedTests } = readReport(report);
    return { passed: numPassedTests, failed: status === 0 ? numFailedTests : Math.max(1, numFailedTests) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whoever asks for tests by name wants to see which they are, and not the thousand others. */
function listing(args: readonly string[]): readonly string[] {
  const byName = args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern'));
  return byName ? ['--reporter=verbose', '--hideSkippedTests'] : ['--reporter=default'];
}

function readReport(file: string): { numPassedTests: number; numFailedTests: number } {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { numPassedTests: number; numFailedTests: number };
  } catch {
    return { numPassedTests: 0, numFailedTests: 1 };
  }
}

function execute(title: string, command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): { status: number | null } {
  console.log(`\n== ${title}: ${command} ${args.filter((arg) => !arg.startsWith('--outputFile')).join(' ')}`);
  const { status } = spawnSync(join(bin, command), args, { cwd: root, env: { ...variables, ...environment }, stdio: 'inherit' });
  return { status };
}
