import assert from 'node:assert';
import { clientPlan, nodeAsn, nodePlan, podNetwork, spinePlan, tors, type DualStack, type NodePlan, type TorPlan } from './address-plan.ts';
import { bfddConfig, bgpdConfig } from './frr-config.ts';
import type { FrrDaemon, LinkSpec, MachineSpec, PodSpec, Topology } from './topology.ts';

const both = (addresses: DualStack): readonly [string, string] => [addresses.ipv4, addresses.ipv6];
const onLink = (addresses: DualStack): readonly string[] => [`${addresses.ipv4}/24`, `${addresses.ipv6}/64`];
const single = (addresses: DualStack): readonly string[] => [`${addresses.ipv4}/32`, `${addresses.ipv6}/128`];

export interface StandardOptions {
  readonly pods: readonly PodSpec[];
  readonly nodes?: number;
  /** Milliseconds between BFD packets, with a multiplier of 3. If set, the ToRs run BFD with the nodes. */
  readonly bfd?: number;
}

/**
 * client ── spine (FRR) ──┬── tor1 (FRR) ──┬── node1, pods
 *                             └── tor2 (FRR) ──┼── node2, pods
 *                                              └── node3, pods
 *
 * Routes to nodes and pods are kernel routes that FRR does not manage, so a router whose FRR was killed still carries traffic that does not
 * depend on BGP. BGP carries only the routes that Herald announces.
 */
export function standardTopology(options: StandardOptions): Topology {
  const count = options.nodes ?? 3;
  assert(count >= 1 && count <= 9, 'the address plan has room for 9 nodes');
  const nodes = Array.from({ length: count }, (_, index) => nodePlan(index + 1));
  return {
    machines: [
      { name: clientPlan.name, kind: 'client', routes: both(clientPlan.gateway).map((gateway) => `default via ${gateway}`) },
      spine(nodes),
      ...tors.map((tor) => torMachine(tor, nodes, options.bfd)),
      ...nodes.map(nodeMachine),
      { name: 'control', kind: 'control' },
    ],
    links: [
      [
        { machine: clientPlan.name, interface: 'eth0', addresses: onLink(clientPlan.address) },
        { machine: spinePlan.name, interface: 'client', addresses: onLink(clientPlan.gateway) },
      ],
      ...tors.map((tor): LinkSpec => [
        { machine: spinePlan.name, interface: tor.name, addresses: onLink(tor.spineEnd) },
        { machine: tor.name, interface: 'spine', addresses: onLink(tor.uplink) },
      ]),
      ...nodes.flatMap((node) =>
        tors.map((tor): LinkSpec => [
          { machine: tor.name, interface: node.name, bridge: 'br0' },
          { machine: node.name, interface: tor.name, addresses: onLink(uplink(node, tor)) },
        ]),
      ),
    ],
    pods: options.pods,
  };
}

function spine(nodes: readonly NodePlan[]): MachineSpec {
  const throughAll = (family: keyof DualStack): string => tors.map((tor) => `nexthop via ${tor.uplink[family]}`).join(' ');
  const targets = [podNetwork, ...nodes.map((node) => node.internal)];
  return {
    name: spinePlan.name,
    kind: 'router',
    ownHash: true,
    routes: [
      ...targets.flatMap((target) => [`${target.ipv4} ${throughAll('ipv4')}`, `${target.ipv6} ${throughAll('ipv6')}`]),
      ...tors.flatMap((tor) => [`${tor.nodeNetwork.ipv4} via ${tor.uplink.ipv4}`, `${tor.nodeNetwork.ipv6} via ${tor.uplink.ipv6}`]),
    ],
    frr: daemons(
      bgpdConfig({ ...spinePlan, neighbors: tors.flatMap((tor) => both(tor.uplink).map((address) => ({ address, asn: tor.asn }))) }),
    ),
  };
}

function torMachine(tor: TorPlan, nodes: readonly NodePlan[], bfd: number | undefined): MachineSpec {
  const behindSpine = [clientPlan.network, ...tors.filter(({ name }) => name !== tor.name).map((other) => other.nodeNetwork)];
  return {
    name: tor.name,
    kind: 'router',
    bridges: [{ name: 'br0', addresses: onLink(tor.address) }],
    routes: [
      ...behindSpine.flatMap((network) => [`${network.ipv4} via ${tor.spineEnd.ipv4}`, `${network.ipv6} via ${tor.spineEnd.ipv6}`]),
      ...nodes.flatMap((node) =>
        [node.internal, node.podCidr].flatMap((target) => [
          `${target.ipv4} via ${uplink(node, tor).ipv4}`,
          `${target.ipv6} via ${uplink(node, tor).ipv6}`,
        ]),
      ),
    ],
    frr: daemons(
      bgpdConfig({
        ...tor,
        neighbors: both(tor.spineEnd).map((address) => ({ address, asn: spinePlan.asn })),
        listen: { asn: nodeAsn, prefixes: both(tor.nodeNetwork), bfd: bfd !== undefined },
      }),
      bfd,
    ),
  };
}

function nodeMachine(node: NodePlan): MachineSpec {
  const throughAll = (family: keyof DualStack): string => tors.map((tor) => `nexthop via ${tor.address[family]}`).join(' ');
  return {
    name: node.name,
    kind: 'node',
    loopback: single(node.internal),
    routes: (['ipv4', 'ipv6'] as const).map((family) => `default src ${node.internal[family]} ${throughAll(family)}`),
  };
}

function daemons(bgpd: string, bfd?: number): ReadonlyMap<FrrDaemon, string> {
  return new Map<FrrDaemon, string>([
    ['zebra', ''],
    ['bgpd', bgpd],
    ['staticd', ''],
    ...(bfd === undefined ? [] : [['bfdd', bfddConfig(bfd)] as const]),
  ]);
}

function uplink(node: NodePlan, tor: TorPlan): DualStack {
  const address = node.uplinks.get(tor.name);
  assert(address);
  return address;
}
