import type { ChildProcess } from 'node:child_process';

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** Calls methods of a child process that runs `answerCalls`. */
export class Caller {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #calls = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if (reply.error === undefined) waiting?.resolve(reply.value as never);
      else waiting?.reject(new Error(reply.error));
    });
    child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the process ended with status ${code}`));
    });
  }

  readonly call = <T = void>(method: string, ...args: readonly unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = this.#calls++;
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, method, args });
    });
}

export function answerCalls(methods: Readonly<Record<string, (...args: never[]) => unknown>>): void {
  process.on('message', (call: { id: number; method: string; args: readonly never[] }) => {
    void (async () => {
      try {
        const value = await methods[call.method]?.(...call.args);
        process.send?.({ id: call.id, value });
      } catch (error) {
        process.send?.({ id: call.id, error: String(error) });
      }
    })();
  });
  process.on('disconnect', () => process.exit());
}
