import { covers } from '../../../decisions/announcement/advertisements.ts';
import type { BGPAdvertisement, IPAddressPool } from '../../../model/kinds/types.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import { anySelects } from '../../../model/objects/label-selector.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';

/**
 * Reports other advertisements that give the same routes another localPref or asPathPrepend. MetalLB then accepts no configuration. Those
 * with serviceSelectors are left out: whether they meet depends on each Service.
 */
export function attributeRemarks(advertisement: BGPAdvertisement, snapshot: Snapshot): Remark[] {
  if (advertisement.serviceSelectors.length > 0) return [];
  return [...snapshot.advertisements.values()]
    .filter((other) => other.metadata.name !== advertisement.metadata.name && other.serviceSelectors.length === 0)
    .flatMap((other) => {
      const pool = [...snapshot.pools.values()].find((one) => sameRoutes(advertisement, other, one));
      if (pool === undefined || !sharePeer(advertisement, other) || !shareNode(advertisement, other, snapshot)) return [];
      return [...localPref(advertisement, other, pool), ...asPathPrepend(advertisement, other, pool)];
    });
}

function localPref(one: BGPAdvertisement, other: BGPAdvertisement, pool: IPAddressPool): Remark[] {
  if (one.localPref === other.localPref) return [];
  const effect =
    one.localPref === 0 || other.localPref === 0
      ? `Herald sends ${Math.max(one.localPref, other.localPref)}`
      : 'Herald announces them by neither';
  return [conflict('localPref', one.localPref, other, other.localPref, pool, effect)];
}

function asPathPrepend(one: BGPAdvertisement, other: BGPAdvertisement, pool: IPAddressPool): Remark[] {
  if (one.asPathPrepend === other.asPathPrepend) return [];
  const effect = `Herald prepends ${Math.max(one.asPathPrepend, other.asPathPrepend)} times`;
  return [conflict('asPathPrepend', one.asPathPrepend, other, other.asPathPrepend, pool, effect)];
}

function conflict(field: string, mine: number, other: BGPAdvertisement, theirs: number, pool: IPAddressPool, effect: string): Remark {
  return {
    level: 'differs',
    field: `spec.${field}`,
    message: `is ${mine}, but BGPAdvertisement "${other.metadata.name}" has ${theirs} for the same routes of IPAddressPool "${pool.metadata.name}": ${effect}, and MetalLB accepts no configuration`,
    fix: `make ${field} equal, or let them select different pools, peers or nodes`,
  };
}

/** True when both cover the pool and give one of its families the same aggregation length. */
function sameRoutes(one: BGPAdvertisement, other: BGPAdvertisement, pool: IPAddressPool): boolean {
  const of = { type: 'LoadBalancer', pool, prefixes: [], name: '' } as const;
  const has = (family: 4 | 6): boolean => pool.addresses.some(({ first }) => first.family === family);
  const same =
    (has(4) && one.aggregationLength === other.aggregationLength) || (has(6) && one.aggregationLengthV6 === other.aggregationLengthV6);
  return same && covers(one, of) && covers(other, of);
}

const sharePeer = (one: BGPAdvertisement, other: BGPAdvertisement): boolean =>
  one.peers.length === 0 || other.peers.length === 0 || one.peers.some((peer) => other.peers.includes(peer));

/** Without Nodes in the input every two advertisements may meet on a node. */
function shareNode(one: BGPAdvertisement, other: BGPAdvertisement, { nodes }: Snapshot): boolean {
  const selectsBoth = ({ metadata: { labels } }: { readonly metadata: { readonly labels: Readonly<Record<string, string>> } }): boolean =>
    anySelects(one.nodeSelectors, labels) && anySelects(other.nodeSelectors, labels);
  return nodes.size === 0 || [...nodes.values()].some(selectsBoth);
}
