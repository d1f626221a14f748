import { limits } from '../live/limits.ts';
import type { Cancel, Clock } from '../system/clock.ts';
import { ListenError } from '../system/http-listener.ts';
import { listenLocal, type AnswerLocal, type LocalListener } from '../system/local-socket.ts';
import type { Log } from '../system/log.ts';

/** A socket that is there as soon as it can be. A process without one does its work all the same. */
export class LastingSocket {
  readonly #path: string;
  readonly #answer: AnswerLocal;
  readonly #clock: Clock;
  readonly #log: Log;
  #listener: LocalListener | undefined;
  #attempt: Promise<void>;
  #cancel: Cancel | undefined;
  #problem: string | undefined;
  #closed = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, path: string, answer: AnswerLocal) {
    this.#clock = clock;
    this.#log = log;
    this.#path = path;
    this.#answer = answer;
    this.#attempt = this.#listen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#attempt;
    await this.#listener?.close();
  }

  async #listen(): Promise<void> {
    const { connections, headerBytes, requestMilliseconds, idleMilliseconds } = limits;
    try {
      this.#listener = await listenLocal(this.#path, this.#answer, { connections, headerBytes, requestMilliseconds, idleMilliseconds });
      if (this.#problem !== undefined) this.#log.info({ socket: this.#path }, 'can be asked at its socket now');
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      // Told once, and tried again without a word: the one that has it may be the process before this one.
      if (this.#problem !== error.message)
        this.#log.warn(
          { socket: this.#path, problem: error.message },
          'cannot be asked at its socket, it is tried again (--socket says where)',
        );
      this.#problem = error.message;
      if (this.#closed) return;
      this.#cancel = this.#clock.after(limits.retryMilliseconds, () => {
        this.#attempt = this.#listen();
      });
    }
  }
}
