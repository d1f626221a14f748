import { compareAddresses, formatAddress, type Address } from '../../../net/address.ts';
import { formatPrefix } from '../../../net/prefix.ts';
import { asPathLength, neighbourAsn } from '../../wire/attributes/as-path.ts';
import { LLGR_STALE } from '../../wire/attributes/well-known-communities.ts';
import { hasCommunity } from './import-filter.ts';
import type { ReceivedRoute } from './received-route.ts';

/** The steps of route selection, in their order. */
export const selectionSteps = [
  /** A long-lived stale route loses against every other, also when another router marked it so with LLGR_STALE (RFC 9494 4.3). */
  'longLivedStale',
  /** The highest degree of preference (RFC 4271 9.1.1). */
  'localPref',
  /** The shortest AS_PATH (9.1.2.2 a). */
  'asPathLength',
  /** The lowest ORIGIN: IGP, then EGP, then incomplete (9.1.2.2 b). */
  'origin',
  /** The lowest MULTI_EXIT_DISC, among routes of the same neighbouring AS only; a missing one is 0 (9.1.2.2 c). */
  'med',
  /** External before internal peers (9.1.2.2 d). */
  'external',
  /** The lowest cost to the next hop (9.1.2.2 e). */
  'interiorCost',
  /** The lowest BGP identifier of the peer, or ORIGINATOR_ID (9.1.2.2 f; RFC 4456 9). */
  'routerId',
  /** The shortest CLUSTER_LIST (RFC 4456 9). */
  'clusterListLength',
  /** The lowest address of the peer (9.1.2.2 g). */
  'peerAddress',
  /** The lowest path identifier of one peer. RFC 7911 leaves this to the receiver. */
  'pathId',
  /** The first name of a peer. Only peers with one address come this far. */
  'peerName',
] as const;

export type SelectionStep = (typeof selectionSteps)[number];

/** A route that was not selected: the step that decided, and the route that was better in it. */
export interface EliminatedRoute {
  readonly route: ReceivedRoute;
  readonly step: SelectionStep;
  readonly by: ReceivedRoute;
  /** The values that were compared. Addresses are text. */
  readonly value: number | string;
  readonly better: number | string;
}

/** The result of route selection for one prefix. */
export interface Selection {
  readonly best: ReceivedRoute;
  /** The routes that are equal up to `interiorCost`, with the best one first: a router may forward over all of them. */
  readonly multipath: readonly ReceivedRoute[];
  /** The other routes, in the order in which they were eliminated. */
  readonly eliminated: readonly EliminatedRoute[];
}

export interface SelectionOptions {
  /** Returns the cost to a next hop. Infinity: it cannot be reached, and its routes are not considered. Default: 0 for all. */
  readonly interiorCost?: (nextHop: Address) => number;
}

/** The value that a step compares. The lowest is the best. */
type Value = number | string | Address;

/**
 * Selects the best route of one prefix (RFC 4271 9.1). Returns undefined if there is none. The result does not depend on the order of the
 * routes.
 */
export function selectBestPath(candidates: Iterable<ReceivedRoute>, options: SelectionOptions = {}): Selection | undefined {
  const { interiorCost = () => 0 } = options;
  const costOf = (route: ReceivedRoute): number => Math.min(...route.nextHops.map(interiorCost));
  const valueOf = (step: SelectionStep, route: ReceivedRoute): Value => (step === 'interiorCost' ? costOf(route) : values[step](route));
  let left = [...candidates].filter((route) => costOf(route) < Infinity).sort(compareSources);
  let multipath: readonly ReceivedRoute[] = [];
  const eliminated: EliminatedRoute[] = [];
  for (const step of selectionSteps) {
    const lowest = new Map<number | undefined, ReceivedRoute>();
    const groupOf = ({ asPath }: ReceivedRoute): number | undefined => (step === 'med' ? neighbourAsn(asPath) : undefined);
    for (const route of left) {
      const best = lowest.get(groupOf(route));
      if (best === undefined || compare(valueOf(step, route), valueOf(step, best)) < 0) lowest.set(groupOf(route), route);
    }
    left = left.filter((route) => {
      const by = lowest.get(groupOf(route));
      if (by === undefined || compare(valueOf(step, by), valueOf(step, route)) === 0) return true;
      eliminated.push({ route, step, by, value: shown(step, valueOf(step, route)), better: shown(step, valueOf(step, by)) });
      return false;
    });
    if (step === 'interiorCost') multipath = left;
  }
  const [best] = left;
  if (best === undefined) return undefined;
  return { best, multipath: [best, ...multipath.filter((route) => route !== best)], eliminated };
}

/** Selects the best route of each prefix. */
export function* selectBestPaths(candidates: Iterable<ReceivedRoute>, options: SelectionOptions = {}): Generator<Selection> {
  const byPrefix = new Map<string, ReceivedRoute[]>();
  for (const route of candidates) {
    const key = formatPrefix(route.prefix);
    const routes = byPrefix.get(key);
    if (routes === undefined) byPrefix.set(key, [route]);
    else routes.push(route);
  }
  for (const routes of byPrefix.values()) {
    const selection = selectBestPath(routes, options);
    if (selection !== undefined) yield selection;
  }
}

const origins = ['igp', 'egp', 'incomplete'] as const;

const values: Readonly<Record<Exclude<SelectionStep, 'interiorCost'>, (route: ReceivedRoute) => Value>> = {
  longLivedStale: ({ stale, communities }) => Number(stale === 'longLived' || hasCommunity(communities, LLGR_STALE)),
  localPref: ({ localPref }) => -localPref,
  asPathLength: ({ asPath }) => asPathLength(asPath),
  origin: ({ origin }) => origins.indexOf(origin),
  med: ({ med = 0 }) => med,
  external: ({ from }) => Number(from.internal),
  routerId: ({ originatorId, from }) => originatorId ?? from.routerId,
  clusterListLength: ({ clusterList = [] }) => clusterList.length,
  peerAddress: ({ from }) => from.address,
  pathId: ({ pathId = 0 }) => pathId,
  peerName: ({ from }) => from.peer,
};

/** Puts the routes into an order that does not depend on the order in which they arrived. */
function compareSources(a: ReceivedRoute, b: ReceivedRoute): number {
  for (const step of ['peerAddress', 'pathId', 'peerName'] as const) {
    const order = compare(values[step](a), values[step](b));
    if (order !== 0) return order;
  }
  return 0;
}

/** Both values are of one step, and so of one type. */
function compare(a: Value, b: Value): number {
  if (typeof a === 'object' && typeof b === 'object') return compareAddresses(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

function shown(step: SelectionStep, value: Value): number | string {
  if (typeof value === 'object') return formatAddress(value);
  if (step === 'localPref') return -Number(value);
  return step === 'origin' ? (origins[Number(value)] ?? value) : value;
}
