import type { Minor } from '../programs.ts';

/** A cluster as plain data, from which all configuration is made. */
export interface ClusterDescription {
  readonly families: 'ipv4' | 'ipv6' | 'dual';
  /** The newest by default. */
  readonly minor?: Minor;
  /** 3 by default. */
  readonly nodes?: number;
  /** `none`: Herald takes its place. Otherwise kube-proxy runs on each node in this mode, as a process. */
  readonly kubeProxy: 'none' | 'nftables' | 'iptables';
}

export type Family = 'ipv4' | 'ipv6';

/** One value for each family that the cluster has, IPv4 first. */
export type PerFamily = Readonly<Partial<Record<Family, string>>>;

export interface NodePlan {
  /** `node1`, the name of the Node and of its machine in the lab. */
  readonly name: string;
  readonly number: number;
  /** InternalIPs. */
  readonly address: PerFamily;
  readonly podCidr: PerFamily;
}

/** The addresses of a cluster. They are the same in every cluster, because each one is in its own network namespaces. */
export interface ClusterPlan {
  readonly families: readonly Family[];
  readonly nodes: readonly NodePlan[];
  /** The ToR's addresses on the nodes' network. The API server and DNS listen there. */
  readonly tor: PerFamily;
  readonly nodeNetwork: PerFamily;
  readonly podNetwork: PerFamily;
  readonly serviceNetwork: PerFamily;
  /** The ClusterIPs of the Services `kubernetes` and `kube-dns`. */
  readonly apiService: PerFamily;
  readonly dnsService: PerFamily;
  /** The client outside the cluster, and the ToR's end of its link. */
  readonly client: PerFamily;
  readonly clientGateway: PerFamily;
  /** "https://172.30.0.1:6443" */
  readonly server: string;
}

/** At most 9, because a digit of the number is part of addresses. */
const maximumNodes = 9;

export function planOf({ families, nodes = 3 }: ClusterDescription): ClusterPlan {
  if (nodes < 1 || nodes > maximumNodes) throw new RangeError(`a cluster has 1 to ${maximumNodes} nodes, not ${nodes}`);
  const chosen: readonly Family[] = families === 'dual' ? ['ipv4', 'ipv6'] : [families];
  const only = (ipv4: string, ipv6: string): PerFamily => Object.fromEntries(chosen.map((family) => [family, { ipv4, ipv6 }[family]]));
  const tor = only('172.30.0.1', 'fd00:30::1');
  return {
    families: chosen,
    nodes: Array.from({ length: nodes }, (_, index) => index + 1).map((number) => ({
      name: `node${number}`,
      number,
      address: only(`172.30.0.1${number}`, `fd00:30::1${number}`),
      podCidr: only(`10.77.${number}.0/24`, `fd00:77:0:${number}::/64`),
    })),
    tor,
    nodeNetwork: only('172.30.0.0/24', 'fd00:30::/64'),
    podNetwork: only('10.77.0.0/16', 'fd00:77::/48'),
    serviceNetwork: only('10.96.0.0/16', 'fd00:96::/112'),
    apiService: only('10.96.0.1', 'fd00:96::1'),
    dnsService: only('10.96.0.10', 'fd00:96::a'),
    // Outside the nodes' /16, by which Kubernetes' tests tell a client from a node.
    client: only('198.18.0.2', 'fd00:18::2'),
    clientGateway: only('198.18.0.1', 'fd00:18::1'),
    server: `https://${inUrl(firstOf(tor))}:6443`,
  };
}

export const valuesOf = (addresses: PerFamily): readonly string[] =>
  (['ipv4', 'ipv6'] as const).flatMap((family) => addresses[family] ?? []);

export const firstOf = (addresses: PerFamily): string => valuesOf(addresses)[0] ?? '';

const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);
