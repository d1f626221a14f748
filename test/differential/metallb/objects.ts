import type { Random } from '../../fuzz/random.ts';

/** An IPAddressPool of metallb.io. */
export interface Pool {
  readonly name: string;
  readonly spec: {
    readonly addresses: readonly string[];
    readonly autoAssign: boolean;
    readonly avoidBuggyIPs: boolean;
    readonly serviceAllocation?: ServiceAllocation;
  };
}

interface ServiceAllocation {
  readonly priority: number;
  readonly namespaces?: readonly string[];
  readonly namespaceSelectors?: readonly Selector[];
  readonly serviceSelectors?: readonly Selector[];
}

interface Selector {
  readonly matchLabels: Readonly<Record<string, string>>;
}

/** A Service as its owner wants it. */
export interface WantedService {
  readonly namespace: string;
  readonly name: string;
  readonly type: 'LoadBalancer' | 'ClusterIP';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly families: readonly ('IPv4' | 'IPv6')[];
  readonly policy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly ports: readonly { readonly port: number; readonly protocol: 'TCP' | 'UDP' }[];
  readonly trafficPolicy: 'Cluster' | 'Local';
  readonly app: string;
  readonly loadBalancerIP?: string;
}

/** The namespaces of every run, with their labels. */
export const namespaces: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { team: 'red' },
  b: { team: 'red' },
  c: { team: 'blue' },
};

export const keyOf = ({ namespace, name }: WantedService): string => `${namespace}/${name}`;

/** Returns two to five disjoint pools. Most are so small that they become full. */
export function randomPools(random: Random): Pool[] {
  return Array.from({ length: 2 + random.below(4) }, (_, index) => ({ name: `p${index}`, spec: randomPool(random, index + 60) }));
}

function randomPool(random: Random, block: number): Pool['spec'] {
  const four = random.pick([
    `10.${block}.0.0/30`,
    `10.${block}.0.254-10.${block}.1.1`,
    `10.${block}.0.7-10.${block}.0.9`,
    `10.${block}.0.5/32`,
    `10.${block}.0.16/28`,
  ]);
  const six = random.pick([`fd00:${block}::/127`, `fd00:${block}::1-fd00:${block}::3`, `fd00:${block}::8/128`, `fd00:${block}::/64`]);
  const addresses = random.pick([[four], [four], [six], [four, six], [four, six]]);
  const allocation = random.chance(2) ? {} : { serviceAllocation: randomAllocation(random) };
  return { addresses, autoAssign: !random.chance(5), avoidBuggyIPs: random.chance(4), ...allocation };
}

function randomAllocation(random: Random): ServiceAllocation {
  const priority = random.pick([0, 10, 20, 30]);
  const selector = random.pick([{ matchLabels: { team: 'red' } }, { matchLabels: { team: 'blue' } }]);
  const tier = { serviceSelectors: [{ matchLabels: { tier: random.pick(['x', 'y']) } }] };
  switch (random.below(6)) {
    case 0:
      return { priority };
    case 1:
      return { priority, namespaceSelectors: [selector] };
    case 2:
      return { priority, ...tier };
    case 3:
      return { priority, namespaces: ['a'], ...tier };
    default:
      return { priority, namespaces: random.pick([['a'], ['c'], ['a', 'b']]) };
  }
}

/** Returns the manifest that is applied. */
export function manifestOf(service: WantedService): object {
  const { namespace, name, type, labels, annotations, families, policy, ports, trafficPolicy, app, loadBalancerIP } = service;
  const external = { externalTrafficPolicy: trafficPolicy, allocateLoadBalancerNodePorts: false };
  const requested = loadBalancerIP === undefined ? {} : { loadBalancerIP };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name, labels, annotations },
    spec: {
      type,
      ipFamilies: families,
      ipFamilyPolicy: policy,
      selector: { app },
      ports: ports.map(({ port, protocol }) => ({ name: `${protocol.toLowerCase()}-${port}`, port, protocol })),
      ...(type === 'LoadBalancer' ? { ...external, ...requested } : {}),
    },
  };
}
