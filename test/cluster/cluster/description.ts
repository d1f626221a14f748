import type { Minor } from '../programs.ts';

/** A cluster as plain data, from which all configuration is made. */
export interface ClusterDescription {
  readonly families: 'ipv4' | 'ipv6' | 'dual';
  /** `rack` by default: the client is in another network than the nodes. At `home` it is in the same one, as on the page of the quick start. */
  readonly network?: 'rack' | 'home';
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
  /** The ToR's addresses on the nodes' network, where DNS listens. */
  readonly tor: PerFamily;
  /** The addresses of the API server, which are the ToR's as well. */
  readonly apiServer: PerFamily;
  readonly nodeNetwork: PerFamily;
  readonly podNetwork: PerFamily;
  readonly serviceNetwork: PerFamily;
  /** The ClusterIPs of the Services `kubernetes` and `kube-dns`. */
  readonly apiService: PerFamily;
  readonly dnsService: PerFamily;
  /** The client outside the cluster, and the ToR's address on its network. */
  readonly client: PerFamily;
  readonly clientGateway: PerFamily;
  /** "https://172.30.0.1:6443" */
  readonly server: string;
}

/** At most 9, because a digit of the number is part of addresses. */
const maximumNodes = 9;

export function planOf({ families, network = 'rack', nodes = 3 }: ClusterDescription): ClusterPlan {
  if (nodes < 1 || nodes > maximumNodes) throw new RangeError(`a cluster has 1 to ${maximumNodes} nodes, not ${nodes}`);
  const chosen: readonly Family[] = families === 'dual' ? ['ipv4', 'ipv6'] : [families];
  const only = (ipv4: string, ipv6: string): PerFamily => Object.fromEntries(chosen.map((family) => [family, { ipv4, ipv6 }[family]]));
  const { prefix4, server4, prefix6 } = networks[network];
  const tor = only(`${prefix4}.1`, `${prefix6}::1`);
  const apiServer = only(server4, `${prefix6}::1`);
  return {
    families: chosen,
    nodes: Array.from({ length: nodes }, (_, index) => index + 1).map((number) => ({
      name: `node${number}`,
      number,
      address: only(`${prefix4}.1${number}`, `${prefix6}::1${number}`),
      podCidr: only(`10.77.${number}.0/24`, `fd00:77:0:${number}::/64`),
    })),
    tor,
    apiServer,
    nodeNetwork: only(`${prefix4}.0/24`, `${prefix6}::/64`),
    podNetwork: only('10.77.0.0/16', 'fd00:77::/48'),
    serviceNetwork: only('10.96.0.0/16', 'fd00:96::/112'),
    apiService: only('10.96.0.1', 'fd00:96::1'),
    dnsService: only('10.96.0.10', 'fd00:96::a'),
    ...(network === 'home'
      ? { client: only(`${prefix4}.100`, `${prefix6}::100`), clientGateway: tor }
      : { client: only('198.18.0.2', 'fd00:18::2'), clientGateway: only('198.18.0.1', 'fd00:18::1') }),
    server: `https://${inUrl(firstOf(apiServer))}:6443`,
  };
}

/** True when the client is a machine of the nodes' network. */
export const isHome = ({ tor, clientGateway }: ClusterPlan): boolean => firstOf(tor) === firstOf(clientGateway);

/**
 * The nodes' networks. The client of a rack is outside the nodes' /16, by which Kubernetes' tests tell a client from a node. The addresses at home are
 * those of docs/quick-start.md.
 */
const networks = {
  rack: { prefix4: '172.30.0', server4: '172.30.0.1', prefix6: 'fd00:30' },
  home: { prefix4: '192.168.1', server4: '192.168.1.2', prefix6: 'fd00:192' },
} as const;

export const valuesOf = (addresses: PerFamily): readonly string[] =>
  (['ipv4', 'ipv6'] as const).flatMap((family) => addresses[family] ?? []);

export const firstOf = (addresses: PerFamily): string => valuesOf(addresses)[0] ?? '';

const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);
