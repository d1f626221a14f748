import { defined } from '../../lang/defined.ts';
import { formatCommunity, type AdvertisedRoute, type Community, type Family, type Peer } from '../../bgp/index.ts';
import type { LiveRoute, Page } from '../../live/contract.ts';
import { limits } from '../../live/limits.ts';
import { LiveQueryError, type LiveQuery } from '../../live/query.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { octetsOfMegabit } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import type { AnnouncedRoutes } from '../reconcile/announced-routes.ts';

const families = { IPv4: 4, IPv6: 6 } as const;
const familyNames = ['IPv4', 'IPv6'] as const;

export const routeParameters = ['peer', 'family', 'service'] as const;

/** Returns a page of the routes that the peers were sent. Throws LiveQueryError. */
export function liveRoutes(
  peers: ReadonlyMap<string, Peer>,
  table: AnnouncedRoutes,
  query: LiveQuery,
): Pick<Page<LiveRoute>, 'items' | 'next'> {
  const [wanted, service] = [query.text('peer'), query.text('service')];
  const family = query.oneOf('family', familyNames);
  const asked = [...peers]
    .map(([name, peer]) => ({ name, peer }))
    .filter(({ name }) => wanted === undefined || name === wanted)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const inFamilies = family === undefined ? familyNames : [family];
  if (service !== undefined) return { items: asked.flatMap((one) => routesOfService(one, table, service as ServiceKey, inFamilies)) };
  const items: LiveRoute[] = [];
  const after = query.after === undefined ? undefined : parsePosition(query.after);
  for (const { name: peerName, peer } of asked) {
    for (const name of inFamilies) {
      const order = compare(peerName, families[name], after);
      if (order < 0) continue;
      for (const route of peer.advertised(families[name], order === 0 ? after?.at : 0)) {
        // A route beyond the limit shows that there is another page.
        if (items.length === query.limit) return { items, next: `${peerName} ${families[name]} ${route.at - 1}` };
        items.push(liveRoute(peerName, name, route, table));
      }
    }
  }
  return { items };
}

/** Returns the routes of one Service. They are few, and this finds them without reading all routes. */
function routesOfService(
  { name: peerName, peer }: { readonly name: string; readonly peer: Peer },
  table: AnnouncedRoutes,
  service: ServiceKey,
  inFamilies: readonly LiveRoute['family'][],
): LiveRoute[] {
  return (table.routesOf(service).get(peerName) ?? []).flatMap(({ prefix }) => {
    const family = familyNames.find((name) => families[name] === prefix.address.family);
    const sent = peer.advertisedRoute(prefix);
    return family === undefined || sent === undefined || !inFamilies.includes(family) ? [] : [liveRoute(peerName, family, sent, table)];
  });
}

function liveRoute(peer: string, family: LiveRoute['family'], route: AdvertisedRoute, table: AnnouncedRoutes): LiveRoute {
  const prefix = formatPrefix(route.prefix);
  const services = [...table.wantedBy(peer, prefix)].toSorted();
  return {
    peer,
    family,
    prefix,
    nextHops: route.nextHops.map(formatAddress),
    asPath: route.asPath,
    ...defined({
      localPref: route.localPref,
      med: route.med,
      linkBandwidth: route.linkBandwidth && route.linkBandwidth / octetsOfMegabit,
    }),
    communities: route.communities.map(communityText),
    services: services.slice(0, limits.servicesOfRoute),
    ...(services.length > limits.servicesOfRoute ? { moreServices: services.length - limits.servicesOfRoute } : {}),
    ...(route.isChanging ? { changing: true } : {}),
  };
}

/** Writes a community in numbers, as the tables of the command line do. */
function communityText(community: Community): string {
  if (community.kind !== 'standard') return formatCommunity(community);
  return `${community.value >>> 16}:${community.value & 0xffff}`;
}

interface PagePosition {
  readonly peer: string;
  readonly family: Family;
  readonly at: number;
}

function parsePosition(text: string): PagePosition {
  const [, peer, family, at] = /^(\S+) ([46]) (\d{1,10})$/.exec(text) ?? [];
  if (peer === undefined)
    throw new LiveQueryError('after is not the end of a page', 'give the "next" of the page before, and nothing else');
  return { peer, family: family === '4' ? 4 : 6, at: Number(at) };
}

/** Compares the routes of a peer and a family with a position: negative: they come before it; positive: after it; 0: it is among them. */
function compare(peer: string, family: Family, place: PagePosition | undefined): number {
  if (place === undefined) return 1;
  return peer === place.peer ? family - place.family : peer < place.peer ? -1 : 1;
}
