import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';

/** Why a connection could not be made, or was lost below BGP. */
export interface TransportFailure {
  readonly kind: 'refused' | 'unreachable' | 'timeout' | 'reset' | 'unsupported' | 'notReady' | 'inUse' | 'denied' | 'noVrf' | 'other';
  readonly detail: string;
}

/** Socket options of a connection, dialed or accepted. */
export interface SocketOptions {
  /** TTL or hop limit of sent packets. */
  readonly ttl: number;
  /** The kernel drops segments that arrive with a smaller TTL or hop limit (RFC 5082). Absent: no minimum. */
  readonly minimumTtl?: number;
  /** Milliseconds after which the kernel gives up on data that the peer does not acknowledge. Absent: the kernel's default. */
  readonly userTimeout?: number;
}

/** A key of TCP-AO (RFC 5925 3.1, a master key tuple). Must not be logged. */
export interface TcpAoKey {
  /** KeyID of the segments that we send, 0 to 255: the `receiveId` of the same key at the peer. */
  readonly sendId: number;
  /** KeyID of the segments that the peer sends, 0 to 255. */
  readonly receiveId: number;
  /** 1 to 80 octets of UTF-8. */
  readonly secret: string;
  readonly algorithm: TcpAoAlgorithm;
}

/** The algorithms of RFC 5926, by the names of Linux. */
export type TcpAoAlgorithm = 'hmac(sha1)' | 'cmac(aes128)';

/** The keys of TCP-AO, at least one, and the code that gives them to sockets. `tcpAo()` of herald/bgp/tcp-ao returns it. */
export interface TcpAo {
  readonly keys: readonly TcpAoKey[];
  readonly sockets: TcpAoSockets;
}

/** A socket of Linux, as far as keys need it. */
export interface KeySocket {
  setSocketOption(level: number, name: number, value: Uint8Array, what: string): void;
}

/** A key of an open connection. The kernel finds it by the prefix with which it was set. */
export interface LiveKey {
  readonly key: TcpAoKey;
  readonly prefix: Prefix;
}

/** Gives keys of TCP-AO to sockets of Linux. Each method throws when the kernel refuses, without a secret in the message. */
export interface TcpAoSockets {
  /** Returns why these cannot be the keys of a connection, without quoting a secret. Undefined: they can. */
  problem(keys: readonly TcpAoKey[]): string | undefined;
  /** Gives the keys to a socket that will connect. It begins with the first. */
  dial(socket: KeySocket, to: Prefix, keys: readonly TcpAoKey[]): void;
  /** Replaces the keys that a listening socket has for a prefix. If it throws, the socket has none of them. */
  replace(socket: KeySocket, prefix: Prefix, before: readonly TcpAoKey[], after: readonly TcpAoKey[]): void;
  /**
   * Makes these the keys of an open connection with the address, and returns them with their prefixes. If it throws, the connection must be
   * closed.
   */
  replaceLive(socket: KeySocket, remote: Address, present: readonly LiveKey[], wanted: readonly TcpAoKey[]): LiveKey[];
}

export interface DialOptions extends SocketOptions {
  readonly address: Address;
  readonly port: number;
  readonly sourceAddress?: Address;
  /** The connection uses this network interface only. A link-local address needs it. */
  readonly interface?: string;
  /** The connection uses the routes and addresses of this VRF. Not together with `interface`, whose VRF applies. */
  readonly vrf?: string;
  /** TCP MD5 signature key (RFC 2385), at most 80 octets of UTF-8. It must not be logged. */
  readonly password?: string;
  /** The connection begins with the first key. Not together with `password`. */
  readonly tcpAo?: TcpAo;
}

