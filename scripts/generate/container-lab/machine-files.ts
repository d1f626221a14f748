import { nodePlan, podAddress, type DualStack, type NodePlan } from '../../../test/lab/address-plan.ts';
import { networkLines } from '../../../test/lab/build.ts';
import { namespaceSettings } from '../../../test/lab/namespace.ts';
import { podLinkLines } from '../../../test/lab/pod.ts';
import type { MachineSpec, PodSpec, Topology } from '../../../test/lab/topology.ts';

/** Files of the lab's machines as containers. Each machine has a folder. */

export const remark = 'Written by npm run generate from test/lab/standard-topology.ts.';

/** Returns the node and the address of a pod. A pod without its own address gets the first one of its node. */
export function placeOf(pod: PodSpec): { readonly node: NodePlan; readonly address: DualStack } {
  const node = nodePlan(Number(pod.node.replace('node', '')));
  return { node, address: pod.address ?? podAddress(node, 0) };
}

/** Returns the name of the node's end of a pod's link. */
export const podInterface = (pod: PodSpec): string => `p-${pod.name}`;

/** Returns frr.conf, the file for all daemons that FRR's packages and images read with `vtysh -b`. */
export function frrConf(machine: MachineSpec): string {
  const daemons = [...(machine.frr ?? [])].map(([, text]) => text).filter((text) => text !== '');
  return [`! ${remark}`, 'frr defaults traditional', `hostname ${machine.name}`, 'log stdout informational', ...daemons].join('\n');
}

/** Returns the list of daemons that an FRR image starts. zebra, staticd and mgmtd start without being listed. */
export function frrDaemons(machine: MachineSpec): string {
  const [bgpd, bfdd] = (['bgpd', 'bfdd'] as const).map((daemon) => (machine.frr?.has(daemon) === true ? 'yes' : 'no'));
  return `# ${remark}
bgpd=${bgpd}
bfdd=${bfdd}
vtysh_enable=yes
zebra_options="  -A 127.0.0.1 -s 90000000"
mgmtd_options="  -A 127.0.0.1"
staticd_options="-A 127.0.0.1"
bgpd_options="   -A 127.0.0.1"
bfdd_options="   -A 127.0.0.1"
`;
}

/** Returns the script for a machine whose links exist without addresses. */
export function networkScript(topology: Topology, machine: MachineSpec): string {
  const pods = topology.pods.filter(({ node }) => node === machine.name);
  const links = pods.flatMap((pod) => podLinkLines(placeOf(pod).address, podInterface(pod), placeOf(pod).node).node);
  return script(settingsOf(machine), [...networkLines(machine, topology.links.flat()), ...links]);
}

export function podNetworkScript(pod: PodSpec): string {
  const { node, address } = placeOf(pod);
  return script(namespaceSettings(false), podLinkLines(address, podInterface(pod), node).pod);
}

/** Returns the script for a machine whose links have their addresses, and perhaps a default route to replace. */
export function routesScript(machine: MachineSpec): string {
  const loopback = (machine.loopback ?? []).map((address) => `addr replace ${address} dev lo`);
  return script(settingsOf(machine), [...loopback, ...(machine.routes ?? []).map((route) => `route replace ${route}`)]);
}

/** Returns the script that sets a pod's default route in the network that it shares with its node. */
export function podRoutesScript(gateway: DualStack): string {
  return script(
    namespaceSettings(false),
    [gateway.ipv4, gateway.ipv6].map((address) => `route replace default via ${address}`),
  );
}

function settingsOf({ kind, ownHash }: MachineSpec): readonly string[] {
  return namespaceSettings(kind === 'router' || kind === 'node', ownHash);
}

/**
 * Returns a script that needs only sh and ip, which every FRR image has. A container's interfaces exist before it runs, so settings for
 * `default` are written to all interfaces.
 */
function script(settings: readonly string[], lines: readonly string[]): string {
  const ipv6 = ['all', 'default'].map((name) => `net.ipv6.conf.${name}.disable_ipv6=0`);
  const writes = [...ipv6, ...settings].map((setting) => {
    const [name = '', value = ''] = setting.split('=');
    const path = `/proc/sys/${name.replaceAll('.', '/')}`;
    return path.includes('/default/')
      ? `for file in ${path.replace('/default/', '/*/')}; do echo ${value} >"$file"; done`
      : `echo ${value} >${path}`;
  });
  const batch = lines.length === 0 ? [] : ["ip -batch - <<'EOT'", ...lines, 'EOT'];
  return `${['#!/bin/sh', `# ${remark}`, 'set -e', ...writes, 'ip link set lo up', ...batch].join('\n')}\n`;
}
