import type { DualStack } from './address-plan.ts';

/**
 * A lab as plain data. `standardTopology` (standard-topology.ts) makes the one that tests and the demo use; the builder does not know
 * what a ToR is.
 */
export interface Topology {
  readonly machines: readonly MachineSpec[];
  readonly links: readonly LinkSpec[];
  readonly pods: readonly PodSpec[];
}

export interface MachineSpec {
  readonly name: string;
  /** Routers and nodes forward; `control` has loopback only: the controller reads files. */
  readonly kind: 'client' | 'router' | 'node' | 'control';
  readonly bridges?: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  /** It spreads flows over equal paths by a hash of its own, not by that of the router before it. */
  readonly ownHash?: boolean;
  /** With prefix length, as all addresses here that a machine owns. */
  readonly loopback?: readonly string[];
  /** What follows `ip route add`, IPv4 or IPv6. */
  readonly routes?: readonly string[];
  /** Configuration text per FRR daemon; present: FRR runs here, with these daemons. */
  readonly frr?: ReadonlyMap<FrrDaemon, string>;
}

export type FrrDaemon = 'zebra' | 'bgpd' | 'staticd' | 'bfdd';

/** A veth pair. */
export type LinkSpec = readonly [LinkEnd, LinkEnd];

export interface LinkEnd {
  readonly machine: string;
  readonly interface: string;
  readonly addresses?: readonly string[];
  /** The bridge of that machine which this end is a port of. */
  readonly bridge?: string;
}

/** A server of its own network namespace, which answers who it is and whom it saw: see pod-server.ts. */
export interface PodSpec {
  /** At most 13 characters: it becomes part of an interface name. */
  readonly name: string;
  readonly node: string;
  /** Where it answers TCP and UDP; [8080] by default. */
  readonly ports?: readonly number[];
  /** The next free one of the node's podCIDR by default. */
  readonly address?: DualStack;
}
