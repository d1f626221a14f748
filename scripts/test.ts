/**
 * Runs a tier of tests and ends with the line "N passed, N failed", which counts every test and every static check.
 *
 *   node scripts/test.ts quick   `npm test`: unit and property tests beside types, lint, generated files and format; a short model test, a lab smoke run
 *   node scripts/test.ts model   random sequences of objects and faults: the kernel's tables against a fresh plan, a million operations on addresses
 *   node scripts/test.ts lab     every lab suite, several files at a time
 *   node scripts/test.ts peers   Herald's speaker against BIRD and FRR; with TIER=full also GoBGP, OpenBGPD and newer versions
 *   node scripts/test.ts aws     the AWS provider against moto, an emulator, over HTTP on loopback
 *   node scripts/test.ts conformance   against kube-apiserver, and beside kube-proxy
 *   node scripts/test.ts cluster   in clusters with kubelets and containers; npm run test:cluster also runs Kubernetes' e2e tests
 *   node scripts/test.ts release a release, built twice and compared; its image, chart, manifests and packages
 *   node scripts/test.ts docs    every command of the tutorial and the how-to pages, in namespaces and against kube-apiserver
 *   node scripts/test.ts console   the page of the console in Chromium, over the lab with FRR
 *
 * The tiers peers, lab, aws, conformance, cluster, docs and console run a failed test a second time with its file. A test that passes then is named as
 * unsteady.
 *
 *   node scripts/test.ts quick -t 'BGP-'   passes further arguments to vitest and runs nothing else; with -t the tests are listed
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { endTogether } from '../test/lab/ends-together.ts';
import { leftOut } from '../test/peers/tier.ts';
import { afterSecondRun, recap, verdictOf, type Report } from './test-report.ts';

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** Failures with their messages, for the end of the run. */
  readonly lines: readonly string[];
}

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
endTogether();
const environment: NodeJS.ProcessEnv = {
  // All processes of the run take their examples from one seed.
  PROPERTY_SEED: String(randomInt(2 ** 31)),
  ...process.env,
  PATH: `${bin}:${process.env['PATH'] ?? ''}`,
};

const tiers: Readonly<Record<string, () => readonly (() => Promise<Outcome>)[]>> = {
  quick: () => [
    // Beside each other, because each leaves the processors idle at times.
    () => together(unitTests, otherQuickTests),
  ],
  aws: () => [() => withRealSystems('aws', 'aws')],
  conformance: () => [() => withRealSystems('conformance', 'conformance')],
  cluster: () => [() => withRealSystems('cluster', 'cluster')],
  docs: () => [() => withRealSystems('docs', 'docs')],
  console: () => [() => withRealSystems('console', 'console')],
  release: () => [() => vitest('release', ['--project', 'release'])],
  model: () => [
    () => vitest('model test', ['--project', 'model'], { variables: { MODEL_RUNS: '150', MODEL_OPERATIONS: '1000000', ...process.env } }),
  ],
  peers: () => [
    () => {
      if (leftOut.length > 0) console.log(`left out without TIER=full: ${leftOut.join(' ')}`);
      return withRealSystems('peers', 'peers');
    },
  ],
  lab: () => [() => withRealSystems('lab suites', 'lab')],
};

const shortModel = { MODEL_SEED: '2', MODEL_RUNS: '3', MODEL_OPERATIONS: process.env['TIER'] === 'full' ? '100000' : '10000' };
const formatted = ['console/src', 'console/test', 'console/bench', 'src', 'providers', 'test', 'scripts', 'docs/.vitepress'];

/** When more files than this fail, a busy machine is not the cause, so they are not run again. */
const mostFilesRepeated = 5;

const [tier = 'quick', ...vitestArguments] = process.argv.slice(2);
const run = tiers[tier];
if (run === undefined) {
  console.error(`unknown tier ${tier}: one of ${Object.keys(tiers).join(', ')}`);
  process.exit(2);
}
const chosen = vitestArguments.length > 0 ? [() => vitest(vitestArguments.join(' '), inProject(vitestArguments))] : run();
const outcomes: Outcome[] = [];
const share = process.env['TIER'] === 'full' ? 'all examples' : 'a tenth of the examples, TIER=full for all';
console.log(`property tests: PROPERTY_SEED=${environment['PROPERTY_SEED']}, ${share}`);
for (const one of chosen) outcomes.push(await one());
const { passed, failed, lines } = sumOf(outcomes);
if (lines.length > 0) console.log(['', '== what failed', ...lines].join('\n'));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** Runs both, and resolves to the sum of their outcomes. */
async function together(...runs: readonly (() => Promise<Outcome>)[]): Promise<Outcome> {
  return sumOf(await Promise.all(runs.map((run) => run())));
}

function unitTests(): Promise<Outcome> {
  return vitest('unit and property tests', ['--project', 'unit*']);
}

