import { bridgeFilterPaths, droppingBridges, judgeBridges } from '../../decisions/host/bridge-filters.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { DroppingInterface } from '../../net/endpoint-way.ts';
import type { HostLink } from '../../net/host-link.ts';
import type { Host } from '../../system/host.ts';
import { readSettings, type FindHostPaths } from '../host-readings.ts';
import { endpointsToCheck, entryInterfaces } from './pod-path-check.ts';

export interface BridgeCheckComponents {
  readonly host: Pick<Host, 'readSetting'>;
  /** Absent: this host has no links that can be read, so nothing is checked. */
  readonly hostLinks?: () => Promise<readonly HostLink[]>;
  readonly hostPaths?: FindHostPaths;
}

/** Finds bridges of this node in which the kernel drops packets for endpoints on other nodes. Rejects if the kernel does not answer. */
export async function checkBridges(
  { host, hostLinks, hostPaths }: BridgeCheckComponents,
  snapshot: Snapshot,
  node: string,
): Promise<Reason[]> {
  if (hostLinks === undefined || hostPaths === undefined) return [];
  const links = await hostLinks();
  const { remote, hosts } = endpointsToCheck(snapshot, node);
  const targets = [...remote, ...hosts];
  if (targets.length === 0 || !links.some(({ kind }) => kind === 'bridge')) return [];
  const paths = await hostPaths(targets);
  const ways = targets.flatMap(({ family }, at) => {
    const path = paths[at];
    return path === undefined ? [] : [{ family, interface: path.interface }];
  });
  const values = await readSettings(host, bridgeFilterPaths);
  return judgeBridges({ links, ways, read: (path) => values.get(path) });
}

/**
 * Finds bridges of this node in which the packets of all clients for other nodes are certainly lost. `announcing`: the interfaces on which the
 * node announces addresses by ARP and NDP. Rejects if the kernel does not answer.
 */
export async function findDroppingBridges(
  { host, hostLinks, hostPaths }: BridgeCheckComponents,
  snapshot: Snapshot,
  node: string,
  announcing: Iterable<string>,
): Promise<readonly DroppingInterface[]> {
  if (hostLinks === undefined || hostPaths === undefined) return [];
  const links = await hostLinks();
  if (!links.some(({ kind }) => kind === 'bridge')) return [];
  const entries = await entryInterfaces(hostPaths, snapshot, node, announcing);
  const values = await readSettings(host, bridgeFilterPaths);
  return droppingBridges({ links, read: (path) => values.get(path) }, entries);
}
