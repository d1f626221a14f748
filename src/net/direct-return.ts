import type { Address } from './address.ts';

/**
 * How a node passes a packet to another node under direct server return. The other node receives the packet unchanged, delivers it to its
 * backend and answers the client itself.
 *
 * - l2: forwarded at ingress, before routing; both nodes share a link;
 * - route: routed to the other node on the same link;
 * - vxlan: routed to the other node through a tunnel.
 */
export const pathKinds = ['l2', 'route', 'vxlan'] as const;
export type PathKind = (typeof pathKinds)[number];

/** How packets reach another node. At least one of the two fields applies. */
export interface ForwardingPath {
  /** Packets are forwarded at ingress, without routing. Fragments are not: they have no ports and are reassembled first. */
  readonly ingress: boolean;
  /** Packets are routed, directly over the link or through the tunnel. Absent: not routed. */
  readonly routed?: 'link' | 'vxlan';
}

/** Another node and the path on which packets are passed to it. */
export interface PathTarget extends ForwardingPath {
  readonly node: Address;
}

/** Everything a node needs to pass packets on and to receive them. */
export interface DirectReturnNode {
  /** Addresses at which other nodes reach this node, the first of each family. They are the ends of its tunnels. */
  readonly addresses: readonly Address[];
  /** The interface of each of these addresses. Packets for other nodes enter and leave there. */
  readonly interfaces: readonly string[];
  /** The nodes that packets are passed to, sorted by address. */
  readonly targets: readonly PathTarget[];
  /** Link-layer addresses of the other nodes, such as "02:00:00:00:00:01", sorted. A packet from one of them was already passed on. */
  readonly linkAddresses: readonly string[];
  /** The node creates tunnels, at least to receive. */
  readonly tunnels: boolean;
}

/** Octets that VXLAN adds to a packet: Ethernet, VXLAN, UDP and IP headers (RFC 7348 section 5). */
export const tunnelOverhead = { 4: 50, 6: 70 } as const;
