import { spawn } from 'node:child_process';
import process from 'node:process';
import { patience } from './until.ts';

export interface CommandOptions {
  /** Written to the command's standard input. */
  readonly input?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Milliseconds after which the command gets SIGKILL. `patience` by default. */
  readonly timeoutMs?: number;
  /** Rejects on an exit status other than 0. True by default. */
  readonly check?: boolean;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit status. 128 and more when a signal ended the command. */
  readonly code: number;
}

/** A command that failed. The message has the command line and the command's output. */
export class CommandError extends Error {
  readonly code = 'command-failed';
  readonly result: CommandResult;

  constructor(argv: readonly string[], result: CommandResult) {
    super(`${argv.join(' ')}: status ${result.code}: ${(result.stderr || result.stdout).trim()}`);
    this.name = 'CommandError';
    this.result = result;
  }
}

/** Runs a command to its end and collects what it printed. */
export async function run(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [file = '', ...rest] = argv;
  const child = spawn(file, rest, {
    cwd: options.cwd,
    env: environment(options.env),
    timeout: options.timeoutMs ?? patience,
    killSignal: 'SIGKILL',
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (data: Buffer) => stdout.push(data));
  child.stderr.on('data', (data: Buffer) => stderr.push(data));
  // A command that ends without reading its input makes the pipe fail; its exit status says what happened.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 128));
  });
  const result = { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString(), code };
  if (code !== 0 && options.check !== false) throw new CommandError(argv, result);
  return result;
}

/** Returns this process's environment with additions. The path includes the directories that otherwise only root's login shells have. */
export function environment(additions: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, ...additions };
}
