import assert from 'node:assert';
import { run } from './command.ts';
import { inNamespace, ip } from './namespace.ts';
import type { LinkEnd, Topology } from './topology.ts';

/** A router's port that connects a node. */
export interface Port {
  readonly namespace: string;
  readonly interface: string;
}

/** Drops frames of the ports in the set in both directions while the link stays up, as with a broken switch. */
const cutTable = `table bridge lab {
  set cut { type ifname; }
  chain from { type filter hook prerouting priority -300; iifname @cut drop; }
  chain to { type filter hook postrouting priority 300; oifname @cut drop; }
}
`;

/** Prepares this machine's bridges, so that their ports can be cut. */
export async function prepareCuts(namespace: string): Promise<void> {
  await run(inNamespace(namespace, ['nft', '-f', '-']), { input: cutTable });
}

export async function setCut(port: Port, cut: boolean): Promise<void> {
  // Adding first makes both operations idempotent: nft 1.0.6 cannot delete a missing element.
  const element = `element bridge lab cut { "${port.interface}" }`;
  await run(inNamespace(port.namespace, ['nft', '-f', '-']), { input: `add ${element}\n${cut ? '' : `delete ${element}\n`}` });
}

/** Sets the router's end up or down. The node's end loses its carrier when it is down. */
export async function setPlugged(port: Port, plugged: boolean): Promise<void> {
  await ip([`link set ${port.interface} ${plugged ? 'up' : 'down'}`], port.namespace);
}

/** Returns the bridge ports that connect a node: all, or those of one router. */
export function portsOf(topology: Topology, labId: string, node: string, router?: string): readonly Port[] {
  const ports = topology.links
    .flatMap(([a, b]) => [pair(a, b), pair(b, a)])
    .filter(({ near, far }) => far.machine === node && near.bridge !== undefined && (router === undefined || near.machine === router))
    .map(({ near }) => ({ namespace: `${labId}-${near.machine}`, interface: near.interface }));
  assert(ports.length > 0, `${node} has no link to ${router ?? 'any router'}`);
  return ports;
}

function pair(near: LinkEnd, far: LinkEnd): { near: LinkEnd; far: LinkEnd } {
  return { near, far };
}
