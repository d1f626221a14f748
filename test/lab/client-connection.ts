import { connect, type Socket } from 'node:net';
import { afterSockets, failure, outcomeOf } from './client-requests.ts';
import type { Target } from './client-protocol.ts';
import type { Outcome } from './outcome.ts';

/**
 * Sends requests over a kept connection, like an HTTP client with keep-alive: one request at a time. It opens another connection when the
 * pod says that it is about to end, or closes the connection between two requests. A connection that breaks in any other way is a failure:
 * of the request under way, or one of its own if there was none.
 */
export class KeptConnection {
  readonly #target: Target;
  readonly #tell: (outcome: Outcome) => void;
  #socket: Socket | undefined;
  #asked: Promise<void> | undefined;

  constructor(target: Target, tell: (outcome: Outcome) => void) {
    this.#target = target;
    this.#tell = tell;
  }

  /** Sends a request, unless one is under way. */
  ask(): void {
    this.#asked ??= this.#ask();
  }

  /** Closes the connection when the request under way has ended. */
  async end(): Promise<void> {
    await this.#asked;
    this.#close();
  }

  async #ask(): Promise<void> {
    const outcome = await outcomeOf(this.#exchange());
    this.#asked = undefined;
    if (!outcome.ok || outcome.closing === true) this.#close();
    this.#tell(outcome);
  }

  #close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.removeAllListeners();
    socket?.on('error', () => undefined);
    socket?.end();
  }

  #exchange(): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = (this.#socket ??= this.#open());
      let text = '';
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        socket.off('data', onData).off('error', onError).off('close', onClose);
        end();
      };
      const onData = (data: Buffer): void => {
        text += data.toString();
        if (text.endsWith('\n')) settle(() => resolve(text));
      };
      const onError = (error: Error): void => settle(() => reject(error));
      const onClose = (): void => settle(() => reject(new Error('CLOSED')));
      const timer = setTimeout(() => afterSockets(() => settle(() => reject(new Error('TIMEOUT')))), this.#target.timeoutMs);
      socket.on('data', onData).on('error', onError).on('close', onClose);
      socket.write('who\n');
    });
  }

  #open(): Socket {
    const socket = connect({ host: this.#target.address, port: this.#target.port, noDelay: true });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#asked === undefined && this.#socket === socket) this.#tell(failure(error, performance.now()));
    });
    socket.on('end', () => {
      if (this.#asked === undefined && this.#socket === socket) this.#close();
    });
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    return socket;
  }
}
