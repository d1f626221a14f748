import type { Cancel, Clock } from '../system/clock.ts';
import {
  ListenError,
  type AnswerHttp,
  type HttpBounds,
  type HttpListener,
  type HttpPlace,
  type ListenHttp,
} from '../system/http-listener.ts';
import type { Log } from '../system/log.ts';
import { limits } from './limits.ts';

export interface ListenerComponents {
  readonly listenHttp: ListenHttp;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ListenerOptions {
  readonly place: HttpPlace;
  readonly answer: AnswerHttp;
  /** Called when `problem` may have changed. */
  readonly news: () => void;
  /** Default: those of health checks. */
  readonly bounds?: HttpBounds;
  /** Sockets that are being closed, perhaps on this very port. */
  readonly after?: Promise<unknown>;
}

const healthBounds = {
  connections: limits.healthConnections,
  headerBytes: limits.healthHeaderBytes,
  requestMilliseconds: limits.healthRequestMilliseconds,
  idleMilliseconds: limits.healthIdleMilliseconds,
};

const unspecified: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** A port that is listened on as soon as it can be: while another program has it, it is tried again and again. */
export class LastingListener {
  readonly #components: ListenerComponents;
  readonly #options: ListenerOptions;
  #listener: HttpListener | undefined;
  #attempt: Promise<void>;
  #cancel: Cancel | undefined;
  #problem: string | undefined;
  #closed = false;

  constructor(components: ListenerComponents, options: ListenerOptions) {
    this.#components = components;
    this.#options = options;
    this.#attempt = this.#begin();
  }

  /** Why nothing listens; undefined: it does, or it was not tried yet, or the host has not the address family. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when the port is free. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#attempt;
    await this.#listener?.close();
  }

  async #begin(): Promise<void> {
    await this.#options.after;
    await this.#listen();
  }

  async #listen(): Promise<void> {
    const { listenHttp, clock, log } = this.#components;
    const { place, answer, news, bounds = healthBounds } = this.#options;
    if (this.#closed) return;
    const before = this.#problem;
    try {
      this.#listener = await listenHttp(place, answer, bounds);
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      // All addresses of a family that the host has not are none; one address that it has not is somebody's mistake.
      this.#problem = error.code === 'noAddress' && unspecified.has(place.address) ? undefined : error.message;
      if (this.#closed) return;
      this.#cancel = clock.after(limits.listenRetryMilliseconds, () => {
        this.#attempt = this.#listen();
      });
    }
    if (this.#closed || this.#problem === before) return;
    if (this.#problem === undefined) log.info({ ...place }, 'listens now');
    else log.warn({ ...place, problem: this.#problem }, 'cannot listen, it is tried again');
    news();
  }
}
