import { l2DecisionsOf } from '../../decisions/l2/decisions-of.ts';
import { ownerOf } from '../../decisions/verdict/l2-view.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { linksText } from '../../decisions/l2/node-links.ts';
import { limits } from '../limits.ts';

/** The addresses that are announced by ARP and NDP, and the nodes that do it. Plain data. */
export interface L2Overview {
  readonly addresses: number;
  /** Addresses for which no node answers. */
  readonly unowned: number;
  /** Nodes that report links, sorted by name. */
  readonly nodes: readonly L2NodeOverview[];
}

interface L2NodeOverview {
  readonly node: string;
  /** Addresses for which the node answers, by decision and reports. */
  readonly owned: number;
  /** "eth0 (192.0.2.0/24), eth1", or "none". */
  readonly links: string;
}

/** `now` is in milliseconds since the epoch. Undefined: there is no L2Advertisement. */
export function l2Overview(snapshot: Snapshot, now: number): L2Overview | undefined {
  const decisions = l2DecisionsOf(snapshot);
  if (decisions === undefined) return undefined;
  const owned = new Map<string | undefined, number>();
  for (const address of balancedAddresses(snapshot).values()) {
    const decision = decisions.decide(address);
    if ('reason' in decision && decision.reason.code === 'NoAdvertisement') continue;
    const owner = 'reason' in decision ? undefined : ownerOf(snapshot, decision, address, now);
    owned.set(owner, (owned.get(owner) ?? 0) + 1);
  }
  const nodes = [...snapshot.nodes.keys()].toSorted().flatMap((node): L2NodeOverview[] => {
    const { links } = currentReport(snapshot.nodeStates, node, now) ?? {};
    return links === undefined ? [] : [{ node, owned: owned.get(node) ?? 0, links: linksText(links) }];
  });
  return { addresses: owned.values().reduce((sum, count) => sum + count, 0), unowned: owned.get(undefined) ?? 0, nodes };
}

/** Returns the addresses of all LoadBalancers, by their text. */
export function balancedAddresses({ services }: Snapshot): ReadonlyMap<string, Address> {
  const balanced = [...services.values()].filter(({ type }) => type === 'LoadBalancer');
  return new Map(balanced.flatMap(assignedAddresses).map((address) => [formatAddress(address), address]));
}

/** Returns the lines of `herald status`. `wide` has each node with its links. */
export function renderL2Overview({ addresses, unowned, nodes }: L2Overview, wide: boolean): string[] {
  const shown = nodes.slice(0, limits.names).map(({ node, owned }) => `${node} ${owned}`);
  const more = nodes.length > limits.names ? `, ${nodes.length - limits.names} more nodes` : '';
  const by = wide || shown.length === 0 ? '' : `: ${shown.join(', ')}${more}`;
  const missing = unowned === 0 ? '' : `, ${unowned} of them without a node`;
  return [
    `ARP, NDP    ${addresses} address${addresses === 1 ? '' : 'es'}${missing}${by}`,
    ...(wide ? nodes.map(({ node, owned, links }) => `            ${node} answers for ${owned}; its links: ${links}`) : []),
  ];
}
