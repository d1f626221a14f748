import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { DataplaneError } from './dataplane.ts';

/** A command to run without a shell: its name, then its arguments. */
export type CommandLine = readonly [string, ...string[]];

export interface CommandOutcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandBounds {
  /** Milliseconds. */
  readonly timeout: number;
  /** Bytes of standard output. Standard error is cut at 64 KiB. */
  readonly outputBytes: number;
}

/**
 * Runs a command with the given standard input and waits for its end. Resolves for every exit status. Rejects with DataplaneError:
 * `unavailable` or `permission` when the command cannot be started, `failed` when it exceeds a bound or is killed.
 */
export function runCommand(command: CommandLine, input: string, bounds: CommandBounds): Promise<CommandOutcome> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // The timeout option of spawn() keeps running when the command cannot be started, and would keep this process from exiting.
    const timeout = setTimeout(() => child.kill('SIGKILL'), bounds.timeout);
    const stdout: Buffer[] = [];
    let stdoutBytes = 0;
    let stderr = '';
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timeout);
      reject(
        new DataplaneError(error.code === 'EACCES' ? 'permission' : 'unavailable', `cannot run ${file}: ${error.message}`, {
          cause: error,
        }),
      );
    });
    const streams = streamsOf(child);
    if (streams === undefined) return;
    streams.stdout.on('data', (chunk: Buffer) => {
      stdoutBytes += chunk.length;
      if (stdoutBytes <= bounds.outputBytes) stdout.push(chunk);
      else child.kill('SIGKILL');
    });
    streams.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      if (stderr.length < 65_536) stderr += chunk;
    });
    // A command that ends before it has read its input gives the reason on standard error.
    streams.stdin?.on('error', () => undefined);
    child.on('exit', (_, signal) => {
      clearTimeout(timeout);
      // A child of a killed command may still hold the pipes. Destroying them avoids waiting for that child.
      if (signal !== null) for (const stream of [streams.stdout, streams.stderr]) stream.destroy();
    });
    child.on('close', (status, signal) => {
      if (status !== null) resolve({ status, stdout: Buffer.concat(stdout).toString('utf8'), stderr });
      else reject(new DataplaneError('failed', `${file} was killed by ${signal ?? 'an unknown signal'}: ${stderr.trim()}`));
    });
    streams.stdin?.end(input);
  });
}

export interface Streams {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Returns undefined when the process has no file descriptor left for the pipes (EMFILE). Contrary to the types, the streams are then
 * missing, and `error` follows.
 */
export function streamsOf(child: Streams): Streams | undefined {
  return (child as Partial<Streams>).stdout === undefined ? undefined : child;
}
