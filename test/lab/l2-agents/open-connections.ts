import { join } from 'node:path';
import { startProgram, type CalledProcess } from '../../peers/called-process.ts';

export interface OpenConnection {
  readonly address: string;
  readonly pod: string;
  /** It sends nothing until it is asked. The others send all the time. */
  readonly isIdle: boolean;
  /** Why it was lost: the system's code, "closed" or "no answer". */
  readonly lost?: string;
}

/** TCP connections of a client that stay open: half of them idle, half sending. */
export class OpenConnections {
  readonly #program: CalledProcess;

  constructor(namespace: string) {
    this.#program = startProgram(namespace, join(import.meta.dirname, 'open-connections-program.ts'), {});
  }

  /** Closes all, and opens so many to the addresses in turn. */
  async open(addresses: readonly string[], port: number, count: number): Promise<void> {
    await this.#program.call('open', addresses, port, count);
  }

  /** Sends a request over every connection, also those that were idle. A connection without an answer for 5 s counts as lost. */
  async ask(): Promise<readonly OpenConnection[]> {
    return (await this.#program.call('ask')) as readonly OpenConnection[];
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}
