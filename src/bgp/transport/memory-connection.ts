import type { Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { Connection, ConnectionEvents, KernelDrops, SocketOptions, TransportFailure } from './transport.ts';

/** Octets in flight above which `write` asks the caller to wait. */
const window = 65_536;

/** The host of a connection. */
interface ConnectedHost {
  countDrop(kind: keyof KernelDrops): void;
}

/** The network between the hosts. */
interface Network {
  readonly clock: Clock;
  hostOf(address: Address): ConnectedHost | undefined;
  /** Delivers something from one host to the other. */
  carry(from: ConnectedHost, to: ConnectedHost, deliver: () => void): void;
}

interface ConnectionParts {
  readonly local: Address | undefined;
  readonly remote: Address;
  options: SocketOptions;
  /** Undefined until the connection was accepted. */
  events: ConnectionEvents | undefined;
  /** Called once, when the host no longer has this end. */
  readonly gone: () => void;
}

/** One end of a connection in a MemoryNetwork. */
export class MemoryConnection implements Connection {
  readonly #network: Network;
  readonly #parts: ConnectionParts;
  #other: MemoryConnection | undefined;
  #hosts: { readonly mine: ConnectedHost; readonly theirs: ConnectedHost } | undefined;
  /** Events that arrived before the connection was accepted. */
  #early: ((events: ConnectionEvents) => void)[] = [];
  #inFlight = 0;
  #blocked = false;
  #ended = false;
  #closed = false;
  #severed = false;

  constructor(network: Network, parts: ConnectionParts) {
    this.#network = network;
    this.#parts = parts;
  }

  attach(other: MemoryConnection, hosts: { readonly mine: ConnectedHost; readonly theirs: ConnectedHost }): void {
    this.#other = other;
    this.#hosts = hosts;
  }

  /** Handles the SYN/ACK of the peer. */
  connect(): void {
    if (this.#closed) this.#send((other) => other.#receiveEnd(undefined));
    else this.#parts.events?.connected(this.#parts.local);
  }

  accept(options: SocketOptions, events: ConnectionEvents): void {
    this.#parts.options = options;
    this.#network.clock.after(0, () => {
      if (!this.#closed) events.connected(this.#parts.local);
      this.#parts.events = events;
      for (const event of this.#early.splice(0)) event(events);
    });
  }

  reject(): void {
    this.#send((other) => other.#finish({ kind: 'reset', detail: 'reset by the peer' }));
    this.#close();
  }

  /** Ends a connection that could not be made. */
  fail(failure: TransportFailure): void {
    this.#network.clock.after(0, () => this.#finish(failure));
  }

  /**
   * Ends the connection without further events, because the process of this end died. With `told` false the whole host died, and the peer
   * gets no FIN.
   */
  sever(told: boolean): void {
    if (told && !this.#closed) this.#send((other) => other.#receiveEnd(undefined));
    this.#severed = true;
    this.#closed = true;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#closed || this.#ended) return true;
    const copy = Uint8Array.from(bytes);
    this.#inFlight += copy.length;
    this.#send((other) => {
      this.#inFlight -= copy.length;
      other.#receive(copy);
      if (this.#blocked && this.#inFlight === 0) {
        this.#blocked = false;
        if (!this.#closed) this.#parts.events?.drain();
      }
    });
    this.#blocked ||= this.#inFlight > window;
    return !this.#blocked;
  }

  end(): void {
    if (this.#closed || this.#ended) return;
    this.#ended = true;
    this.#send((other) => other.#receiveEnd(undefined));
  }

  destroy(): void {
    if (this.#closed) return;
    this.end();
    this.#closed = true;
    this.#network.clock.after(0, () => this.#report(undefined));
  }

  #send(deliver: (other: MemoryConnection) => void): void {
    const [other, hosts] = [this.#other, this.#hosts];
    if (other === undefined || hosts === undefined || this.#severed) return;
    this.#network.carry(hosts.mine, hosts.theirs, () => {
      // A rebooted host does not know the connection and resets it. A host that is down does not answer.
      if (!other.#severed) deliver(other);
      else if (this.#network.hostOf(this.#parts.remote) !== undefined) this.#finish({ kind: 'reset', detail: 'reset by the peer' });
    });
  }

  #receive(bytes: Uint8Array): void {
    // Hosts are neighbours here, so a segment arrives with the TTL that it was sent with (RFC 5082).
    const arrived = this.#other === undefined ? 255 : this.#other.#parts.options.ttl;
    if (arrived < (this.#parts.options.minimumTtl ?? 0)) {
      this.#hosts?.mine.countDrop('belowMinimumTtl');
      return;
    }
    this.#whenAccepted((events) => {
      if (!this.#closed) events.data(bytes);
    });
  }

  /** Handles a FIN. This end closes too, unless it has already: a session does not write to a peer that ended. */
  #receiveEnd(failure: TransportFailure | undefined): void {
    this.#whenAccepted(() => {
      if (this.#closed) return;
      this.end();
      this.#finish(failure);
    });
  }

  #finish(failure: TransportFailure | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#whenAccepted(() => this.#report(failure));
  }

  #whenAccepted(event: (events: ConnectionEvents) => void): void {
    if (this.#parts.events === undefined) this.#early.push(event);
    else event(this.#parts.events);
  }

  #report(failure: TransportFailure | undefined): void {
    this.#close();
    if (!this.#severed) this.#parts.events?.closed(failure);
  }

  #close(): void {
    this.#closed = true;
    this.#parts.gone();
  }
}
