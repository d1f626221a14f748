/**
 * `bin/herald` as a process. Each start costs half a second of processor time, so tests call `herald` of in-process.ts, which runs the same
 * program. These need a process:
 *
 * - cli.test.ts: one command line for each command, which proves that main.ts and bin/herald pass on words, output and exit status; signals,
 *   the lock of a directory, a reader that ends early, and folders whose mode root ignores.
 * - context/colour.test.ts: a terminal and a pipe as standard output.
 * - commands/import/import.test.ts: standard input.
 * - commands/completion/completion.test.ts: the words with which a shell asks for candidates.
 * - context/provider-modules.test.ts and commands/provider-module-claims.test.ts: a module that Node.js loads from its path, and that may keep
 *   the process from ending.
 * - stalled-requests.test.ts: signals while a request is not answered.
 * - commands/plan-aws.test.ts: the AWS SDK, which only main.ts loads.
 */
import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export const root = join(import.meta.dirname, '../../..');
const program = join(root, 'bin/herald');

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command that prints and ends. A command that does not end is killed and returns code -1. */
export function heraldProcess(...command: readonly string[]): Promise<Outcome> {
  return run(program, command);
}

/** Like `heraldProcess`, but with no privilege except owning files: root may read and write files whatever their modes. */
export function heraldProcessWithoutPrivileges(...command: readonly string[]): Promise<Outcome> {
  return process.getuid?.() === 0
    ? run('setpriv', ['--inh-caps=-all', '--bounding-set=-all', program, ...command])
    : heraldProcess(...command);
}

function run(file: string, command: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, command, { timeout: 100_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Makes a temporary directory, with a copy of examples/fabric if requested. */
export async function scratch(...examples: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'herald-cli-'));
  for (const file of examples) await cp(join(root, 'examples/fabric', file), join(directory, file));
  return directory;
}

export const discard = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/** A long-running command, with the lines of its log. */
export class Service {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #lines: Record<string, unknown>[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(...command: readonly string[]) {
    // bin/herald replaces itself with Node, so this is the process id of the program.
    this.#child = spawn(program, [...command, '--socket', 'none'], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#lines.push(JSON.parse(line) as Record<string, unknown>);
      for (const wake of this.#waiting) wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits for a log line that matches. The test's own timeout applies. */
  async line(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.#lines.find(fits);
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await promise;
      this.#waiting.delete(resolve);
    }
  }

  /** Sends the signal and resolves to the exit code, or null when the signal ended the process. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    const [code] = (await exit) as [number | null];
    return code;
  }
}
