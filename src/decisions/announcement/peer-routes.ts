import { defined } from '../../lang/defined.ts';
import type { Address } from '../../net/address.ts';
import { comparePrefixes, formatPrefix, isHostPrefix } from '../../net/prefix.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { type ResolvedAdvertisement, namesOf } from './advertisements.ts';
import { uniteCommunities } from './communities.ts';
import { carriesFamily, sessionWarning, type NodePeer, type SessionIntent } from './peers.ts';
import type { RouteIntent } from './route.ts';

export interface PeerAnnouncement {
  readonly peer: string;
  readonly result: { readonly routes: readonly RouteIntent[]; readonly warning?: Reason } | { readonly reason: Reason };
}

/** Returns what a peer gets for an address: a route for each prefix that advertisements make of it. `nodePeers`: all peers. */
export function routesToPeer(
  snapshot: Snapshot,
  { peer, result }: NodePeer,
  address: Address,
  advertisements: readonly ResolvedAdvertisement[],
  nodePeers: readonly NodePeer[],
): PeerAnnouncement {
  const forPeer = advertisements.filter(({ advertisement: { peers } }) => peers.length === 0 || peers.includes(peer));
  if (forPeer.length === 0) {
    const names = namesOf(advertisements.map(({ advertisement }) => advertisement));
    return { peer, result: { reason: reason('PeerNotInAdvertisement', { peer, advertisements: names }) } };
  }
  if ('reason' in result) return { peer, result };
  const object = snapshot.peers.get(peer);
  if (object !== undefined && !carriesFamily(object, address.family)) {
    return { peer, result: { reason: familyNotCarried(result.session, address, forPeer, nodePeers) } };
  }
  const byPrefix = Map.groupBy(forPeer, ({ prefix }) => formatPrefix(prefix));
  const routes: RouteIntent[] = [];
  for (const [prefix, group] of byPrefix) {
    const route = unite(nearest(group, address), prefix, peer);
    // One contradiction suppresses the address towards this peer, because a partial announcement is not what was asked for.
    if ('code' in route) return { peer, result: { reason: route } };
    routes.push(route);
  }
  routes.sort((a, b) => comparePrefixes(a.prefix, b.prefix));
  const warning = sessionWarning(peer, result);
  return { peer, result: { routes, ...defined({ warning }) } };
}

/**
 * Returns the advertisements that count for a prefix: those with the longest aggregationLength. Only an address that is announced alone in
 * place of its aggregates has others, whose fields are about the aggregates.
 */
function nearest(group: readonly ResolvedAdvertisement[], { family }: Address): readonly ResolvedAdvertisement[] {
  const field = family === 4 ? 'aggregationLength' : 'aggregationLengthV6';
  const longest = Math.max(...group.map(({ advertisement }) => advertisement[field]));
  return group.filter(({ advertisement }) => advertisement[field] === longest);
}

/** A router often has one session for each family. The one that does not carry a family needs no change if another does. */
function familyNotCarried(
  { peer, peerASN }: SessionIntent,
  { family }: Address,
  advertisements: readonly ResolvedAdvertisement[],
  nodePeers: readonly NodePeer[],
): Reason {
  const others = nodePeers.flatMap(({ peer: other, result }) => {
    if ('reason' in result || result.session.adminDown || !result.session.families.includes(family)) return [];
    // Two peers that are "external" may be in different ASes.
    return result.session.peerASN === peerASN && peerASN !== 'external' ? [other] : [];
  });
  const named = others.filter((other) =>
    advertisements.some(({ advertisement: { peers } }) => peers.length === 0 || peers.includes(other)),
  );
  return reason('PeerFamilyNotCarried', {
    peer,
    family: `IPv${family}`,
    others: named.length > 0 ? 'carry' : others.length > 0 ? 'unnamed' : 'none',
    names: named.map((other) => `"${other}"`).join(', '),
    advertisements: namesOf(advertisements.map(({ advertisement }) => advertisement)),
  });
}

/**
 * Builds one route from the advertisements with the same prefix. Communities add up and the longest prepend wins. localPref, med and
 * linkBandwidth have one value: two different ones are a contradiction that only the user can resolve.
 */
function unite(group: readonly ResolvedAdvertisement[], text: string, peer: string): RouteIntent | Reason {
  const localPref = onlyValue(group, ({ advertisement }) => (advertisement.localPref === 0 ? undefined : advertisement.localPref));
  const med = onlyValue(group, ({ advertisement }) => advertisement.med);
  const [first] = group;
  const bandwidth = onlyValue(group, ({ linkBandwidth }) => linkBandwidth && JSON.stringify(linkBandwidth));
  for (const [field, value] of [
    ['localPref', localPref],
    ['med', med],
    ['linkBandwidth', bandwidth],
  ] as const) {
    if (value !== 'conflict') continue;
    const names = group.map(({ advertisement }) => `"${advertisement.metadata.name}"`).toSorted();
    return reason('ConflictingAdvertisements', { prefix: text, peer, advertisements: names.join(', '), field });
  }
  if (first === undefined) throw new RangeError('a prefix comes from at least one advertisement');
  return {
    prefix: first.prefix,
    communities: uniteCommunities(group.flatMap(({ communities }) => communities)),
    ...(typeof localPref === 'number' ? { localPref } : {}),
    ...(typeof med === 'number' ? { med } : {}),
    asPathPrepend: Math.max(...group.map(({ advertisement }) => advertisement.asPathPrepend)),
    ...defined({ linkBandwidth: group.find(({ linkBandwidth }) => linkBandwidth !== undefined)?.linkBandwidth }),
    aggregate: !isHostPrefix(first.prefix),
  };
}

function onlyValue<T extends number | string>(
  group: readonly ResolvedAdvertisement[],
  field: (resolved: ResolvedAdvertisement) => T | undefined,
): T | undefined | 'conflict' {
  const values = new Set(group.flatMap((resolved) => field(resolved) ?? []));
  if (values.size > 1) return 'conflict';
  const [only] = values;
  return only;
}
