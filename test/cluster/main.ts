import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { resultsFile, setUps, storedResults, type SetUpName } from './e2e/results.ts';
import { runE2e } from './e2e/run.ts';
import { isExpectedToFail, shortList, wholeSuite } from './e2e/selection.ts';
import { cacheDirectory, minors } from './programs.ts';

const help = `npm run test:cluster -- [--short] [--set-up NAME] [--minor MINOR] [--focus EXPRESSION] [--save] [--only e2e|tests]

  Creates clusters with real kubelets and containers in network namespaces, runs the tests of test/cluster in them, and
  Kubernetes' own e2e tests of the network. Needs root. Everything takes some hours.

  --short              about ten minutes of Kubernetes' tests, in kube-proxy's place
  --set-up NAME        only this set-up: ${setUps.join(', ')}
  --minor MINOR        Kubernetes ${minors.join(', ')} (default ${minors[0]})
  --focus EXPRESSION   only Kubernetes' tests with this regular expression in their names
  --save               keeps the results for docs/reference/kubernetes-e2e.md
  --only e2e           only Kubernetes' tests
  --only tests         only the tests of test/cluster

Examples:
  npm run test:cluster -- --short
  npm run test:cluster -- --short --minor 1.35 --save
  npm run test:cluster -- --set-up beside-nftables --save
  npm run test:cluster -- --set-up in-place --focus 'session affinity'`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    'set-up': { type: 'string' },
    minor: { type: 'string', default: minors[0] },
    focus: { type: 'string' },
    save: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
if (values.help) {
  process.stdout.write(`${help}\n`);
  process.exit(0);
}
const minor = oneOf('--minor', values.minor, minors);
const only = values.only === undefined ? undefined : oneOf('--only', values.only, ['e2e', 'tests']);
const chosen = values['set-up'] === undefined ? undefined : oneOf('--set-up', values['set-up'], setUps);
const isPartial = values.short || chosen !== undefined || values.focus !== undefined;

const project = join(import.meta.dirname, '../..');
const { status } = spawnSync('sh', ['scripts/setup-cluster.sh', minor], { cwd: project, stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

let passed = 0;
let failed = 0;
const failures: string[] = [];
const interrupted = new AbortController();
// The first signal ends the tests that run, and keeps the results so far. The cluster ends with them.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => interrupted.abort());

if (only !== 'e2e' && (only === 'tests' || !isPartial)) await runOwnTests();
if (only !== 'tests') {
  const wanted = chosen !== undefined ? [chosen] : values.short ? (['in-place'] as const) : setUps;
  for (const setUp of wanted) if (!interrupted.signal.aborted) await runSetUp(setUp);
}
if (failures.length > 0) process.stdout.write(`\n== what failed\n${failures.join('\n')}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** Runs Kubernetes' tests in one set-up. A cluster that cannot be created counts as one failure. */
async function runSetUp(setUp: SetUpName): Promise<void> {
  const { short, focus, save } = values;
  const directory = join(cacheDirectory, 'e2e', `${setUp}-${minor}`);
  mkdirSync(directory, { recursive: true });
  // The page compares set-ups of the newest minor. Of the others it has the short list.
  const file = resultsFile(save ? storedResults : directory, setUp, short ? minor : undefined);
  const selections = short ? shortList() : wholeSuite(focus);
  process.stdout.write(`\n== Kubernetes ${minor}, ${setUp}\n`);
  try {
    const options = { setUp, minor, selections, directory, resultsFile: file, signal: interrupted.signal };
    const results = await runE2e(options, (line) => void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`));
    passed += results.filter(({ result }) => result === 'passed').length;
    const failedTests = results.filter(({ name, result }) => result === 'failed' && !isExpectedToFail(name, setUp));
    failed += failedTests.length;
    failures.push(...failedTests.map(({ name }) => `failed: ${setUp}: ${name}`));
    process.stdout.write(`results: ${file}\n`);
  } catch (error) {
    failed += 1;
    failures.push(`failed: ${setUp}: ${String(error)}`);
  }
}

/** Runs the tests of test/cluster, and adds their numbers. */
async function runOwnTests(): Promise<void> {
  const child = spawn('node', [join(project, 'scripts/test.ts'), 'cluster'], {
    stdio: ['inherit', 'pipe', 'inherit'],
    env: { ...process.env, HERALD_CLUSTER_MINOR: minor },
  });
  // It ends everything that it has started.
  interrupted.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  let last = '';
  child.stdout.on('data', (data: Buffer) => {
    process.stdout.write(data);
    last = `${last}${data.toString()}`.slice(-1000);
  });
  await new Promise((resolve) => child.once('close', resolve));
  const [, ofPassed, ofFailed] = /(\d+) passed, (\d+) failed\s*$/.exec(last) ?? [];
  passed += Number(ofPassed ?? 0);
  failed += Number(ofFailed ?? 1);
  if (ofFailed !== '0') failures.push('failed: tests of test/cluster, see above');
}

function oneOf<T extends string>(option: string, text: string, all: readonly T[]): T {
  const found = all.find((each) => each === text);
  if (found !== undefined) return found;
  process.stderr.write(`${option} ${text}: must be one of ${all.join(', ')}\n`);
  process.exit(64);
}
