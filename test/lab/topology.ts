import type { DualStack } from './address-plan.ts';

/**
 * A lab as plain data. `standardTopology` (standard-topology.ts) makes the one that tests and the demo use. The builder does not know what
 * a ToR is.
 */
export interface Topology {
  readonly machines: readonly MachineSpec[];
  readonly links: readonly LinkSpec[];
  readonly pods: readonly PodSpec[];
}

export interface MachineSpec {
  readonly name: string;
  /** Routers and nodes forward packets. `control` has loopback only, for a controller that reads files. */
  readonly kind: 'client' | 'router' | 'node' | 'control';
  readonly bridges?: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  /** The machine spreads flows over equal paths by its own hash instead of the previous router's. */
  readonly ownHash?: boolean;
  /** Addresses with prefix length, like all addresses here that a machine owns. */
  readonly loopback?: readonly string[];
  /** The arguments of `ip route add`, IPv4 or IPv6. */
  readonly routes?: readonly string[];
  /** The configuration text of each FRR daemon. If present, FRR runs here with these daemons. */
  readonly frr?: ReadonlyMap<FrrDaemon, string>;
}

export type FrrDaemon = 'zebra' | 'bgpd' | 'staticd' | 'bfdd';

/** A veth pair. */
export type LinkSpec = readonly [LinkEnd, LinkEnd];

export interface LinkEnd {
  readonly machine: string;
  readonly interface: string;
  readonly addresses?: readonly string[];
  /** The bridge of that machine that this end is a port of. */
  readonly bridge?: string;
}

/** A server in its own network namespace. It answers with its name and the client that it saw: see pod-server.ts. */
export interface PodSpec {
  /** At most 13 characters, because it becomes part of an interface name. */
  readonly name: string;
  readonly node: string;
  /** The ports on which it answers TCP and UDP. [8080] by default. */
  readonly ports?: readonly number[];
  /** The next free address of the node's podCIDR by default. */
  readonly address?: DualStack;
}
