import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Connections, Forwarder } from './stand.ts';

/** One round of connections through one of the stands. */
export interface ConnectionRound extends Connections {
  readonly by: Forwarder;
  readonly services: number;
}

/** A stand in a separate process, so that several stands exist at once and are measured in turns. */
export class Stand {
  readonly by: Forwarder;
  readonly services: number;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(by: Forwarder, services: number) {
    this.by = by;
    this.services = services;
    const child = spawn(process.execPath, [join(import.meta.dirname, 'stand.ts'), by, String(services)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    // A stand that has ended is noticed when its answer is read.
    child.stdin.on('error', () => undefined);
    const lines: Interface = createInterface({ input: child.stdout });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  static async start(by: Forwarder, services: number): Promise<Stand> {
    const stand = new Stand(by, services);
    await stand.#read();
    return stand;
  }

  async connect(): Promise<ConnectionRound> {
    this.#child.stdin?.write('connect\n');
    return { by: this.by, services: this.services, ...((await this.#read()) as Connections) };
  }

  async stop(): Promise<void> {
    const closed = once(this.#child, 'close');
    this.#child.stdin?.end();
    await closed;
  }

  async #read(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the stand of ${this.by} with ${this.services} Services has ended`);
    return JSON.parse(value);
  }
}
