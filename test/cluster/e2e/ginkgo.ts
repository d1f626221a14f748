import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { environment } from '../../lab/command.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { programPath } from '../../conformance/programs.ts';
import { clusterProgram, type Minor } from '../programs.ts';
import type { Selection } from './selection.ts';
import { resultsIn } from './report.ts';
import type { TestResult } from './results.ts';

export interface GinkgoRun {
  readonly minor: Minor;
  readonly kubeconfig: string;
  /** The network namespace of the tests' own connections: a client outside the cluster. */
  readonly namespace: string;
  /** Gets the log and the report. */
  readonly directory: string;
  /** Interrupts the tests. Those that finished keep their results. */
  readonly signal?: AbortSignal;
}

/** How often the number of tests that ended is printed. */
const interval = 60_000;

/** Runs tests of Kubernetes against a cluster, and resolves with their results. Rejects when Ginkgo writes no report. */
export async function runGinkgo(selection: Selection, options: GinkgoRun, progress: (line: string) => void): Promise<TestResult[]> {
  const { minor, namespace, directory, kubeconfig, signal } = options;
  mkdirSync(directory, { recursive: true });
  const report = join(directory, `${selection.name}.json`);
  rmSync(report, { force: true });
  const log = join(directory, `${selection.name}.log`);
  const argv = [
    clusterProgram('ginkgo', minor),
    'run',
    `--procs=${selection.processes}`,
    '--no-color',
    '--timeout=4h',
    `--output-dir=${directory}`,
    `--json-report=${selection.name}.json`,
    `--focus=${selection.focus}`,
    ...(selection.skip === '' ? [] : [`--skip=${selection.skip}`]),
    clusterProgram('e2e.test', minor),
    '--',
    `--kubeconfig=${kubeconfig}`,
    '--provider=local',
    `--num-nodes=${selection.nodes}`,
    `--kubectl-path=${programPath('kubectl')}`,
    '--allowed-not-ready-nodes=0',
    '--minStartupPods=0',
    '--dump-logs-on-failure=false',
    '--disable-log-dump',
    '--system-pods-startup-timeout=1m',
  ];
  progress(`${selection.name}: log ${log}`);
  await execute(inNamespace(namespace, argv), { directory, log, signal }, (done) => progress(`${selection.name}: ${done}`));
  if (!existsSync(report)) throw new Error(`Ginkgo wrote no report: see ${log}`);
  return resultsIn(readFileSync(report, 'utf8'));
}

interface Execution {
  readonly directory: string;
  readonly log: string;
  readonly signal: AbortSignal | undefined;
}

/** Resolves when the process has ended, whatever its status: failed tests are in the report. */
async function execute(argv: readonly string[], { directory, log, signal }: Execution, progress: (done: string) => void): Promise<void> {
  const [file = '', ...rest] = argv;
  const output = createWriteStream(log);
  // A process group of its own, because each of the processes that run tests must get the interrupt.
  const child = spawn(file, rest, { cwd: directory, env: environment(), stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const counts = { ended: 0, failed: 0 };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      const text = data.toString();
      counts.ended += text.split('•').length - 1;
      counts.failed += text.split('• [FAILED]').length - 1;
      output.write(data);
    });
  const print = (): void => progress(`${counts.ended} tests ended, ${counts.failed} failed`);
  const timer = setInterval(print, interval);
  const interrupt = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGINT'));
  signal?.addEventListener('abort', interrupt);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve());
    });
  } finally {
    clearInterval(timer);
    signal?.removeEventListener('abort', interrupt);
    output.end();
  }
  print();
}
