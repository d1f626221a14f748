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
 * In a tier of real parts, a test that fails is run a second time with its file, and told as unsteady where it passes then.
 *
 *   node scripts/test.ts quick -t 'BGP-'   further arguments: only vitest, with them; by name (-t) the tests are listed
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { afterSecondRun, recap, verdictOf, type Report } from './test-report.ts';

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** What failed and why, for the end of the run. */
  readonly lines: readonly string[];
}

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const environment = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };

const tiers: Readonly<Record<string, () => Outcome[]>> = {
  quick: () => [
    check('types', 'tsc', ['-p', '.']),
    build(),
    check('lint', 'oxlint', ['--type-aware', '--deny-warnings']),
    check('generated files', 'node', ['scripts/generate.ts', '--check']),
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
  aws: () => [realParts('aws', 'aws')],
  conformance: () => [realParts('conformance', 'conformance')],
  docs: () => [realParts('docs', 'docs')],
  model: () => [vitest('model test', ['--project', 'model'], { MODEL_RUNS: '150', MODEL_OPERATIONS: '1000000', ...process.env })],
  peers: () => [realParts('peers', 'peers')],
  lab: () => [realParts('lab suites', 'lab')],
};

/** More files than this with a failure are no matter of a busy machine: they are not run again. */
const mostFilesAgain = 3;

const [tier = 'quick', ...vitestArguments] = process.argv.slice(2);
const run = tiers[tier];
if (run === undefined) {
  console.error(`unknown tier ${tier}: one of ${Object.keys(tiers).join(', ')}`);
  process.exit(2);
}
const outcomes = vitestArguments.length > 0 ? [vitest(vitestArguments.join(' '), inProject(vitestArguments))] : run();
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
const lines = outcomes.flatMap((outcome) => outcome.lines);
if (lines.length > 0) console.log(['', '== what failed', ...lines].join('\n'));
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
  return status === 0 ? { passed: 1, failed: 0, lines: [] } : { passed: 0, failed: 1, lines: [`failed: ${title}`] };
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

/** A run that ends badly without naming a failed test (a crash, an error that nobody caught) counts as one failure. */
function vitest(title: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Outcome {
  return outcomeOf(title, runOnce(title, args, variables));
}

/** The suites of a project that works with routers, kernels or API servers: what fails is run a second time. */
function realParts(title: string, project: string): Outcome {
  const first = runOnce(title, ['--project', project]);
  const files = [...new Set(first.verdict.failed.map(({ file }) => file))];
  if (files.length === 0 || files.length > mostFilesAgain) return outcomeOf(title, first);
  const second = runOnce(`${title}: what failed, once more`, ['--project', project, ...files.map(name)]);
  const verdict = afterSecondRun(first.verdict, second.report);
  return outcomeOf(title, { verdict, status: second.verdict.failed.length > 0 ? 0 : second.status });
}

function outcomeOf(title: string, { verdict, status }: Pick<Run, 'verdict' | 'status'>): Outcome {
  const lines = [...recap(verdict, name)];
  if (status === 0 || verdict.failed.length > 0) return { passed: verdict.passed, failed: verdict.failed.length, lines };
  return { passed: verdict.passed, failed: 1, lines: [...lines, `failed: ${title}: ended with ${status}, and no test says why`] };
}

interface Run {
  readonly report: Report | undefined;
  readonly verdict: ReturnType<typeof verdictOf>;
  readonly status: number | null;
}

function runOnce(title: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Run {
  const folder = mkdtempSync(join(tmpdir(), 'herald-test-'));
  try {
    const file = join(folder, 'report.json');
    const words = ['run', ...args, ...listing(args), '--reporter=json', `--outputFile.json=${file}`];
    const { status } = execute(title, 'vitest', words, variables);
    const report = readReport(file);
    return { report, verdict: verdictOf(report ?? { testResults: [] }), status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a file is called in what is printed, and on the command line. */
function name(file: string): string {
  return relative(root, file);
}

/** Whoever asks for tests by name wants to see which they are, and not the thousand others. */
function listing(args: readonly string[]): readonly string[] {
  const byName = args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern'));
  return byName ? ['--reporter=verbose', '--hideSkippedTests'] : ['--reporter=default'];
}

/** Undefined where vitest ended before it wrote one. */
function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

function execute(title: string, command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): { status: number | null } {
  console.log(`\n== ${title}: ${command} ${args.filter((arg) => !arg.startsWith('--outputFile')).join(' ')}`);
  const { status } = spawnSync(join(bin, command), args, { cwd: root, env: { ...variables, ...environment }, stdio: 'inherit' });
  return { status };
}
