import type { Prefix } from '../../net/prefix.ts';
import { formatPrefix } from '../../net/prefix.ts';

/** The port for routes that make an address inside an announced aggregate unreachable where no service owns it. */
export interface RouteTable {
  /** Our unreachable routes, of both families: those with `routeProtocol` in `routingTable`. */
  list(): Promise<readonly Prefix[]>;
  /** Adds and removes in one go, additions first. Adding what is there and removing what is not succeed. */
  change(add: readonly Prefix[], remove: readonly Prefix[]): Promise<void>;
}

/**
 * Marks our routes (rtm_protocol). Free in rtnetlink.h (up to 99, 186..192), in /etc/iproute2/rt_protos and in FRR's list
 * (186..198, where 196 is its static routes: zebra removes at start what carries its numbers).
 */
export const routeProtocol = 152;

/**
 * The routes are in a table of their own, which a rule consults for forwarded packets only: in the main table they would
 * also stop the node itself from reaching its services, as the kernel routes an outgoing packet before it is translated.
 */
export const routingTable = 152;

/** Before the main table, which is consulted at 32766. */
export const rulePreference = 32_152;

/** What to add and remove so that exactly `desired` is there. */
export function planRoutes(existing: readonly Prefix[], desired: readonly Prefix[]): { readonly add: Prefix[]; readonly remove: Prefix[] } {
  const have = new Map(existing.map((prefix) => [formatPrefix(prefix), prefix]));
  const want = new Map(desired.map((prefix) => [formatPrefix(prefix), prefix]));
  return {
    add: [...want].filter(([key]) => !have.has(key)).map(([, prefix]) => prefix),
    remove: [...have].filter(([key]) => !want.has(key)).map(([, prefix]) => prefix),
  };
}
