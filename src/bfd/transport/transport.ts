import type { Address } from '../../net/address.ts';

/** Where a session's packets go and come from. */
export interface Endpoint {
  readonly peer: Address;
  /** The kernel chooses where it is absent. */
  readonly localAddress?: Address;
  /** Packets leave by this network interface only, and count only if they came in by it. A link-local peer needs one. */
  readonly interface?: string;
  /**
   * Absent: the peer is a neighbour (RFC 5881; UDP port 3784, TTL 255). Otherwise it may be some hops away (RFC 5883; port 4784), and
   * this is the smallest TTL to accept: 256 less the hops that a packet may have gone.
   */
  readonly multihop?: { readonly minimumTtl: number };
}

/** A way to one peer, with a source port of its own (RFC 5881 4). */
export interface Channel {
  /** Sends 24 octets, which are copied. In words why it could not; undefined: it left. */
  send(packet: Uint8Array): string | undefined;
  /** In words why nothing can be received at present; undefined: the socket is open. */
  readonly receiveProblem: string | undefined;
  /** Sees to it that packets are received, as `send` does: for sessions that do not send. */
  listen(): void;
  /** Of a multihop endpoint: the smallest TTL to accept from now on. */
  setMinimumTtl(minimumTtl: number): void;
  close(): void;
}

export interface TransportEvents {
  /**
   * A datagram came to one of our ports; how far it has come is known to be right. The payload is the transport's again when this
   * returns. `source` is the address as `formatAddress` writes it; `networkInterface` where it is known; `multihop` is the port that it
   * came to.
   */
  received(payload: Uint8Array, source: string, networkInterface: string | undefined, multihop: boolean): void;
}

export interface Transport {
  /** Called once, before anything is opened. */
  listen(events: TransportEvents): void;
  /** Never throws: what cannot be opened is tried again with each packet, and `send` says why. */
  open(endpoint: Endpoint): Channel;
  /** Datagrams that the kernel dropped because they had come too far, were not from a peer, or found no room; undefined: unknown. */
  kernelDrops(): number | undefined;
  close(): void;
}

export const singleHopPort = 3784;
export const multihopPort = 4784;

/** Of what we send, and of what a neighbour must send (RFC 5881 5). */
export const fullTtl = 255;
