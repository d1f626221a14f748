import type { BGPAdvertisement } from '../../../model/kinds/types.ts';
import type { LinkBandwidth } from '../route.ts';

/** 1 Mbit in octets. The community counts octets per second (draft-ietf-idr-link-bandwidth). */
export const octetsOfMegabit = 125_000;

/**
 * Returns the bandwidth that an advertisement gives to a node's route. `localEndpoints`: the endpoints on the node that take traffic, each as
 * often as its weight; undefined under policy Cluster, where each node forwards to the endpoints of all nodes, so that no node counts for more
 * than another.
 */
export function linkBandwidthOf(
  { linkBandwidth }: Pick<BGPAdvertisement, 'linkBandwidth'>,
  localEndpoints: number | undefined,
): LinkBandwidth | undefined {
  const { megabitsPerEndpoint, megabitsPerNode } = linkBandwidth ?? {};
  if (megabitsPerNode !== undefined) return { megabitsPerSecond: megabitsPerNode };
  if (megabitsPerEndpoint === undefined || localEndpoints === undefined) return undefined;
  return { megabitsPerSecond: megabitsPerEndpoint * localEndpoints, endpoints: localEndpoints };
}

/**
 * Merges the bandwidths of two Services with one prefix, independent of their order: endpoints add up, and of the bandwidths of whole nodes,
 * which count before those of endpoints, the highest wins.
 */
export function mergeLinkBandwidths(a: LinkBandwidth | undefined, b: LinkBandwidth | undefined): LinkBandwidth | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.endpoints === undefined) return b.endpoints === undefined && b.megabitsPerSecond > a.megabitsPerSecond ? b : a;
  if (b.endpoints === undefined) return b;
  return { megabitsPerSecond: a.megabitsPerSecond + b.megabitsPerSecond, endpoints: a.endpoints + b.endpoints };
}

/** "3 Mbit/s for 3 endpoints here", "10000 Mbit/s". */
export function linkBandwidthText({ megabitsPerSecond, endpoints }: LinkBandwidth): string {
  if (endpoints === undefined) return `${megabitsPerSecond} Mbit/s`;
  return `${megabitsPerSecond} Mbit/s for ${endpoints} endpoint${endpoints === 1 ? '' : 's'} here`;
}
