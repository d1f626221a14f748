import type { Address } from './address.ts';

/**
 * Direct server return: a node hands a packet for a backend of another node over to that node, unchanged, which delivers it and
 * answers the client itself.
 *
 * - l2: forwarded where it came in, before anything else looks at it; the nodes share a link;
 * - route: routed to the other node, which is on the same link;
 * - vxlan: routed to the other node through a tunnel.
 */
export const pathKinds = ['l2', 'route', 'vxlan'] as const;
export type PathKind = (typeof pathKinds)[number];

/** How packets get to a node; at least one of the two. */
export interface ForwardingPath {
  /** Handed over at ingress, without routing. Fragments are not: they have no ports, and are reassembled first. */
  readonly ingress: boolean;
  /** By a route: to the node itself, or through the tunnel. */
  readonly routed?: 'link' | 'vxlan';
}

/** Another node that packets are passed on to. */
export interface PathTarget extends ForwardingPath {
  readonly node: Address;
}

/** What a node needs to know to pass packets on, and to take them. */
export interface DirectReturnNode {
  /** The addresses by which others reach this node, the first of each family: ends of its tunnels. */
  readonly addresses: readonly Address[];
  /** The interface of each of these addresses, where packets for other nodes come in and go out. */
  readonly interfaces: readonly string[];
  /** In order of their addresses. */
  readonly targets: readonly PathTarget[];
  /** Of the other nodes, "02:00:00:00:00:01", sorted: what comes from there was passed on already. */
  readonly linkAddresses: readonly string[];
  /** Tunnels are made, to receive if not to send. */
  readonly tunnels: boolean;
}

/** Octets that VXLAN puts around a packet: Ethernet, VXLAN, UDP and IP headers (RFC 7348 section 5). */
export const tunnelOverhead = { 4: 50, 6: 70 } as const;
