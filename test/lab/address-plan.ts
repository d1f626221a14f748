/**
 * Every address of the standard lab, as text. The addresses are computed from small numbers so that a dump of routes can be read without a
 * key: the last group names the machine (node2 is `.12` and `::12`), the group before it names the network.
 *
 * There are no Service addresses here. Those come from Herald, over BGP.
 */

/** One address per family. */
export interface DualStack {
  readonly ipv4: string;
  readonly ipv6: string;
}

export interface TorPlan {
  readonly name: string;
  readonly asn: number;
  readonly routerId: string;
  /** The ToR's address that nodes peer with, on the bridge that all nodes of this ToR share. */
  readonly address: DualStack;
  /** Prefixes of the network shared with the nodes, and of the link to the spine. */
  readonly nodeNetwork: DualStack;
  readonly spineNetwork: DualStack;
  /** This ToR's end and the spine's end of the link between them. */
  readonly uplink: DualStack;
  readonly spineEnd: DualStack;
}

export interface NodePlan {
  readonly name: string;
  /** 1 for node1, ... */
  readonly index: number;
  /** The Node's InternalIP. It is on loopback and reachable through both ToRs. */
  readonly internal: DualStack;
  readonly podCidr: DualStack;
  /** The node's address on each ToR's network, by ToR name. Its BGP sessions use it as source. */
  readonly uplinks: ReadonlyMap<string, DualStack>;
}

export const spinePlan = { name: 'spine', asn: 65000, routerId: '10.8.0.1' } as const;

export const nodeAsn = 64512;

export const clientPlan = {
  name: 'client',
  network: { ipv4: '10.9.0.0/24', ipv6: 'fd00:9::/64' },
  address: { ipv4: '10.9.0.2', ipv6: 'fd00:9::2' },
  gateway: { ipv4: '10.9.0.1', ipv6: 'fd00:9::1' },
} as const;

/** The pods of all nodes. */
export const podNetwork: DualStack = { ipv4: '10.244.0.0/16', ipv6: 'fd00:244::/32' };

/** The first hop of every pod. It is the same on each node, because it never leaves the pod's own link. */
export const podGateway: DualStack = { ipv4: '169.254.1.1', ipv6: 'fe80::1' };

export const tors: readonly TorPlan[] = [1, 2].map((index) => ({
  name: `tor${index}`,
  asn: 65100 + index,
  routerId: `10.8.0.${10 + index}`,
  address: { ipv4: `10.${index}.0.1`, ipv6: `fd00:${index}::1` },
  nodeNetwork: { ipv4: `10.${index}.0.0/24`, ipv6: `fd00:${index}::/64` },
  spineNetwork: { ipv4: `10.8.${index}.0/24`, ipv6: `fd00:8:${index}::/64` },
  uplink: { ipv4: `10.8.${index}.2`, ipv6: `fd00:8:${index}::2` },
  spineEnd: { ipv4: `10.8.${index}.1`, ipv6: `fd00:8:${index}::1` },
}));

/** Returns the plan of one node. There are at most 9 nodes, so that one digit names a node everywhere. */
export function nodePlan(index: number): NodePlan {
  return {
    name: `node${index}`,
    index,
    internal: { ipv4: `10.0.0.1${index}`, ipv6: `fd00::1${index}` },
    podCidr: { ipv4: `10.244.${index}.0/24`, ipv6: `fd00:244:${index}::/64` },
    uplinks: new Map(tors.map((_, tor) => [`tor${tor + 1}`, { ipv4: `10.${tor + 1}.0.1${index}`, ipv6: `fd00:${tor + 1}::1${index}` }])),
  };
}

/** Returns the address of the pod with this ordinal (0, 1, ...) on a node. The first pod on node2 has 10.244.2.10 and fd00:244:2::10. */
export function podAddress(node: NodePlan, ordinal: number): DualStack {
  return { ipv4: `10.244.${node.index}.${10 + ordinal}`, ipv6: `fd00:244:${node.index}::${10 + ordinal}` };
}
