import { noAdvertise } from '../announcement/communities.ts';
import type { AddressView, NodeView, PeerView } from './node-view.ts';

/** What to do about routes that routers pass on to nobody. */
export const keptByRouters =
  'Their routes carry no-advertise (spec.communities of the BGPAdvertisement), so routers pass them on to nobody: remove it, unless these routers are the gateways of all clients.';

/** True when each route that a node sends carries no-advertise (RFC 1997). */
export function isKept(peers: readonly Pick<PeerView, 'intents' | 'reason'>[]): boolean {
  const sent = peers.flatMap(({ reason, intents = [] }) => (reason === undefined ? intents : []));
  const isOne = ({ communities }: (typeof sent)[number]): boolean =>
    communities.some((one) => one.kind === 'standard' && one.value === noAdvertise);
  return sent.length > 0 && sent.every(isOne);
}

/** True when routers pass no route to these addresses on, and no node answers for them on a link. */
export function areKeptByRouters(nodes: readonly Pick<NodeView, 'addresses'>[], wanted: readonly string[]): boolean {
  const isSent = ({ address, type, peers }: AddressView): boolean =>
    type !== 'ClusterIP' && wanted.includes(address) && peers.some(({ reason }) => reason === undefined);
  const views = nodes.flatMap(({ addresses }) => addresses.filter((view) => isSent(view) || view.l2 !== undefined));
  return views.length > 0 && views.every(({ notPassedOn, l2 }) => notPassedOn === true && l2 === undefined);
}
