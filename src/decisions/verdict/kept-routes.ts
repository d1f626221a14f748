import { noAdvertise } from '../announcement/communities.ts';
import type { RouteIntent } from '../announcement/route.ts';
import type { Reason } from '../../model/reasons.ts';

interface SentToPeer {
  /** Why the peer has no routes. */
  readonly reason?: Reason;
  readonly intents?: readonly RouteIntent[];
}

/** What a node does for an address. */
interface SentAddress {
  readonly address: string;
  readonly type: string;
  readonly peers: readonly SentToPeer[];
  readonly notPassedOn?: true;
  readonly l2?: unknown;
}

/** What to do about routes that routers pass on to nobody. */
export const keptByRouters =
  'Their routes carry no-advertise (spec.communities of the BGPAdvertisement), so routers pass them on to nobody: remove it, unless these routers are the gateways of all clients.';

/** True when each route that a node sends carries no-advertise (RFC 1997). */
export function isKept(peers: readonly SentToPeer[]): boolean {
  const sent = peers.flatMap(({ reason, intents = [] }) => (reason === undefined ? intents : []));
  const isOne = ({ communities }: (typeof sent)[number]): boolean =>
    communities.some((one) => one.kind === 'standard' && one.value === noAdvertise);
  return sent.length > 0 && sent.every(isOne);
}

/** True when routers pass no route to these addresses on, and no node answers for them on a link. */
export function areKeptByRouters(nodes: readonly { readonly addresses: readonly SentAddress[] }[], wanted: readonly string[]): boolean {
  const isSent = ({ address, type, peers }: SentAddress): boolean =>
    type !== 'ClusterIP' && wanted.includes(address) && peers.some(({ reason }) => reason === undefined);
  const views = nodes.flatMap(({ addresses }) => addresses.filter((view) => isSent(view) || view.l2 !== undefined));
  return views.length > 0 && views.every(({ notPassedOn, l2 }) => notPassedOn === true && l2 === undefined);
}
