import { nodePlan, podAddress, type DualStack, type NodePlan } from '../../../test/lab/address-plan.ts';
import { networkLines } from '../../../test/lab/build.ts';
import { namespaceSettings } from '../../../test/lab/namespace.ts';
import { podLinkLines } from '../../../test/lab/pod.ts';
import type { MachineSpec, PodSpec, Topology } from '../../../test/lab/topology.ts';

/** What the machines of the lab need when they are containers: texts of files, one folder a machine. */

export const remark = 'Of test/lab/standard-topology.ts, by npm run generate.';

/** A pod of a topology whose pods have no addresses of their own: the first address of its node. */
export function placeOf(pod: PodSpec): { readonly node: NodePlan; readonly address: DualStack } {
  const node = nodePlan(Number(pod.node.replace('node', '')));
  return { node, address: pod.address ?? podAddress(node, 0) };
}

/** The end of a pod's link in its node. */
export const podInterface = (pod: PodSpec): string => `p-${pod.name}`;

/** frr.conf, the one file for all daemons that FRR's packages and images read with `vtysh -b`. */
export function frrConf(machine: MachineSpec): string {
  const daemons = [...(machine.frr ?? [])].map(([, text]) => text).filter((text) => text !== '');
  return [`! ${remark}`, 'frr defaults traditional', `hostname ${machine.name}`, 'log stdout informational', ...daemons].join('\n');
}

/** Which daemons an image starts: zebra, staticd and mgmtd need not be asked for. */
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

/** For a machine whose links are there and bare. */
export function networkScript(topology: Topology, machine: MachineSpec): string {
  const pods = topology.pods.filter(({ node }) => node === machine.name);
  const links = pods.flatMap((pod) => podLinkLines(placeOf(pod).address, podInterface(pod), placeOf(pod).node).node);
  return script(settingsOf(machine), [...networkLines(machine, topology.links.flat()), ...links]);
}

export function podNetworkScript(pod: PodSpec): string {
  const { node, address } = placeOf(pod);
  return script(namespaceSettings(false), podLinkLines(address, podInterface(pod), node).pod);
}

/** For a machine whose links have their addresses already, and perhaps a default route that is in the way. */
export function routesScript(machine: MachineSpec): string {
  const loopback = (machine.loopback ?? []).map((address) => `addr replace ${address} dev lo`);
  return script(settingsOf(machine), [...loopback, ...(machine.routes ?? []).map((route) => `route replace ${route}`)]);
}

/** The default route of a pod in a network that it shares with its node. */
export function podRoutesScript(gateway: DualStack): string {
  return script(
    namespaceSettings(false),
    [gateway.ipv4, gateway.ipv6].map((address) => `route replace default via ${address}`),
  );
}

function settingsOf({ kind, ownHash }: MachineSpec): readonly string[] {
  return namespaceSettings(kind === 'router' || kind === 'node', ownHash);
}

/** Needs only sh and ip, which every image of FRR has. A container's interfaces are older than this, so that `default` is for all there are. */
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
