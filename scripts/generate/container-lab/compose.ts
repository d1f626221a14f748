import { defined } from '../../../src/lang/defined.ts';
import { nodePlan, type DualStack } from '../../../test/lab/address-plan.ts';
import type { LinkEnd, Topology } from '../../../test/lab/topology.ts';
import { containerOf, pod, type Container } from './containers.ts';
import { placeOf } from './machine-files.ts';

/** A network of compose. Stands for a link or a bridge of the lab. */
interface Network {
  readonly name: string;
  readonly subnet: DualStack;
  /** Addresses in this network by machine. */
  readonly members: ReadonlyMap<string, DualStack>;
}

/** Returns compose.yaml, with networks in place of links. Compose sets addresses; routes.sh of each machine sets the rest. */
export function compose(topology: Topology): object {
  const networks = networksOf(topology);
  const machines = topology.machines.map((machine) => [machine.name, containerOf(machine)] as const);
  const pods = topology.pods.map((spec) => [spec.name, pod(spec)] as const);
  return {
    name: 'herald',
    services: Object.fromEntries([...machines, ...pods].map(([name, container]) => [name, serviceOf(name, container, networks)])),
    networks: Object.fromEntries(networks.map(({ name, subnet }) => [name, networkOf(subnet)])),
  };
}

/** Returns the first hop of a pod: its node's address in the network that both share. */
export function podGatewayOf(node: string): DualStack {
  const { ipv4, ipv6 } = nodePlan(Number(node.replace('node', ''))).podCidr;
  return { ipv4: host(ipv4, '1'), ipv6: host(ipv6, '1') };
}

function serviceOf(name: string, { image, entrypoint, command, binds, user }: Container, networks: readonly Network[]): object {
  const mine = networks.flatMap(({ name: network, members }) => {
    const address = members.get(name);
    return address === undefined ? [] : [[network, { ipv4_address: address.ipv4, ipv6_address: address.ipv6 }] as const];
  });
  return {
    image: image.replace('}', ':?}'),
    hostname: name,
    privileged: true,
    ...defined({ user }),
    ...(entrypoint === undefined ? {} : { entrypoint: [entrypoint] }),
    ...(command === undefined ? {} : { command: command.split(' ') }),
    volumes: [...binds.map((bind) => (bind.startsWith('.') ? bind : `./${bind}`)), `./${name}/routes.sh:/lab/routes.sh:ro`],
    post_start: [{ command: ['sh', '/lab/routes.sh'], user: 'root', privileged: true }],
    ...(mine.length === 0 ? { network_mode: 'none' } : { networks: Object.fromEntries(mine) }),
  };
}

/** The host gets the last addresses of the network, because the address plan begins with the first. Docker does not masquerade. */
function networkOf({ ipv4, ipv6 }: DualStack): object {
  return {
    enable_ipv6: true,
    driver_opts: { 'com.docker.network.bridge.enable_ip_masquerade': 'false' },
    ipam: {
      config: [
        { subnet: ipv4, gateway: host(ipv4, '254') },
        { subnet: ipv6, gateway: host(ipv6, 'fffe') },
      ],
    },
  };
}

function networksOf(topology: Topology): readonly Network[] {
  const networks = new Map<string, Map<string, DualStack>>();
  const join = (network: string, machine: string, addresses: readonly string[]): void => {
    const members = networks.get(network) ?? new Map<string, DualStack>();
    networks.set(network, members.set(machine, pairOf(addresses)));
  };
  const bridgeOf = ({ machine, bridge }: LinkEnd): readonly string[] =>
    topology.machines.find(({ name }) => name === machine)?.bridges?.find(({ name }) => name === bridge)?.addresses ?? [];
  for (const [a, b] of topology.links) {
    const network = a.bridge === undefined ? `${a.machine}-${b.machine}` : `${a.machine}-nodes`;
    join(network, a.machine, a.addresses ?? bridgeOf(a));
    join(network, b.machine, b.addresses ?? []);
  }
  for (const spec of topology.pods) {
    const prefixed = ({ ipv4, ipv6 }: DualStack): string[] => [`${ipv4}/24`, `${ipv6}/64`];
    join(`${spec.node}-pods`, spec.node, prefixed(podGatewayOf(spec.node)));
    join(`${spec.node}-pods`, spec.name, prefixed(placeOf(spec).address));
  }
  return [...networks].map(([name, members]) => ({ name, subnet: subnetOf([...members.values()][0]), members }));
}

function pairOf(addresses: readonly string[]): DualStack {
  const [ipv4 = '', ipv6 = ''] = [false, true].map((six) => addresses.find((address) => address.includes(':') === six)?.split('/')[0]);
  return { ipv4, ipv6 };
}

/**
 * Returns the network of an address. Every network of the plan is a /24 and a /64, and addresses are written so that the last group stands
 * alone.
 */
function subnetOf(member: DualStack | undefined): DualStack {
  const { ipv4 = '', ipv6 = '' } = member ?? {};
  return { ipv4: `${host(ipv4, '0')}/24`, ipv6: `${host(ipv6, '')}/64` };
}

/** Returns the address with another last group. */
function host(address: string, last: string): string {
  const [plain = ''] = address.split('/');
  return address.includes(':') ? plain.replace(/::[0-9a-f]*$/, `::${last}`) : plain.replace(/\.\d+$/, `.${last}`);
}
