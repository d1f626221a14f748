import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Protocol } from '../../../src/net/frontend.ts';

/** Connections that stay open, run by `peer.mjs hold`. */
export class HeldConnections {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** Opens connections one after the other. Returns the pod that answered each, or an error code. */
  open(request: {
    readonly protocol: Protocol;
    readonly address: string;
    readonly port: number;
    readonly count: number;
  }): Promise<readonly string[]> {
    return this.#command(request);
  }

  /** Ends connections to a pod. */
  end(pod: string, count = Number.MAX_SAFE_INTEGER): Promise<readonly string[]> {
    return this.#command({ end: pod, count });
  }

  /** Ends all. */
  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }

  async #command(command: object): Promise<readonly string[]> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value = '[]' } = (await this.#lines.next()) as { value?: string };
    return JSON.parse(value) as string[];
  }
}
