import type { Family } from '../../net/address.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';

/** The port for routes that make the addresses inside an announced aggregate unreachable, where no Service owns them. */
export interface UnreachableRouteTable {
  list(): Promise<RoutesFound>;
  /**
   * Adds and removes routes in one call, additions first, together with the rules that they need. Adding an existing route and removing a
   * missing one succeed. After a rejection some routes may have changed: a faulty route does not stop the others.
   */
  change(add: readonly Prefix[], remove: readonly Prefix[]): Promise<void>;
  /**
   * Calls back when another program may have changed our routes or rules, until the returned function is called. Absent: the caller must
   * poll.
   */
  readonly watch?: ((changed: () => void) => () => void) | undefined;
  /** No callback is called afterwards. Routes and rules stay. */
  close(): void;
}

export interface RoutesFound {
  /** Our unreachable routes of both families: those with `routeProtocol` in `routingTable`. */
  readonly prefixes: readonly Prefix[];
  /** The families without our rule, whose routes therefore have no effect. Absent: none. */
  readonly unruled?: ReadonlySet<Family>;
}

/**
 * Marks our routes (rtm_protocol). The number is free in rtnetlink.h (up to 99, 186..192), in /etc/iproute2/rt_protos and in FRR's list
 * (186..198, where 196 is its static routes: at start, zebra removes routes that carry its numbers).
 */
export const routeProtocol = 152;

/**
 * Our routes are in a separate table, which a rule consults for forwarded packets only. In the main table they would also stop the node
 * itself from reaching its Services, because the kernel routes an outgoing packet before it is translated.
 */
export const routingTable = 152;

/** Before the main table, which is consulted at 32766. */
export const rulePreference = 32_152;

export const families: readonly Family[] = [4, 6];

export function familiesOf(prefixes: readonly Prefix[]): Family[] {
  return families.filter((family) => prefixes.some(({ address }) => address.family === family));
}

/**
 * Returns the routes to add and remove so that exactly `desired` exists. A route without an effective rule is added again, together with
 * its rule.
 */
export function planRoutes(
  { prefixes, unruled }: RoutesFound,
  desired: readonly Prefix[],
): { readonly add: Prefix[]; readonly remove: Prefix[] } {
  const have = new Map(prefixes.map((prefix) => [formatPrefix(prefix), prefix]));
  const want = new Map(desired.map((prefix) => [formatPrefix(prefix), prefix]));
  const counts = (key: string, { address }: Prefix): boolean => have.has(key) && unruled?.has(address.family) !== true;
  return {
    add: [...want].filter(([key, prefix]) => !counts(key, prefix)).map(([, prefix]) => prefix),
    remove: [...have].filter(([key]) => !want.has(key)).map(([, prefix]) => prefix),
  };
}
