import { bfddConfig, bgpdConfig } from '../../lab/frr-config.ts';
import type { LinkSpec, MachineSpec, Topology } from '../../lab/topology.ts';
import { isHome, valuesOf, type ClusterPlan, type NodePlan, type PerFamily } from './description.ts';

/** The AS numbers that Herald's objects in these tests use. */
export const asNumbers = { tor: 64500, nodes: 64512 } as const;

/** Between two BFD packets, of which three in a row may be missing. Long, because a busy machine suspends a process for seconds. */
export const bfdMilliseconds = 1500;

/**
 *     client ── tor (FRR, API server) ──┬── node1
 *                                       ├── node2
 *                                       └── node3
 *
 * Routes to pods are kernel routes. BGP carries only the routes that Herald announces. At home the client is a port of the nodes' bridge.
 */
export function clusterTopology(plan: ClusterPlan): Topology {
  return {
    machines: [
      { name: 'client', kind: 'client', routes: valuesOf(plan.clientGateway).map((gateway) => `default via ${gateway}`) },
      torMachine(plan),
      ...plan.nodes.map((node) => nodeMachine(plan, node)),
    ],
    links: [
      [
        { machine: 'client', interface: 'eth0', addresses: onLink(plan.client) },
        { machine: 'tor', interface: 'client', ...(isHome(plan) ? { bridge: 'br0' } : { addresses: onLink(plan.clientGateway) }) },
      ],
      ...plan.nodes.map((node): LinkSpec => nodeLink(node)),
    ],
    pods: [],
  };
}

function nodeLink(node: NodePlan): LinkSpec {
  return [
    { machine: 'tor', interface: node.name, bridge: 'br0' },
    { machine: node.name, interface: 'eth0', addresses: onLink(node.address) },
  ];
}

/** The part of the topology that a reboot of the node builds again. */
export function nodeTopology(plan: ClusterPlan, node: NodePlan): Topology {
  return { machines: [nodeMachine(plan, node)], links: [nodeLink(node)], pods: [] };
}

function torMachine(plan: ClusterPlan): MachineSpec {
  const prefixes = valuesOf(plan.nodeNetwork);
  const listen = { asn: asNumbers.nodes, prefixes, bfd: true };
  const bgpd = bgpdConfig({ asn: asNumbers.tor, routerId: plan.tor.ipv4 ?? '172.30.0.1', neighbors: [], listen });
  return {
    name: 'tor',
    kind: 'router',
    bridges: [{ name: 'br0', addresses: [...new Set([...onLink(plan.tor), ...onLink(plan.apiServer)])] }],
    routes: [
      ...plan.nodes.flatMap((node) => podRoutes(plan, node)),
      // A client whose packets nothing routes gets no error, as on the Internet.
      ...plan.families.map((family) => (family === 'ipv4' ? 'blackhole 0.0.0.0/0' : 'blackhole ::/0')),
    ],
    frr: new Map([
      ['zebra', ''],
      ['bgpd', bgpd],
      ['bfdd', bfddConfig(bfdMilliseconds)],
    ]),
  };
}

function nodeMachine(plan: ClusterPlan, node: NodePlan): MachineSpec {
  const others = plan.nodes.filter(({ name }) => name !== node.name);
  return {
    name: node.name,
    kind: 'node',
    routes: [...valuesOf(plan.tor).map((gateway) => `default via ${gateway}`), ...others.flatMap((other) => podRoutes(plan, other))],
  };
}

const podRoutes = (plan: ClusterPlan, node: NodePlan): readonly string[] =>
  plan.families.map((family) => `${node.podCidr[family]} via ${node.address[family]}`);

const onLink = ({ ipv4, ipv6 }: PerFamily): readonly string[] => [
  ...(ipv4 === undefined ? [] : [`${ipv4}/24`]),
  ...(ipv6 === undefined ? [] : [`${ipv6}/64`]),
];
