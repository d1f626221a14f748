import type { BGPAdvertisement, IPAddressPool } from '../../../model/kinds/types.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import { anySelects } from '../../../model/objects/label-selector.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import type { PoolCoverage } from './pool-coverage.ts';

/**
 * Reports other advertisements that give the same routes another localPref or asPathPrepend. MetalLB then accepts no configuration. Those
 * with serviceSelectors are left out: whether they meet depends on each Service.
 */
export function attributeRemarks(advertisement: BGPAdvertisement, snapshot: Snapshot, coverage: PoolCoverage): Remark[] {
  if (advertisement.serviceSelectors.length > 0 || !advertisement.addressTypes.includes('LoadBalancer')) return [];
  const met = new Map<string, { readonly other: BGPAdvertisement; readonly pool: IPAddressPool }>();
  for (const pool of coverage.poolsOf(advertisement))
    for (const other of coverage.announcersOf(pool.metadata.name)) {
      const { name } = other.metadata;
      if (differ(advertisement, other) && !met.has(name) && sameLength(advertisement, other, pool)) met.set(name, { other, pool });
    }
  return [...met.values()]
    .filter(
      ({ other }) => other.serviceSelectors.length === 0 && sharePeer(advertisement, other) && shareNode(advertisement, other, snapshot),
    )
    .flatMap(({ other, pool }) => [...localPref(advertisement, other, pool), ...asPathPrepend(advertisement, other, pool)]);
}

const differ = (one: BGPAdvertisement, other: BGPAdvertisement): boolean =>
  one.localPref !== other.localPref || one.asPathPrepend !== other.asPathPrepend;

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

/** True when both give one of the pool's families the same aggregation length. */
function sameLength(one: BGPAdvertisement, other: BGPAdvertisement, pool: IPAddressPool): boolean {
  const has = (family: 4 | 6): boolean => pool.addresses.some(({ first }) => first.family === family);
  return (has(4) && one.aggregationLength === other.aggregationLength) || (has(6) && one.aggregationLengthV6 === other.aggregationLengthV6);
}

const sharePeer = (one: BGPAdvertisement, other: BGPAdvertisement): boolean =>
  one.peers.length === 0 || other.peers.length === 0 || one.peers.some((peer) => other.peers.includes(peer));

/** Without Nodes in the input every two advertisements may meet on a node. */
function shareNode(one: BGPAdvertisement, other: BGPAdvertisement, { nodes }: Snapshot): boolean {
  const selectsBoth = ({ metadata: { labels } }: { readonly metadata: { readonly labels: Readonly<Record<string, string>> } }): boolean =>
    anySelects(one.nodeSelectors, labels) && anySelects(other.nodeSelectors, labels);
  return nodes.size === 0 || [...nodes.values()].some(selectsBoth);
}
