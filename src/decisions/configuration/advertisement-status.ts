import { defined } from '../../lang/defined.ts';
import type { BGPAdvertisement } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { anySelects, selects } from '../../model/objects/label-selector.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { resolveCommunity } from '../announcement/communities.ts';
import type { ObjectStatus } from './object-status.ts';

/** Computes the status: every named object must exist, and a pool, a peer and a node must match. */
export function advertisementStatus(advertisement: BGPAdvertisement, snapshot: Snapshot): ObjectStatus {
  const refused = whyRefused(advertisement, snapshot);
  const lacking = whatIsLacking(advertisement, snapshot);
  const { name } = advertisement.metadata;
  // An advertisement with an unknown name may still work for its other names.
  const unready = lacking === undefined ? communityOf(refused) : reason('AdvertisesNothing', { advertisement: name, lacking });
  return { ...defined({ refused, unready }), fields: {} };
}

/** A route whose community is unknown is not sent at all. */
function communityOf(refused: Reason | undefined): Reason | undefined {
  return refused?.code === 'UnknownCommunity' ? refused : undefined;
}

function whyRefused({ metadata: { name }, ipAddressPools, peers, communities }: BGPAdvertisement, snapshot: Snapshot): Reason | undefined {
  const community = communities.find((one) => !resolveCommunity(one, snapshot.communities.values()).ok);
  if (community !== undefined) return reason('UnknownCommunity', { community, advertisement: name });
  const pool = ipAddressPools.find((one) => !snapshot.pools.has(one));
  if (pool !== undefined) return reason('UnknownPool', { advertisement: name, pool });
  const peer = peers.find((one) => !snapshot.peers.has(one));
  return peer === undefined ? undefined : reason('UnknownPeer', { advertisement: name, peer });
}

function whatIsLacking(advertisement: BGPAdvertisement, { pools, peers, nodes }: Snapshot): string | undefined {
  const { addressTypes, ipAddressPools, ipAddressPoolSelectors, nodeSelectors } = advertisement;
  const everyPool = ipAddressPools.length === 0 && ipAddressPoolSelectors.length === 0;
  const hasPool = [...pools.values()].some(
    ({ metadata: { name, labels } }) =>
      everyPool || ipAddressPools.includes(name) || ipAddressPoolSelectors.some((selector) => selects(selector, labels)),
  );
  if (addressTypes.every((type) => type === 'LoadBalancer') && !hasPool) return 'it is about no IPAddressPool that exists';
  const itsPeers = [...peers.values()].filter(
    ({ metadata: { name } }) => advertisement.peers.length === 0 || advertisement.peers.includes(name),
  );
  if (itsPeers.length === 0) return 'it is for no BGPPeer that exists';
  const itsNodes = [...nodes.values()].filter(({ metadata: { labels } }) => anySelects(nodeSelectors, labels));
  if (itsNodes.length === 0) return 'its nodeSelectors select no node';
  const hasBoth = itsNodes.some(({ metadata: { labels } }) => itsPeers.some((peer) => anySelects(peer.nodeSelectors, labels)));
  return hasBoth ? undefined : 'no node that it selects is one that its BGPPeers select';
}
