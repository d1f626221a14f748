import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';

/** Why a connection could not be made or was lost below BGP. */
export interface TransportFailure {
  readonly kind: 'refused' | 'unreachable' | 'timeout' | 'reset' | 'unsupported' | 'notReady' | 'inUse' | 'denied' | 'other';
  readonly detail: string;
}

/** How a connection to a peer is to behave, whoever opened it. */
export interface SocketOptions {
  /** TTL, or hop limit, of what we send. */
  readonly ttl: number;
  /** RFC 5082: the kernel drops segments that arrive with a smaller TTL, or hop limit. Absent: none. */
  readonly minimumTtl?: number;
  /** Milliseconds after which the kernel gives up data that the peer does not acknowledge. Absent: the kernel's own time. */
  readonly userTimeout?: number;
}

export interface DialOptions extends SocketOptions {
  readonly address: Address;
  readonly port: number;
  readonly sourceAddress?: Address;
  /** The connection uses this network interface only. A link-local address needs it. */
  readonly interface?: string;
  /** TCP MD5 signature key (RFC 2385), at most 80 octets of UTF-8. Never to be logged. */
  readonly password?: string;
}

/** What happens on a connection. Nothing is called before `dial` or `accept` has returned, and nothing after `closed`. */
export interface ConnectionEvents {
  /** Our end's address. On an accepted connection it comes as well, first of all. */
  connected(localAddress: Address | undefined): void;
  /** The receiver may keep the bytes: nobody writes to them again. */
  data(bytes: Uint8Array): void;
  /** What was written has left; only after a `write` that returned false. */
  drain(): void;
  /** Comes exactly once, also when the connection was never made or `destroy` was called. No failure: an orderly end. */
  closed(failure: TransportFailure | undefined): void;
}

export interface Endpoint {
  readonly address: Address;
  readonly port: number;
}

/** Both ends of a connection. */
export interface Endpoints {
  readonly local: Endpoint;
  readonly remote: Endpoint;
}

export interface Connection {
  /** False: stop until `drain`. What was written is sent in any case. */
  write(bytes: Uint8Array): boolean;
  /** Half close: what was written is sent, then FIN. Data still arrives. */
  end(): void;
  /** Idempotent. */
  destroy(): void;
  /** For traces, from `connected` on. Absent: this transport does not tell. */
  endpoints?(): Endpoints | undefined;
}

export interface ListenOptions {
  /** Absent: every address of both families. */
  readonly address?: Address;
  readonly port: number;
}

/** What happens to a listening socket. Nothing is called before `listen` has returned. */
export interface ListenerEvents {
  /** The port is the one that was asked for, or the one that the kernel chose for 0. */
  listening(port: number): void;
  /** Somebody connected. One of `accept` and `reject` must be called before this returns. */
  connection(incoming: Incoming): void;
  /** The listener does not work, or no longer; it is closed. */
  failed(failure: TransportFailure): void;
}

/** A connection that a peer opened, before anybody has taken it. */
export interface Incoming {
  readonly remoteAddress: Address;
  /** Where the remote address is link-local: the interface that it came in by. */
  readonly interface?: string;
  accept(options: SocketOptions, events: ConnectionEvents): Connection;
  reject(): void;
}

/** A TCP MD5 key that peers with these addresses must use towards a listener. */
export interface PeerKey {
  readonly prefix: Prefix;
  readonly interface?: string;
  readonly password: string;
}

export interface Listener {
  /**
   * Makes these the listener's keys, exactly; connections that exist are not touched. Answers in words which could not be set,
   * without the password, by the index in `keys`.
   */
  setKeys(keys: readonly PeerKey[]): ReadonlyMap<number, string>;
  /** Idempotent. Connections that were accepted live on. */
  close(): void;
}

/** TCP segments that the kernel has dropped since it started, of whatever connection: to us they look like silence. */
export interface KernelDrops {
  /** Without an MD5 signature where one is expected. */
  readonly missing: number;
  /** With one where none is. */
  readonly unexpected: number;
  readonly wrong: number;
  /** RFC 5082. */
  readonly belowMinimumTtl: number;
}

/** The router on an interface that advertises itself (RFC 4861 4.2), for peering without addresses. */
export interface DiscoveryEvents {
  /** Also when it has another address than before. */
  found(address: Address): void;
  /** It does not work now, and is tried again until it is closed. The same failure is not reported again and again. */
  failed(failure: TransportFailure): void;
}

/** The driver's only door to the network. */
export interface Transport {
  /** In words what of these options this transport cannot do, so that no session runs without what it was asked for. */
  cannot(options: DialOptions): string | undefined;
  dial(options: DialOptions, events: ConnectionEvents): Connection;
  listen(options: ListenOptions, events: ListenerEvents): Listener;
  /** Undefined where they cannot be read. */
  kernelDrops(): KernelDrops | undefined;
  /**
   * Sends router advertisements with lifetime 0 on the interface, so that the peer finds us, and reports the link-local address
   * of the router there. The result ends both.
   */
  discover(networkInterface: string, events: DiscoveryEvents): { close(): void };
}