/** Events of a connection. None comes before `dial` or `accept` has returned, and none after `closed`. */
export interface ConnectionEvents {
  /** A connection attempt began, from this local address. Transports that do not know it leave the event out. */
  dialing?(localAddress: Address): void;
  /** The connection is open, with this local address. An accepted connection has this event too, before all others. */
  connected(localAddress: Address | undefined): void;
  /** Received octets. The receiver may keep them: they are not written to again. */
  data(bytes: Uint8Array): void;
  /** The written octets have left. Comes only after a `write` that returned false. */
  drain(): void;
  /** Comes exactly once, also if the connection was never made or `destroy` was called. Without a failure the end was orderly. */
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
  /** Sends the octets. False: the caller should wait for `drain`; the octets are sent in any case. */
  write(bytes: Uint8Array): boolean;
  /** Half-closes: the written octets are sent, then FIN. Data still arrives. */
  end(): void;
  /** May be called more than once. */
  destroy(): void;
  /** Returns both ends for traces, once connected. Absent if the transport does not know them. */
  endpoints?(): Endpoints | undefined;
  /**
   * Makes these the TCP-AO keys of the open connection, exactly. It had keys before. Returns why it cannot, without a secret; then the
   * connection must be closed, because some of the keys may have changed. Absent if the transport never can.
   */
  replaceKeys?(keys: TcpAo): string | undefined;
}

export interface ListenOptions {
  /** Absent: all addresses of both families. */
  readonly address?: Address;
  readonly port: number;
  /** Only connections in this VRF. Absent: only those in no VRF. */
  readonly vrf?: string;
}

/** Events of a listening socket. None comes before `listen` has returned. */
export interface ListenerEvents {
  /** The socket listens. The port is the requested one, or the kernel's choice for 0. */
  listening(port: number): void;
  /** A peer connected. The receiver must call `accept` or `reject` before it returns. */
  connection(incoming: Incoming): void;
  /** The listener failed and is closed. */
  failed(failure: TransportFailure): void;
}

/** A connection that a peer opened and that is not accepted yet. */
export interface Incoming {
  readonly remoteAddress: Address;
  /** The interface of a link-local remote address. */
  readonly interface?: string;
  /** The VRF of the listening socket. */
  readonly vrf?: string;
  accept(options: SocketOptions, events: ConnectionEvents): Connection;
  reject(): void;
}

/** The keys for connections from these addresses: one of TCP MD5, or those of TCP-AO. */
export type PeerKey = KeyScope &
  ({ readonly password: string; readonly tcpAo?: undefined } | { readonly password?: undefined; readonly tcpAo: TcpAo });

/** The remote addresses for which a key holds, and the interface or VRF to which it is bound. */
export interface KeyScope {
  readonly prefix: Prefix;
  readonly interface?: string;
  readonly vrf?: string;
}

export interface Listener {
  /**
   * Makes these the keys of the listener, exactly. Existing connections are not touched. Returns the keys that could not be set: the
   * reason, without password and secret, by index in `keys`.
   */
  setKeys(keys: readonly PeerKey[]): ReadonlyMap<number, string>;
  /** May be called more than once. Accepted connections stay open. */
  close(): void;
}

/** TCP segments that the kernel has dropped since it started, on all connections. To BGP such drops look like silence. */
export interface KernelDrops {
  /** Without an MD5 signature where one is expected. */
  readonly missing: number;
  /** With an MD5 signature where none is expected. */
  readonly unexpected: number;
  readonly wrong: number;
  /** Below the minimum TTL (RFC 5082). */
  readonly belowMinimumTtl: number;
}

/** Events of router discovery on an interface (RFC 4861 4.2), for peering without configured addresses. */
export interface DiscoveryEvents {
  /** A router was found, or it has a new address. */
  found(address: Address): void;
  /** Discovery fails at present and is retried until it is closed. The same failure is reported once. */
  failed(failure: TransportFailure): void;
}

/** The interface between BGP and the network. */
export interface Transport {
  /** Returns which of these options the transport cannot provide, in words. No session runs without the options that it asked for. */
  cannot(options: DialOptions): string | undefined;
  dial(options: DialOptions, events: ConnectionEvents): Connection;
  listen(options: ListenOptions, events: ListenerEvents): Listener;
  /** Undefined if the counters cannot be read. */
  kernelDrops(): KernelDrops | undefined;
  /**
   * Sends router advertisements with lifetime 0 on the interface, so that the peer finds this host, and reports the link-local address of
   * the router there. The returned object ends both.
   */
  discover(networkInterface: string, events: DiscoveryEvents): { close(): void };
}
