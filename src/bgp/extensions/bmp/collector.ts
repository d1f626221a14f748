import { defined } from '../../../lang/defined.ts';
import { formatAddress, isLinkLocal, type Address } from '../../../net/address.ts';
import type { Cancel } from '../../../system/clock.ts';
import { bmpMaximumQueue, bmpRetry, lingerMilliseconds } from '../../limits.ts';
import type { BgpComponents } from '../../options/components.ts';
import type { Connection, TransportFailure } from '../../transport/transport.ts';

/** The connection to a BMP collector, as plain values. */
export interface BmpStatus {
  readonly collector: string;
  readonly state: 'connecting' | 'connected' | 'waiting' | 'stopped';
  /** When the state began. */
  readonly since: Date;
  /** Why the connection was not made, or was lost last. */
  readonly lastError?: string;
  /** How often the connection was made. */
  readonly connections: number;
  /** Messages given to the connection, since the speaker was created. */
  readonly messages: number;
  /** Octets that the collector has not read yet, as far as they are held here. */
  readonly queued: number;
}

interface CollectorEvents {
  /** The connection is open: the first message may be sent. */
  connected(): void;
  /** The connection is gone. It is made again later. */
  lost(): void;
  /** There is room for more messages. */
  drained(): void;
  /** Returns the message that tells the collector why the connection ends. */
  overrun(): Uint8Array;
}

/**
 * A connection to a collector that is made again after it was lost, with growing pauses (RFC 7854 3.2). Sending never waits: messages that the
 * collector does not read are held up to a bound, beyond which the connection ends. All that the collector sends is ignored.
 */
export class Collector {
  readonly #components: Pick<BgpComponents, 'clock' | 'random' | 'transport' | 'log'>;
  readonly #where: { readonly host: Address; readonly port: number };
  readonly #events: CollectorEvents;
  #connection: Connection | undefined;
  #state: BmpStatus['state'] = 'waiting';
  #since: Date;
  #failure: string | undefined;
  #connections = 0;
  #messages = 0;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #isBlocked = false;
  #pause: number = bmpRetry.first;
  #connectedAt = 0;
  #cancelRetry: Cancel | undefined;
  /** Resolves when the latest connection is closed. */
  #closed: Promise<void> | undefined;

  constructor(
    components: Pick<BgpComponents, 'clock' | 'random' | 'transport' | 'log'>,
    where: { readonly host: Address; readonly port: number },
    events: CollectorEvents,
  ) {
    this.#components = components;
    this.#where = where;
    this.#events = events;
    this.#since = components.clock.date();
  }

  get isConnected(): boolean {
    return this.#state === 'connected';
  }

  /** Octets that are held because the collector reads more slowly than this side writes. */
  get queued(): number {
    return this.#queued;
  }

  get hasRoom(): boolean {
    return this.isConnected && !this.#isBlocked;
  }

  status(): BmpStatus {
    return {
      collector: this.#name,
      state: this.#state,
      since: this.#since,
      ...defined({ lastError: this.#failure }),
      connections: this.#connections,
      messages: this.#messages,
      queued: this.#queued,
    };
  }

  start(): void {
    const { transport } = this.#components;
    const { host, port } = this.#where;
    this.#enter('connecting');
    const options = { address: host, port, ttl: 255 };
    const incapable = isLinkLocal(host) ? 'a link-local address needs an interface' : transport.cannot(options);
    if (incapable !== undefined) {
      this.#retry(incapable);
      return;
    }
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.promise;
    const isCurrent = (): boolean => this.#connection === connection;
    const connection: Connection = transport.dial(options, {
      connected: () => {
        if (!isCurrent()) return;
        this.#enter('connected');
        this.#connections++;
        this.#connectedAt = this.#components.clock.now();
        this.#components.log.info({ collector: this.#name }, 'connected to the BMP collector');
        this.#events.connected();
      },
      data: () => {},
      drain: () => {
        if (isCurrent()) this.#drain();
      },
      closed: (failure) => {
        closed.resolve();
        if (isCurrent()) this.#lost(failure);
      },
    });
    this.#connection = connection;
  }

  /** Sends a message, or holds it until the collector reads on. Without a connection it is dropped. */
  send(message: Uint8Array): void {
    if (!this.isConnected) return;
    this.#messages++;
    if (this.#isBlocked) {
      this.#queue.push(message);
      this.#queued += message.length;
      if (this.#queued > bmpMaximumQueue) this.#overrun();
    } else if (this.#connection?.write(message) === false) this.#isBlocked = true;
  }

  /** Ends the connection after a last message. It is not made again. Resolves when it is closed. */
  async stop(last: Uint8Array): Promise<void> {
    this.#cancelRetry?.();
    if (this.isConnected && !this.#isBlocked) this.#connection?.write(last);
    this.#close();
    this.#enter('stopped');
    await this.#closed;
  }

  get #name(): string {
    const { host, port } = this.#where;
    return `${host.family === 6 ? `[${formatAddress(host)}]` : formatAddress(host)}:${port}`;
  }

  #enter(state: BmpStatus['state']): void {
    this.#state = state;
    this.#since = this.#components.clock.date();
  }

  #drain(): void {
    this.#isBlocked = false;
    const held = this.#queue;
    let sent = 0;
    while (sent < held.length && !this.#isBlocked) {
      const message = held[sent++] ?? new Uint8Array(0);
      this.#queued -= message.length;
      if (this.#connection?.write(message) === false) this.#isBlocked = true;
    }
    this.#queue = held.slice(sent);
    if (!this.#isBlocked) this.#events.drained();
  }

  /** The collector is too slow. A new connection begins with the present routes, so nothing that matters is lost. */
  #overrun(): void {
    this.#connection?.write(this.#events.overrun());
    this.#close();
    this.#retry(`the collector has not read ${bmpMaximumQueue / 1024 / 1024} MiB`);
    this.#events.lost();
  }

  #lost(failure: TransportFailure | undefined): void {
    const wasConnected = this.isConnected;
    this.#forget();
    this.#retry(failure?.detail ?? 'the collector closed the connection');
    if (wasConnected) this.#events.lost();
  }

  #retry(reason: string): void {
    const { clock, random, log } = this.#components;
    const wasConnected = this.isConnected;
    // A connection that lasted longer than a pause was good, so the next pause is the first one again.
    if (wasConnected && clock.now() - this.#connectedAt > this.#pause * 1000) this.#pause = bmpRetry.first;
    if (wasConnected || reason !== this.#failure) log.warn({ collector: this.#name, reason }, 'no connection to the BMP collector');
    this.#failure = reason;
    this.#enter('waiting');
    this.#cancelRetry = clock.after(this.#pause * 1000 * (0.75 + random() / 4), () => this.start());
    this.#pause = Math.min(bmpRetry.longest, 2 * this.#pause);
  }

  #close(): void {
    const connection = this.#connection;
    this.#forget();
    if (connection === undefined) return;
    connection.end();
    this.#components.clock.after(lingerMilliseconds, () => connection.destroy());
  }

  #forget(): void {
    this.#connection = undefined;
    this.#isBlocked = false;
    this.#queue = [];
    this.#queued = 0;
  }
}
