import { closestName } from '../../lang/closest-name.ts';
import { defined } from '../../lang/defined.ts';
import type { BGPAdvertisement, BGPPeer, L2Advertisement } from '../../model/kinds/types.ts';
import { anySelects } from '../../model/objects/label-selector.ts';
import type { Node } from '../../model/objects/cluster.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { coversPool } from '../announcement/advertisements.ts';
import { keeperOf } from '../announcement/pool-of-address.ts';
import { resolveCommunity } from '../announcement/communities.ts';
import type { ObjectStatus } from './object-status.ts';

/**
 * Computes the status of an advertisement: every named object must exist, and a pool, a node and, for BGP, a peer must match. An
 * advertisement with an unknown name may still work for its other names.
 */
export function advertisementStatus(advertisement: BGPAdvertisement | L2Advertisement, snapshot: Snapshot): ObjectStatus {
  const { kind, metadata } = advertisement;
  const refused = unknownName(advertisement, snapshot);
  const lacking = whatIsLacking(advertisement, snapshot);
  const unready =
    lacking === undefined ? communityOf(refused) : reason('AdvertisesNothing', { kind, advertisement: metadata.name, lacking });
  return { ...defined({ refused, unready }), fields: {} };
}

/** A route whose community is unknown is not sent at all. */
function communityOf(refused: Reason | undefined): Reason | undefined {
  return refused?.code === 'UnknownCommunity' ? refused : undefined;
}

function unknownName(advertisement: BGPAdvertisement | L2Advertisement, snapshot: Snapshot): Reason | undefined {
  const { kind, metadata, ipAddressPools } = advertisement;
  const { name } = metadata;
  const community =
    kind === 'BGPAdvertisement'
      ? advertisement.communities.find((one) => !resolveCommunity(one, snapshot.communities.values()).ok)
      : undefined;
  if (community !== undefined) return reason('UnknownCommunity', { community, advertisement: name });
  const pool = ipAddressPools.find((one) => !snapshot.pools.has(one));
  if (pool !== undefined) {
    const keeper = keeperOf(snapshot, advertisement, pool);
    return reason('UnknownPool', {
      kind,
      advertisement: name,
      pool,
      ...defined({ keeper }),
      ...meant(pool, snapshot.pools, ipAddressPools),
    });
  }
  const peers = kind === 'BGPAdvertisement' ? advertisement.peers : [];
  const peer = peers.find((one) => !snapshot.peers.has(one));
  return peer === undefined ? undefined : reason('UnknownPeer', { advertisement: name, peer, ...meant(peer, snapshot.peers, peers) });
}

/** A name that the advertisement has already is not what was meant. */
function meant(name: string, known: ReadonlyMap<string, unknown>, named: readonly string[]): { readonly meant?: string } {
  return defined({
    meant: closestName(
      name,
      [...known.keys()].filter((one) => !named.includes(one)),
    ),
  });
}

function whatIsLacking(advertisement: BGPAdvertisement | L2Advertisement, snapshot: Snapshot): string | undefined {
  const { pools, peers, nodes } = snapshot;
  const onlyPools = advertisement.kind === 'L2Advertisement' || advertisement.addressTypes.every((type) => type === 'LoadBalancer');
  const isAboutPool = [...pools.values()].some((pool) => coversPool(advertisement, pool));
  if (onlyPools && !isAboutPool && keeperOf(snapshot, advertisement) === undefined) return 'it is about no IPAddressPool that exists';
  const itsNodes = [...nodes.values()].filter(({ metadata: { labels } }) => anySelects(advertisement.nodeSelectors, labels));
  const noPeer = advertisement.kind === 'BGPAdvertisement' ? whichPeerIsLacking(advertisement, [...peers.values()], itsNodes) : undefined;
  return noPeer ?? (itsNodes.length === 0 ? noNode : undefined);
}

const noNode = 'its nodeSelectors select no node';

function whichPeerIsLacking({ peers: names }: BGPAdvertisement, peers: readonly BGPPeer[], itsNodes: readonly Node[]): string | undefined {
  const itsPeers = peers.filter(({ metadata: { name } }) => names.length === 0 || names.includes(name));
  if (itsPeers.length === 0) return 'it is for no BGPPeer that exists';
  if (itsNodes.length === 0) return noNode;
  const hasBoth = itsNodes.some(({ metadata: { labels } }) => itsPeers.some((peer) => anySelects(peer.nodeSelectors, labels)));
  return hasBoth ? undefined : 'no node that it selects is one that its BGPPeers select';
}
