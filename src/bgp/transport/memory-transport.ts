import { defined } from '../../lang/defined.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type {
  Connection,
  ConnectionEvents,
  DialOptions,
  DiscoveryEvents,
  KernelDrops,
  Listener,
  ListenerEvents,
  ListenOptions,
  PeerKey,
  Transport,
  TransportFailure,
} from './transport.ts';

/** The far end of a connection in memory. A test uses it to play the peer. */
export interface RemoteEnd {
  /** The dial options of the tested side. For an accepted connection the port is 0. */
  readonly options: DialOptions;
  /** Returns the octets that arrived since the last call. */
  take(): Uint8Array;
  send(bytes: Uint8Array): void;
  /** Sends FIN, or a reset if there is a failure. */
  close(failure?: TransportFailure): void;
  /** The tested side sent FIN. */
  readonly ended: boolean;
  /** The tested side has closed the connection. */
  readonly closed: boolean;
  /** Plays a peer that does not read: every `write` asks to wait until the peer reads again. */
  block(): void;
  unblock(): void;
}

export type Answer = 'accept' | 'silent' | TransportFailure;

/** A transport for tests with one scripted peer. Events come in later turns of the given clock, in the same order as on a network. */
export class MemoryTransport implements Transport {
  readonly dialed: DialOptions[] = [];
  readonly remotes: RemoteEnd[] = [];
  /** Result of the next dials. */
  answer: Answer = 'accept';
  localAddress: Address | undefined;
  incapable: string | undefined;
  onAccept: ((remote: RemoteEnd) => void) | undefined;
  drops: KernelDrops | undefined;
  /** Takes other TCP-AO keys for an open connection, or returns why it cannot. Without it no open connection takes other keys. */
  replaceKeys: Connection['replaceKeys'];
  /** The keys that the listeners got last. */
  keys: readonly PeerKey[] = [];
  readonly listening: ListenOptions[] = [];
  readonly discoveries = new Map<string, DiscoveryEvents>();
  readonly #listeners = new Map<ListenerEvents, ListenOptions>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  cannot(): string | undefined {
    return this.incapable;
  }

  /** The far end of the latest accepted connection. */
  get remote(): RemoteEnd {
    const last = this.remotes.at(-1);
    if (last === undefined)
      throw new Error(`no connection was made; dialed: ${this.dialed.map(({ address }) => formatAddress(address)).join()}`);
    return last;
  }

  dial(options: DialOptions, events: ConnectionEvents): Connection {
    this.dialed.push(options);
    const link = new Link(this.#clock, options, events, this.replaceKeys);
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

  listen(options: ListenOptions, events: ListenerEvents): Listener {
    this.listening.push(options);
    this.#listeners.set(events, options);
    this.#clock.after(0, () => {
      if (this.#listeners.has(events)) events.listening(options.port);
    });
    return {
      setKeys: (keys) => {
        this.keys = keys;
        return new Map();
      },
      close: () => void this.#listeners.delete(events),
    };
  }

  /** Connects as a peer. Returns its end, or undefined if the connection was rejected or no socket listens, in the VRF if one is given. */
  connectFrom(remoteAddress: Address, networkInterface?: string, vrf?: string): RemoteEnd | undefined {
    let accepted: Link | undefined;
    const [events] = [...this.#listeners].find(([, options]) => options.vrf === vrf) ?? [];
    events?.connection({
      remoteAddress,
      ...defined({ interface: networkInterface, vrf }),
      accept: (options, connectionEvents) => {
        const link = new Link(this.#clock, { address: remoteAddress, port: 0, ...options }, connectionEvents, this.replaceKeys);
        accepted = link;
        this.#clock.after(0, () => {
          if (!link.closed) connectionEvents.connected(this.localAddress);
        });
        return link;
      },
      reject: () => {},
    });
    if (accepted !== undefined) this.remotes.push(accepted);
    return accepted;
  }

  kernelDrops(): KernelDrops | undefined {
    return this.drops;
  }

  discover(networkInterface: string, events: DiscoveryEvents): { close(): void } {
    this.discoveries.set(networkInterface, events);
    return { close: () => void this.discoveries.delete(networkInterface) };
  }
}

class Link implements Connection, RemoteEnd {
  readonly options: DialOptions;
  ended = false;
  closed = false;
  readonly replaceKeys?: NonNullable<Connection['replaceKeys']>;
  #arrived: Uint8Array[] = [];
  #blocked = false;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;

  constructor(clock: Clock, options: DialOptions, events: ConnectionEvents, replaceKeys: Connection['replaceKeys']) {
    this.#clock = clock;
    this.options = options;
    this.#events = events;
    if (replaceKeys !== undefined) this.replaceKeys = replaceKeys;
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
