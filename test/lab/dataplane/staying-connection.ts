import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** The result of a connection. */
export interface ConnectionResult {
  readonly answers: number;
  /** The system's error code, "closed", or "SILENT" if no answer came any more. Empty if the connection was answered to the end. */
  readonly failure: string;
  /** The pod that answered first. */
  readonly who: string;
}

/** A connection that keeps asking, run by `peer.mjs stay`. */
export class StayingConnection {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // A process whose connection has failed no longer reads.
    child.stdin.on('error', () => undefined);
  }

  /** Resolves with the first answer. */
  static async from(child: ChildProcessByStdio<Writable, Readable, null>): Promise<StayingConnection> {
    const connection = new StayingConnection(child);
    await connection.#lines.next();
    return connection;
  }

  /** Resolves when the connection has failed. */
  async failed(): Promise<ConnectionResult> {
    const { value = '{}' } = (await this.#lines.next()) as { value?: string };
    return JSON.parse(value) as ConnectionResult;
  }

  /** Ends the connection after one more answer. */
  end(): Promise<ConnectionResult> {
    this.#child.stdin.end();
    return this.failed();
  }
}
