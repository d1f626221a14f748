import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

const keepCompiled = join(import.meta.dirname, '../support/keep-compiled.ts');

export type Call = (method: string, ...args: unknown[]) => Promise<unknown>;

export interface CalledProcess {
  readonly call: Call;
  /** Kills it with SIGKILL, so that it sends nothing to its peers. */
  readonly kill: () => Promise<void>;
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
}

/**
 * Starts a test program in a process of its own, inside a namespace, that takes calls over a pipe. `wrapper` is a command that runs it,
 * such as setpriv.
 */
export function startProgram(namespace: string, script: string, options: object, wrapper: readonly string[] = []): CalledProcess {
  const program = [process.execPath, '--import', keepCompiled, script, JSON.stringify(options)];
  const child = spawn('ip', ['netns', 'exec', namespace, ...wrapper, ...program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  child.on('message', (reply: { id: number; value?: unknown; error?: string }) => {
    const call = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) call?.resolve(reply.value);
    else call?.reject(new Error(reply.error));
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      for (const { reject } of waiting.values()) reject(new Error('the process has ended'));
      waiting.clear();
      resolve();
    });
  });
  let calls = 0;
  return {
    call: (method, ...args) =>
      new Promise((resolve, reject) => {
        const id = calls++;
        waiting.set(id, { resolve, reject });
        child.send({ id, method, args }, (error) => {
          if (error !== null) reject(error);
        });
      }),
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    signal: (name) => void child.kill(name),
  };
}
