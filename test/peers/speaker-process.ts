import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import type { SpeakerOptions } from '../../src/bgp/index.ts';

export type Call = (method: string, ...args: unknown[]) => Promise<unknown>;

export interface SpeakerProcess {
  readonly call: Call;
  /** SIGKILL: nothing is said to the peers. */
  readonly kill: () => Promise<void>;
}

/** The speaker as a process of its own, inside a namespace, called over a pipe. */
export function startSpeaker(namespace: string, options: SpeakerOptions = {}): SpeakerProcess {
  const script = join(import.meta.dirname, '../lab/bgp-frr-speaker.ts');
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, script, JSON.stringify(options)], {
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
      for (const { reject } of waiting.values()) reject(new Error('the speaker has ended'));
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
  };
}
