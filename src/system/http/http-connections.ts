import type { Socket } from 'node:net';
import { ConnectionLimiter, type Phase, type LimitedConnection } from './connection-limiter.ts';

/** Limits on the connections of all listeners of a process. */
export interface ConnectionBounds {
  /** Maximum number of connections from one address at one listener. */
  readonly perAddress: number;
  /** Maximum number of connections from this host at one listener, beside those from elsewhere. */
  readonly own: number;
  /** Maximum number of connections of all listeners from elsewhere, and from this host. */
  readonly total: number;
  readonly totalOwn: number;
  /** Milliseconds from the connection to the end of the header of its first request. A slower client gets status 408. */
  readonly headerMilliseconds: number;
}

/** Why a connection was closed early: its address, listener or process had too many, or its header came too late. */
export type EndCause = 'address' | 'listener' | 'process' | 'late';

/** A limit, and the connections that share it. */
interface Place {
  readonly limiter: ConnectionLimiter<Connection>;
  readonly maximum: number;
  readonly cause: EndCause;
}

/**
 * The connections of all listeners of a process. Clients from elsewhere and programs on this host have separate room, so that the probes of
 * the kubelet are answered whatever others do. A new connection is always accepted: when there is no room, another one is closed for it.
 */
export class HttpConnections {
  readonly bounds: ConnectionBounds;
  readonly onEnded: (cause: EndCause) => void;
  readonly #foreign: Place;
  readonly #own: Place;
  #phases = 0;

  constructor(bounds: ConnectionBounds, onEnded: (cause: EndCause) => void) {
    this.bounds = bounds;
    this.onEnded = onEnded;
    this.#foreign = { limiter: new ConnectionLimiter(), maximum: bounds.total, cause: 'process' };
    this.#own = { limiter: new ConnectionLimiter(), maximum: bounds.totalOwn, cause: 'process' };
  }

  /** Returns a larger number each time. */
  nextPhase(): number {
    return ++this.#phases;
  }

  /** Returns the function that admits the connections of a new listener. Clients from elsewhere may have `maximum` of them. */
  ofListener(maximum: number, idleMilliseconds: number): (socket: Socket) => Connection | undefined {
    const here = new ConnectionLimiter<Connection>();
    const foreign: readonly Place[] = [{ limiter: here, maximum, cause: 'listener' }, this.#foreign];
    const own: readonly Place[] = [{ limiter: new ConnectionLimiter(), maximum: this.bounds.own, cause: 'listener' }, this.#own];
    return (socket) => {
      const { remoteAddress, localAddress } = socket;
      // The client has gone again.
      if (remoteAddress === undefined || localAddress === undefined) return undefined;
      const isForeign = !isOwn(remoteAddress, localAddress);
      const places = isForeign ? foreign : own;
      const client = { address: remoteAddress, network: networkOf(remoteAddress) };
      if (isForeign && here.sizeOf(client.address, client.network) >= this.bounds.perAddress)
        here.dispensableOf(client.address, client.network)?.end('address');
      for (const { limiter, maximum: most, cause } of places) if (limiter.size >= most) limiter.dispensable()?.end(cause);
      return new Connection(socket, client, { places, connections: this, idleMilliseconds });
    };
  }
}

interface ConnectionOptions {
  readonly places: readonly Place[];
  readonly connections: HttpConnections;
  readonly idleMilliseconds: number;
}

/** One connection, from its acceptance to its end. */
export class Connection implements LimitedConnection {
  readonly address: string;
  readonly network: string;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  phase: Phase = 'waiting';
  since: number;
  #requests = 0;
  #unanswered = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor(socket: Socket, { address, network }: Pick<LimitedConnection, 'address' | 'network'>, options: ConnectionOptions) {
    this.address = address;
    this.network = network;
    this.#socket = socket;
    this.#options = options;
    this.since = options.connections.nextPhase();
    for (const { limiter } of options.places) limiter.add(this);
    const { headerMilliseconds } = options.connections.bounds;
    // After a stall of the process the timer is due before the header is read that has arrived meanwhile. The next turn has read it.
    this.#deadline = setTimeout(() => setImmediate(() => this.#endLate()), headerMilliseconds);
    socket.once('close', () => this.#leave());
  }

  requestBegan(): void {
    this.#requests++;
    this.#unanswered++;
    this.#enter('serving');
  }

  /** The client has taken an answer or is gone. */
  answered(): void {
    this.#unanswered--;
    if (this.#unanswered > 0 || this.#socket.destroyed) return;
    this.#enter('waiting');
    // Node's own timeout begins again with every octet, so that a slow request would never end.
    this.#deadline = setTimeout(() => this.#socket.destroy(), this.#options.idleMilliseconds);
  }

  end(cause: EndCause): void {
    this.#leave();
    this.#options.connections.onEnded(cause);
    this.#socket.resetAndDestroy();
  }

  #endLate(): void {
    if (this.#requests > 0 || this.#socket.destroyed) return;
    this.#options.connections.onEnded('late');
    this.#socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
    this.#socket.destroySoon();
  }

  #enter(phase: Phase): void {
    this.#leave();
    this.phase = phase;
    this.since = this.#options.connections.nextPhase();
    for (const { limiter } of this.#options.places) limiter.add(this);
  }

  #leave(): void {
    clearTimeout(this.#deadline);
    for (const { limiter } of this.#options.places) limiter.delete(this);
  }
}

/**
 * Returns the subnet whose addresses one machine may use: the /24 of an IPv4 address, the /64 of an IPv6 address. `address` is canonical
 * text, as the kernel's addresses are written (RFC 5952), perhaps with a zone.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address.split('.').slice(0, 3).join('.');
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}

/**
 * Reports whether a client runs on this host, such as the kubelet: the kernel sends from the address that it sends to, unless the client
 * chooses another one. The kernel drops packets from outside that claim to come from an address of the host.
 */
export function isOwn(remote: string, local: string): boolean {
  return remote === local || remote === '::1' || remote.startsWith('127.');
}
