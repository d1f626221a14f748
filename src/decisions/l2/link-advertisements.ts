import { anySelects } from '../../model/objects/label-selector.ts';
import type { Labels } from '../../model/objects/metadata.ts';
import { l2AdvertisementDefaults } from '../../model/kinds/l2-advertisement.ts';
import type { BGPAdvertisement, BGPPeer, L2Advertisement } from '../../model/kinds/types.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { balancedAdvertisements } from '../announcement/pool-of-address.ts';

type L2Fields = Omit<L2Advertisement, 'kind' | 'apiVersion' | 'status'>;

/**
 * An L2Advertisement, or a BGPAdvertisement whose addresses are answered on local links as by an L2Advertisement with the same selectors and
 * without interfaces.
 */
export type LinkAdvertisement = L2Fields &
  ({ readonly kind: 'L2Advertisement' } | { readonly kind: 'BGPAdvertisement'; readonly peers: BGPAdvertisement['peers'] });

type Advertisements = Pick<Snapshot, 'advertisements' | 'l2Advertisements' | 'config'>;

/** Returns whether nodes may answer ARP or NDP for addresses of Services. */
export function usesLinks({ advertisements, l2Advertisements, config }: Advertisements): boolean {
  return l2Advertisements.size > 0 || (config.answerOnLocalLinks && advertisements.size > 0);
}

/** Returns whether nodes report their links: also for BGPAdvertisements, because their addresses may lie in the network of a link. */
export function reportsLinks({ advertisements, l2Advertisements }: Pick<Snapshot, 'advertisements' | 'l2Advertisements'>): boolean {
  return l2Advertisements.size > 0 || advertisements.size > 0;
}

/** Returns the L2Advertisements by name, and then with `answerOnLocalLinks` the BGPAdvertisements of load balancer addresses by name. */
export function linkAdvertisements(snapshot: Advertisements): readonly LinkAdvertisement[] {
  const derived = snapshot.config.answerOnLocalLinks ? balancedAdvertisements(snapshot).map(onLocalLinks) : [];
  return [...byName(snapshot.l2Advertisements.values()), ...byName(derived)];
}

/** Returns whether a node with these labels has a peer to which the advertisement goes. An L2Advertisement needs none. */
export function hasPeerFor(advertisement: LinkAdvertisement, peers: Iterable<BGPPeer>, labels: Labels): boolean {
  if (advertisement.kind === 'L2Advertisement') return true;
  const { peers: names } = advertisement;
  return [...peers].some(
    ({ metadata: { name }, nodeSelectors }) => (names.length === 0 || names.includes(name)) && anySelects(nodeSelectors, labels),
  );
}

function onLocalLinks(advertisement: BGPAdvertisement): LinkAdvertisement {
  const { kind, metadata, ipAddressPools, ipAddressPoolSelectors, nodeSelectors, serviceSelectors, peers } = advertisement;
  const selecting = { ipAddressPools, ipAddressPoolSelectors, nodeSelectors, serviceSelectors, peers };
  return { ...l2AdvertisementDefaults, kind, metadata, ...selecting };
}

function byName<A extends Pick<LinkAdvertisement, 'metadata'>>(advertisements: Iterable<A>): A[] {
  return [...advertisements].toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
