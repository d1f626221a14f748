import { noAdvertise, noExport } from '../announcement/communities.ts';
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
  readonly notPassedOn?: KeepingCommunity;
  readonly l2?: unknown;
}

/** A community by which routers keep a route to themselves. */
export type KeepingCommunity = 'no-advertise' | 'no-export';

/** What to do about routes that routers do not pass on. */
const remedies: Readonly<Record<KeepingCommunity, string>> = {
  'no-advertise':
    'Their routes carry no-advertise (spec.communities of the BGPAdvertisement), so routers pass them on to nobody: remove it, unless these routers are the gateways of all clients.',
  'no-export':
    'Their routes carry no-export (spec.communities of the BGPAdvertisement), so routers pass them on to no other AS: remove it, unless all clients are behind routers of this AS.',
};

/** Returns the community when each route that a node sends carries it (RFC 1997). */
export function keepingCommunity(peers: readonly SentToPeer[]): KeepingCommunity | undefined {
  const sent = peers.flatMap(({ reason, intents = [] }) => (reason === undefined ? intents : []));
  const allCarry = (value: number): boolean =>
    sent.length > 0 && sent.every(({ communities }) => communities.some((one) => one.kind === 'standard' && one.value === value));
  if (allCarry(noAdvertise)) return 'no-advertise';
  return allCarry(noExport) ? 'no-export' : undefined;
}

/** Returns what to do where routers pass no route to these addresses on, and no node answers for them on a link. */
export function remedyOfKept(
  nodes: readonly { readonly addresses: readonly SentAddress[] }[],
  wanted: readonly string[],
): string | undefined {
  const isSent = ({ address, type, peers }: SentAddress): boolean =>
    type !== 'ClusterIP' && wanted.includes(address) && peers.some(({ reason }) => reason === undefined);
  const views = nodes.flatMap(({ addresses }) => addresses.filter((view) => isSent(view) || view.l2 !== undefined));
  const [first] = views;
  if (first?.notPassedOn === undefined || views.some(({ notPassedOn, l2 }) => notPassedOn === undefined || l2 !== undefined))
    return undefined;
  return remedies[first.notPassedOn];
}
