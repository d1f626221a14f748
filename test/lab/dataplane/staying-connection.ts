import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** What became of a connection. */
export interface Stayed {
  readonly answers: number;
  /** The system's word, "closed", or "SILENT" where nothing came any more; empty: it was answered to the end. */
  readonly failure: string;
  /** Who answered first. */
  readonly who: string;
}

/** A connection that keeps asking: `peer.mjs stay`. */
export class StayingConnection {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // One that has failed reads no more.
    child.stdin.on('error', () => undefined);
  }

  /** Resolves when it was answered. */
  static async from(child: ChildProcessByStdio<Writable, Readable, null>): Promise<StayingConnection> {
    const connection = new StayingConnection(child);
    await connection.#lines.next();
    return connection;
  }

  /** Resolves when it has failed. */
  async failed(): Promise<Stayed> {
    const { value = '{}' } = (await this.#lines.next()) as { value?: string };
    return JSON.parse(value) as Stayed;
  }

  /** Ends it after another answer. */
  end(): Promise<Stayed> {
    this.#child.stdin.end();
    return this.failed();
  }
}
