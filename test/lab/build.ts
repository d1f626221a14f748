import { createHash } from 'node:crypto';
import { ip, prepareNamespace } from './namespace.ts';
import { prepareCuts } from './uplinks.ts';
import type { LinkEnd, MachineSpec, Topology } from './topology.ts';

/** Creates the namespaces of a topology with their links, addresses and routes. Starts no process. `id` prefixes every name. */
export async function buildNetwork(id: string, topology: Topology): Promise<void> {
  const names = [...topology.machines, ...topology.pods].map(({ name }) => name);
  await ip(names.map((name) => `netns add ${id}-${name}`));
  await Promise.all(
    topology.machines.map((machine) =>
      prepareNamespace(`${id}-${machine.name}`, machine.kind === 'router' || machine.kind === 'node', machine.ownHash),
    ),
  );
  await ip(topology.links.map(([a, b], index) => veth(id, a, b, firstIndex + 2 * index)));
  const ends = topology.links.flat();
  await Promise.all(topology.machines.map((machine) => configure(id, machine, ends)));
}

/**
 * Gives the two ends of a veth pair different interface indexes. With equal indexes the kernel takes the link for one without a lower
 * device. It may then report the carrier up to a second late, and meanwhile IPv6 does not answer neighbor solicitations
 * (linkwatch_urgent_event in net/core/link_watch.c).
 */
function veth(id: string, a: LinkEnd, b: LinkEnd, index: number): string {
  const [near, far] = [
    `${a.interface} index ${index} netns ${id}-${a.machine}`,
    `${b.interface} index ${index + 1} netns ${id}-${b.machine}`,
  ];
  return `link add ${near} type veth peer name ${far}`;
}

/** The first index used here. It is above those that the kernel assigns by itself in a namespace of the lab. */
export const firstIndex = 1000;

async function configure(id: string, machine: MachineSpec, allEnds: readonly LinkEnd[]): Promise<void> {
  const namespace = `${id}-${machine.name}`;
  await ip(networkLines(machine, allEnds), namespace);
  if ((machine.bridges ?? []).length > 0) await prepareCuts(namespace);
}

/** Returns lines for `ip -batch` that give a machine its bridges, addresses and routes. Its links must exist. */
export function networkLines(machine: MachineSpec, allEnds: readonly LinkEnd[]): readonly string[] {
  const bridges = machine.bridges ?? [];
  const ends = allEnds.filter((end) => end.machine === machine.name);
  const addresses = [
    { dev: 'lo', addresses: machine.loopback ?? [] },
    ...bridges.map((bridge) => ({ dev: bridge.name, addresses: bridge.addresses })),
    ...ends.map((end) => ({ dev: end.interface, addresses: end.addresses ?? [] })),
  ];
  return [
    // A bridge without an address of its own takes that of a port, and another one when ports come and go, as no router does.
    ...bridges.map(({ name }) => `link add ${name} address ${hardwareAddress(`${machine.name} ${name}`)} type bridge`),
    ...ends.flatMap((end) => (end.bridge === undefined ? [] : [`link set ${end.interface} master ${end.bridge}`])),
    ...addresses.flatMap(({ dev, addresses }) =>
      addresses.map((address) => `addr add ${address} dev ${dev}${address.includes(':') ? ' nodad' : ''}`),
    ),
    ...[...bridges.map(({ name }) => name), ...ends.map((end) => end.interface)].map((name) => `link set ${name} up`),
    ...(machine.routes ?? []).map((route) => `route add ${route}`),
  ];
}

/** Returns an address that is locally administered (IEEE 802), always the same for a name. */
function hardwareAddress(name: string): string {
  return ['02', ...(createHash('sha256').update(name).digest('hex').slice(0, 10).match(/../g) ?? [])].join(':');
}
