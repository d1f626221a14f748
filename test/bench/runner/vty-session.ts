import { connect, type Socket } from 'node:net';

/**
 * An open connection to the vty socket of an FRR daemon. A query costs a fraction of a millisecond, while vtysh needs forty to start.
 * Queries end with a zero octet, answers with three zero octets and a status octet.
 */
export class VtySession {
  readonly #socket: Socket;
  #answer: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (text: string) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data: Buffer) => this.#receive(data));
    const end = (): void => this.#waiting?.reject(new Error('the daemon closed its vty'));
    socket.on('error', end);
    socket.on('close', end);
  }

  static open(path: string): Promise<VtySession> {
    return new Promise((resolve, reject) => {
      const socket = connect(path, () => resolve(new VtySession(socket)));
      socket.once('error', reject);
    });
  }

  /** Sends one query at a time. Throws for a status other than 0. */
  ask(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(`${command}\0`);
    });
  }

  async configure(...commands: readonly string[]): Promise<void> {
    for (const command of ['enable', 'configure terminal', ...commands, 'end']) await this.ask(command);
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #receive(data: Buffer): void {
    this.#answer = this.#answer.length === 0 ? data : Buffer.concat([this.#answer, data]);
    const { length } = this.#answer;
    if (length < 4 || this.#answer.readUIntBE(length - 4, 3) !== 0) return;
    const text = this.#answer.toString('utf8', 0, length - 4);
    const status = this.#answer[length - 1];
    this.#answer = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (status === 0) waiting?.resolve(text);
    else waiting?.reject(new Error(`status ${status}: ${text.trim()}`));
  }
}
