import { formatAddress, type Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { TransportFailure } from '../problem.ts';
import type { Connection, ConnectionEvents, DialOptions, Transport } from './transport.ts';

/** The far end of a connection in memory, for tests: plays the peer. */
export interface RemoteEnd {
  readonly options: DialOptions;
  /** All that arrived and was not taken yet. */
  take(): Uint8Array;
  send(bytes: Uint8Array): void;
  /** FIN, or a reset with a failure. */
  close(failure?: TransportFailure): void;
  /** Our side sent FIN. */
  readonly ended: boolean;
  /** The connection is gone on our side. */
  readonly closed: boolean;
  /** A peer that does not read: every write asks to wait, until it reads again. */
  block(): void;
  unblock(): void;
}

export type Answer = 'accept' | 'silent' | TransportFailure;

/** Connections inside the process, whose events come in later turns of the given clock: same order as on a network. */
export class MemoryTransport implements Transport {
  readonly dialed: DialOptions[] = [];
  readonly remotes: RemoteEnd[] = [];
  /** How the next dials end. */
  answer: Answer = 'accept';
  localAddress: Address | undefined;
  incapable: string | undefined;
  onAccept: ((remote: RemoteEnd) => void) | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  cannot(): string | undefined {
    return this.incapable;
  }

  /** The latest connection that was accepted. */
  get remote(): RemoteEnd {
    const last = this.remotes.at(-1);
    if (last === undefined) throw new Error(`nobody connected; dialed: ${this.dialed.map(({ address }) => formatAddress(address)).join()}`);
    return last;
  }

  dial(options: DialOptions, events: ConnectionEvents): Connection {
    this.dialed.push(options);
    const link = new Link(this.#clock, options, events);
    const { answer } = this;
    if (answer === 'accept') {
      this.#clock.after(0, () => {
        if (link.closed) return;
        this.remotes.push(link);
        events.connected(this.localAddress);
        this.onAccept?.(link);
      });
    } else if (answer !== 'silent') {
      link.close(answer);
    }
    return link;
  }
}

class Link implements Connection, RemoteEnd {
  readonly options: DialOptions;
  ended = false;
  closed = false;
  #arrived: Uint8Array[] = [];
  #blocked = false;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;

  constructor(clock: Clock, options: DialOptions, events: ConnectionEvents) {
    this.#clock = clock;
    this.options = options;
    this.#events = events;
  }

  write(bytes: Uint8Array): boolean {
    if (!this.closed && !this.ended) this.#arrived.push(bytes);
    return !this.#blocked;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.#finish(undefined);
  }

  take(): Uint8Array {
    const bytes = Uint8Array.from(this.#arrived.flatMap((part) => [...part]));
    this.#arrived = [];
    return bytes;
  }

  send(bytes: Uint8Array): void {
    this.#clock.after(0, () => {
      if (!this.closed) this.#events.data(bytes);
    });
  }

  close(failure?: TransportFailure): void {
    this.#clock.after(0, () => this.#finish(failure));
  }

  block(): void {
    this.#blocked = true;
  }

  unblock(): void {
    this.#blocked = false;
    this.#clock.after(0, () => {
      if (!this.closed) this.#events.drain();
    });
  }

  #finish(failure: TransportFailure | undefined): void {
    if (this.closed) return;
    this.closed = true;
    this.#clock.after(0, () => this.#events.closed(failure));
  }
}
