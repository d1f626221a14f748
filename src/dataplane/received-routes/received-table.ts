import type { Family } from '../../net/address.ts';
import { formatHop, type RouteHop } from '../../net/route-hop.ts';
import type { Prefix } from '../../net/prefix.ts';

/** A route of Herald's table for received routes. */
export interface KernelRoute {
  readonly prefix: Prefix;
  /** Sorted, so that equal routes have equal text. Empty: packets to the prefix ignore this table (`throw`). */
  readonly hops: readonly RouteHop[];
}

/** The port for routes that peers announced, in a routing table of their own. */
export interface ReceivedRouteTable {
  list(): Promise<ReceivedRoutesFound>;
  /**
   * Sets and removes routes in one call, together with the rules that they need. Each is independent of the others: the result has the
   * error of those that the kernel refused, by index in `set`. Setting an existing route replaces it without a gap; removing a missing one
   * succeeds. Rejects (DataplaneError) when the rules cannot be changed.
   */
  change(set: readonly KernelRoute[], remove: readonly Prefix[]): Promise<ReadonlyMap<number, string>>;
  /** Calls back when another program may have changed our routes, until the returned function is called. */
  watch(changed: () => void): () => void;
  /** Releases the socket. The routes stay. */
  close(): void;
}

export interface ReceivedRoutesFound {
  /** Routes of both families with `receivedProtocol` in `receivedTable`. */
  readonly routes: readonly KernelRoute[];
  /** The families that lack one of our rules. */
  readonly unruled: ReadonlySet<Family>;
}

/** Marks our routes and rules (rtm_protocol). As free as the number beside it, see `routeProtocol` of unreachable routes. */
export const receivedProtocol = 153;

export const receivedTable = 153;

/**
 * Two rules, both before that of the main table (32766). The first one has every route of the main table but its default routes, so that
 * connected networks, pods and all else that the node knows precede received routes. The second one has the received routes. The default
 * route of the main table is used where no received one matches.
 */
export const receivedRulePreferences = { main: 32_160, received: 32_161 } as const;

/** Equal for equal routes to one prefix. */
export function routeText({ hops }: KernelRoute): string {
  return hops.map(formatHop).join(', ');
}
