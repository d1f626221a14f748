import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, watch } from 'node:fs';
import { environment } from './command.ts';
import { identify, signal, type ProcessIdentity } from './owner.ts';
import { patience, until } from './until.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnOptions {
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Called once, as soon as the process exists. */
  readonly record: (identity: ProcessIdentity) => void;
}

/**
 * A process of the lab that runs until it is ended.
 *
 * Its output goes to a file instead of a pipe, and it leads its own session. So it never blocks on us, does not get our Ctrl-C, and stays
 * alive after us when the lab is kept.
 */
export class LabProcess {
  readonly logFile: string;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #identity: ProcessIdentity | undefined;
  readonly #command: string;

  constructor(argv: readonly string[], options: SpawnOptions) {
    const [file = '', ...rest] = argv;
    this.logFile = options.logFile;
    this.#command = argv.join(' ');
    const log = openSync(options.logFile, 'a');
    this.#child = spawn(file, rest, {
      cwd: options.cwd,
      env: environment(options.env),
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.exited = new Promise((resolve) => {
      this.#child.once('error', () => resolve({ code: 127, signal: null }));
      this.#child.once('exit', (code, by) => resolve({ code, signal: by }));
    });
    // A process that has already ended has no identity and needs none.
    this.#identity = this.#child.pid === undefined ? undefined : identify(this.#child.pid);
    if (this.#identity !== undefined) options.record(this.#identity);
    this.#child.unref();
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Returns the complete lines of stdout and stderr so far. */
  lines(): readonly string[] {
    return readFileSync(this.logFile, 'utf8').split('\n').slice(0, -1);
  }

  /** Calls back with each later line. Returns a function that ends this. */
  onLine(listener: (line: string) => void): () => void {
    let told = this.lines().length;
    const watcher = watch(this.logFile, { persistent: false }, () => {
      const lines = this.lines();
      const fresh = lines.slice(told);
      told = lines.length;
      for (const line of fresh) listener(line);
    });
    return () => watcher.close();
  }

  /** Resolves with the first line that matches, already printed or not. Rejects at once when the process ends without it. */
  async waitForLine(pattern: RegExp, timeoutMs = patience): Promise<string> {
    const found = await until(
      `a line like ${pattern} from ${this.#command}`,
      (note) => {
        const ended = !this.running;
        const lines = this.lines();
        note(lines.slice(-10));
        return lines.find((line) => pattern.test(line)) ?? (ended && endedWithout);
      },
      timeoutMs,
    );
    if (found === endedWithout)
      throw new Error(`${this.#command} ended without a line like ${pattern}: ${this.lines().slice(-20).join('\n')}`);
    return found;
  }

  kill(name: NodeJS.Signals = 'SIGTERM'): void {
    if (this.#identity !== undefined) signal(this.#identity, name);
  }

  /** Sends SIGTERM, and SIGKILL if the process has not ended in time. */
  async stop(timeoutMs = patience): Promise<Exit> {
    this.kill('SIGTERM');
    const impatience = setTimeout(() => this.kill('SIGKILL'), timeoutMs);
    try {
      // An unreferenced child does not keep this process alive. The timer does.
      return await this.exited;
    } finally {
      clearTimeout(impatience);
    }
  }
}

const endedWithout = Symbol('ended without');
