import { reason, type Reason } from '../../model/reasons.ts';
import { compareAddresses, formatAddress, isLinkLocal, type Address } from '../../net/address.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { RouteHop } from '../../net/route-hop.ts';
import { guardedPeerOf, guardedRangeOf, interfaceTo, type ConnectedNetwork, type GuardedDestinations } from './guarded-ranges.ts';
import { limits } from './limits.ts';

/** A route that the import rules of a peer accepted, as far as this decision needs it. */
export interface ReceivedCandidate {
  readonly prefix: Prefix;
  /** A global IPv6 address may be followed by the link-local one (RFC 2545 3). */
  readonly nextHops: readonly Address[];
  readonly from: { readonly peer: string; readonly address: Address };
}

/** The result of route selection by RFC 4271 9.1. */
export interface SelectedRoutes<R> {
  /** The routes that are equally good, the best one first. */
  readonly multipath: readonly R[];
  /** All but the best one, also those of `multipath`. */
  readonly eliminated: readonly {
    readonly route: R;
    readonly step: string;
    readonly by: R;
    readonly value: number | string;
    readonly better: number | string;
  }[];
}

/** Knowledge of the node when it decides. */
export interface ReceivedContext {
  readonly guarded: GuardedDestinations;
  /** The networks of the node's interfaces that are up. */
  readonly networks: readonly ConnectedNetwork[];
  /** Returns the interface that the session with a peer is bound to. Undefined: none. */
  readonly sessionInterface: (peer: string) => string | undefined;
}

export type ReceivedVerdict<R> =
  | { readonly route: R; readonly hop: RouteHop; readonly reason?: never }
  | { readonly route: R; readonly reason: Reason; readonly hop?: never };

export interface ReceivedDecision<R> {
  /** The next hops of the route in the kernel, sorted. Empty: the node takes none of the routes. */
  readonly hops: readonly RouteHop[];
  /** One for each candidate: the next hop that it adds, or why it adds none. */
  readonly verdicts: readonly ReceivedVerdict<R>[];
}

/**
 * Decides which of the accepted routes of one prefix this node takes. Routes that it cannot use are left out before the selection, so that
 * a usable route never loses against them (RFC 4271 9.1.2). `select` is the route selection; it returns undefined for no routes.
 */
export function decideReceived<R extends ReceivedCandidate>(
  candidates: readonly R[],
  context: ReceivedContext,
  select: (routes: readonly R[]) => SelectedRoutes<R> | undefined,
): ReceivedDecision<R> {
  const verdicts: ReceivedVerdict<R>[] = [];
  const usable = new Map<R, RouteHop>();
  for (const route of candidates) {
    const hop = hopOf(route, context);
    if ('code' in hop) verdicts.push({ route, reason: hop });
    else usable.set(route, hop);
  }
  const selected = select([...usable.keys()]);
  const hops = new Map<string, RouteHop>();
  for (const route of selected?.multipath ?? []) {
    const hop = usable.get(route);
    if (hop === undefined) continue;
    const key = hopKey(hop);
    if (hops.has(key) || hops.size < limits.nextHops) {
      hops.set(key, hop);
      verdicts.push({ route, hop });
    } else verdicts.push({ route, reason: reason('ReceivedNextHopsFull', { ...named(route), limit: limits.nextHops }) });
  }
  const equal = new Set(selected?.multipath);
  for (const { route, step, by, value, better } of selected?.eliminated ?? []) {
    if (equal.has(route)) continue;
    const details = { ...named(route), other: by.from.peer, step, value: String(value), better: String(better) };
    verdicts.push({ route, reason: reason('ReceivedRouteNotBest', details) });
  }
  return { hops: [...hops.values()].sort(compareHops), verdicts };
}

/** Returns the next hop through which the node would use the route, or why it does not use it. */
function hopOf(route: ReceivedCandidate, { guarded, networks, sessionInterface }: ReceivedContext): RouteHop | Reason {
  const { prefix, nextHops, from } = route;
  const range = guardedRangeOf(guarded, prefix);
  if (range !== undefined) {
    return reason('ReceivedRouteInsideCluster', { ...named(route), range: formatPrefix(range.prefix), from: range.from });
  }
  const other = guardedPeerOf(guarded, prefix);
  if (other !== undefined) return reason('ReceivedRouteToPeer', { ...named(route), other });
  for (const address of nextHops) {
    // A link-local address is on every link: only the session tells which one is meant.
    const through = isLinkLocal(address)
      ? (sessionInterface(from.peer) ?? interfaceTo(networks, from.address))
      : interfaceTo(networks, address);
    if (through !== undefined) return { address, interface: through };
  }
  return reason('ReceivedNextHopNotOnLink', { ...named(route), nextHop: nextHops.map(formatAddress).join(' ') });
}

function named({ prefix, from }: ReceivedCandidate): { readonly peer: string; readonly prefix: string } {
  return { peer: from.peer, prefix: formatPrefix(prefix) };
}

const hopKey = (hop: RouteHop): string => `${formatAddress(hop.address)} ${hop.interface}`;

function compareHops(a: RouteHop, b: RouteHop): number {
  return compareAddresses(a.address, b.address) || (a.interface < b.interface ? -1 : Number(a.interface > b.interface));
}
