import type { Address } from '../../net/address.ts';

/** The addresses and the interface of a session. */
export interface Endpoint {
  readonly peer: Address;
  /** Absent: the kernel's choice. */
  readonly localAddress?: Address;
  /** Packets are sent and accepted on this network interface only. A link-local peer needs one. */
  readonly interface?: string;
  /**
   * Absent: the peer is a neighbour (RFC 5881; UDP port 3784, TTL 255). Otherwise it may be several hops away (RFC 5883; port 4784).
   * `minimumTtl` is the smallest accepted TTL: 256 minus the number of hops.
   */
  readonly multihop?: { readonly minimumTtl: number };
}

/** A path to one peer, with a source port of its own (RFC 5881 4). */
export interface Channel {
  /** Sends 24 octets, which are copied. Returns why it failed, or undefined if the packet was sent. */
  send(packet: Uint8Array): string | undefined;
  /** Why nothing can be received at present. Undefined: the socket is open. */
  readonly receiveProblem: string | undefined;
  /** Opens the receiving socket again if needed, as `send` does. For sessions that do not send. */
  listen(): void;
  /** Changes the minimum TTL of a multihop endpoint. */
  setMinimumTtl(minimumTtl: number): void;
  close(): void;
}

export interface TransportEvents {
  /**
   * A datagram arrived on one of our ports with an acceptable TTL. The payload is reused after the call. `source` is the address in the
   * format of `formatAddress`. `networkInterface` is undefined if it is not known. `multihop` tells the port.
   */
  received(payload: Uint8Array, source: string, networkInterface: string | undefined, multihop: boolean): void;
  /** Returns the time until something is due, in milliseconds. For that time the transport may block the thread. */
  timeToSpare(): number;
}

export interface Transport {
  /** Called once, before `open`. */
  listen(events: TransportEvents): void;
  /** Opens a channel. Never throws: a failed open is retried with each packet, and `send` returns the reason. */
  open(endpoint: Endpoint): Channel;
  /** Datagrams that the kernel dropped because of their TTL, their source or a full buffer. Undefined: unknown. */
  kernelDrops(): number | undefined;
  close(): void;
}

export const singleHopPort = 3784;
export const multihopPort = 4784;

/** TTL of sent packets, and of packets from a neighbour (RFC 5881 5). */
export const fullTtl = 255;