/** Runs the static checks and two short suites one after the other, and prints what each printed when it has ended. */
async function otherQuickTests(): Promise<Outcome> {
  const outcomes = [
    // With declarations, so that a type that a library cannot export is an error, as in the build.
    await check('types', 'tsc', ['-p', '.', '--declaration']),
    await check('types of the console', 'tsc', ['-p', 'console']),
    await check('lint', 'oxlint', ['--type-aware', '--deny-warnings']),
    await check('generated files', 'node', ['scripts/generate.ts', '--check']),
    await check('format', 'oxfmt', ['--check', ...formatted]),
    await vitest('lab smoke run', ['--project', 'lab', 'test/lab/smoke.test.ts'], { output: 'at its end' }),
    // A fixed seed, so that every run is the same. New sequences belong in the long run, where a find does not block an unrelated change.
    await vitest('model test, a short run', ['--project', 'model'], { variables: { ...shortModel, ...process.env }, output: 'at its end' }),
  ];
  return sumOf(outcomes);
}

function sumOf(outcomes: readonly Outcome[]): Outcome {
  return {
    passed: outcomes.reduce((sum, outcome) => sum + outcome.passed, 0),
    failed: outcomes.reduce((sum, outcome) => sum + outcome.failed, 0),
    lines: outcomes.flatMap((outcome) => outcome.lines),
  };
}

/** Adds the project of the tier when the arguments name no file. A title alone would also select lab tests, which take minutes. */
function inProject(args: readonly string[]): readonly string[] {
  const chosen = args.some((arg) => /^((test|src|providers|console)\/|--project)/.test(arg));
  return chosen ? args : ['--project', tier === 'quick' ? 'unit*' : tier, ...args];
}

/** Runs a static check, which counts as one test. */
async function check(title: string, command: string, args: readonly string[]): Promise<Outcome> {
  const status = await execute(title, command, args, { output: 'at its end' });
  return status === 0 ? { passed: 1, failed: 0, lines: [] } : { passed: 0, failed: 1, lines: [`failed: ${title}`] };
}

/** Runs vitest once. A run that fails without a failed test (a crash, an uncaught error) counts as one failure. */
async function vitest(title: string, args: readonly string[], execution: Execution = {}): Promise<Outcome> {
  return outcomeOf(title, await runOnce(title, args, execution));
}

/** Runs a project with real routers, kernels or API servers, and its failed files a second time, one after the other. */
async function withRealSystems(title: string, project: string): Promise<Outcome> {
  const first = await runOnce(title, ['--project', project]);
  const files = [...new Set(first.verdict.failed.map(({ file }) => file))];
  if (files.length === 0 || files.length > mostFilesRepeated) return outcomeOf(title, first);
  const second = await runOnce(`${title}: failed files, second run`, ['--project', project, '--no-file-parallelism', ...files.map(name)]);
  const verdict = afterSecondRun(first.verdict, second.report);
  return outcomeOf(title, { verdict, status: second.verdict.failed.length > 0 ? 0 : second.status });
}

function outcomeOf(title: string, { verdict, status }: Pick<Run, 'verdict' | 'status'>): Outcome {
  const lines = [...recap(verdict, name)];
  if (status === 0 || verdict.failed.length > 0) return { passed: verdict.passed, failed: verdict.failed.length, lines };
  return { passed: verdict.passed, failed: 1, lines: [...lines, `failed: ${title}: ended with status ${status} without a failed test`] };
}

interface Run {
  readonly report: Report | undefined;
  readonly verdict: ReturnType<typeof verdictOf>;
  readonly status: number | null;
}

async function runOnce(title: string, args: readonly string[], execution: Execution = {}): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-test-'));
  try {
    const file = join(folder, 'report.json');
    const words = ['run', ...args, ...listing(args), '--reporter=json', `--outputFile.json=${file}`];
    const status = await execute(title, 'vitest', words, execution);
    const report = readReport(file);
    return { report, verdict: verdictOf(report ?? { testResults: [] }), status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the path of a file from the root of the repository. */
function name(file: string): string {
  return relative(root, file);
}

/** Returns the reporter: tests that are selected by title are listed, and the skipped ones are hidden. */
function listing(args: readonly string[]): readonly string[] {
  const byName = args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern'));
  return byName ? ['--reporter=verbose', '--hideSkippedTests'] : ['--reporter=default'];
}

/** Returns undefined when vitest ended before it wrote a report. */
function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

interface Execution {
  readonly variables?: NodeJS.ProcessEnv;
  /** `at its end` for a command that runs beside another one: the lines of both would mix. */
  readonly output?: 'at once' | 'at its end';
}

/** Resolves to the exit status. Null when a signal ended the command. */
async function execute(title: string, command: string, args: readonly string[], execution: Execution = {}): Promise<number | null> {
  const { variables = {}, output = 'at once' } = execution;
  const opening = `\n== ${title}: ${command} ${args.filter((arg) => !arg.startsWith('--outputFile')).join(' ')}`;
  if (output === 'at once') console.log(opening);
  const child = spawn(join(bin, command), args, {
    cwd: root,
    env: { ...variables, ...environment },
    stdio: output === 'at once' ? 'inherit' : 'pipe',
  });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
  const [status] = (await once(child, 'close')) as [number | null];
  if (output === 'at its end') console.log(`${opening}\n${Buffer.concat(printed).toString('utf8').trimEnd()}`);
  return status;
}
