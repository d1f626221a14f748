import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../lab/command.ts';
import { until } from '../lab/until.ts';

const longestWait = 120_000;

export interface BlockResult {
  /** The exit status. 128 and more: the block was ended by a signal. */
  readonly status: number;
  /** Standard output and standard error, mixed as on a terminal. */
  readonly printed: string;
}

export interface ShellOptions {
  /** The directory where blocks begin and leave their files. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Words before every command line: `ip netns exec NAME`. */
  readonly entrance: readonly string[];
}

/**
 * The terminal of a reader. Runs `sh -eu` for each block with the variables and the working directory of the blocks before. Background
 * processes of a block run until `close`.
 */
export class Shell {
  readonly #options: ShellOptions;
  readonly #state: string;
  /** An environment variable that marks every process started here, so that `close` finds also those that left their parent. */
  readonly #mark = `HERALD_DOCS_SHELL=${randomBytes(8).toString('hex')}`;
  #blocks = 0;

  constructor(options: ShellOptions) {
    this.#options = options;
    this.#state = join(options.directory, '.shell');
    mkdirSync(this.#state, { recursive: true });
    writeFileSync(join(this.#state, 'variables'), '');
  }

  /** Runs a block to its end. */
  async run(script: string): Promise<BlockResult> {
    return this.#start(script).ended;
  }

  /** Runs a block until `enough` accepts its output, then sends Ctrl-C. */
  async runUntil(script: string, enough: (printed: string) => boolean): Promise<BlockResult> {
    const block = this.#start(script);
    let over = false;
    void block.ended.then(() => (over = true));
    await until('the expected output is printed', (note) => over || enough(note(block.printed())), longestWait).catch(() => undefined);
    // dash loses a signal that arrives while it starts a program, so Ctrl-C is repeated.
    for (;;) {
      block.signal('SIGINT');
      const ended = await Promise.race([block.ended, sleep(1000)]);
      if (ended !== undefined) return ended;
    }
  }

  /** Writes a file below the working directory of the blocks before. */
  writeFile(name: string, text: string): void {
    const exported = readFileSync(join(this.#state, 'variables'), 'utf8');
    const working = /^export PWD='(.*)'$/m.exec(exported)?.[1] ?? this.#options.directory;
    const path = join(working, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Kills the background processes. */
  async close(): Promise<void> {
    await until(
      'background processes have ended',
      () => {
        const running = this.#running();
        for (const pid of running) kill(pid, 'SIGKILL');
        return running.length === 0;
      },
      60_000,
    );
  }

  #start(script: string): { ended: Promise<BlockResult>; printed: () => string; signal: (name: NodeJS.Signals) => void } {
    const { directory, variables, entrance } = this.#options;
    const block = join(this.#state, `block-${++this.#blocks}`);
    const kept = join(this.#state, 'variables');
    // Variables that a block assigns are exported (-a) and saved at its end, however it ends.
    const begin = `set +u; . '${kept}'; cd "\${PWD:-.}"; set -u; trap "export -p > '${kept}'" EXIT\n`;
    writeFileSync(block, `${begin}${script}\n`);
    const log = openSync(`${block}.log`, 'w');
    const argv: readonly string[] = [...entrance, 'sh', '-aeu', block];
    const [file = '', ...rest] = argv;
    const [markName = '', markValue = ''] = this.#mark.split('=');
    const child = spawn(file, rest, {
      cwd: directory,
      env: environment({ ...variables, [markName]: markValue }),
      stdio: ['ignore', log, log],
      // A process group of its own, as from a terminal: Ctrl-C goes to the whole group.
      detached: true,
    });
    closeSync(log);
    const printed = (): string => (existsSync(`${block}.log`) ? readFileSync(`${block}.log`, 'utf8') : '');
    const signal = (name: NodeJS.Signals): void => kill(-(child.pid ?? 0), name);
    const killTimer = setTimeout(() => signal('SIGKILL'), 2 * longestWait);
    const ended = new Promise<BlockResult>((resolve) => {
      child.once('error', (error) => resolve({ status: 127, printed: error.message }));
      child.once('exit', (code, by) => resolve({ status: code ?? (by === 'SIGINT' ? 130 : 137), printed: printed() }));
    }).finally(() => clearTimeout(killTimer));
    return { ended, printed, signal };
  }

  #running(): readonly number[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
    return pids.map(Number).filter((pid) => environmentOf(pid).includes(this.#mark));
  }
}

/** Repeats an attempt until it is good or the time is over. Resolves to the last result. */
export async function repeatedly(attempt: () => Promise<BlockResult>, good: (ended: BlockResult) => boolean): Promise<BlockResult> {
  const deadline = performance.now() + longestWait;
  for (;;) {
    const ended = await attempt();
    if (good(ended) || performance.now() > deadline) return ended;
    await sleep(200);
  }
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function kill(pid: number, name: NodeJS.Signals): void {
  if (pid === 0) return;
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended already.
  }
}
