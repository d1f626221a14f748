import type { Family } from '../../net/address.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';

/** The port for routes that make an address inside an announced aggregate unreachable where no service owns it. */
export interface UnreachableRouteTable {
  list(): Promise<RoutesFound>;
  /**
   * Adds and removes in one go, additions first, with the rules that they need. Adding what is there and removing what is not
   * succeed. Where it rejects, some may have been changed: one at fault does not keep out the others.
   */
  change(add: readonly Prefix[], remove: readonly Prefix[]): Promise<void>;
  /** Calls back when somebody else may have changed our routes or rules, until the result is called. Absent: one has to look. */
  readonly watch?: ((changed: () => void) => () => void) | undefined;
  /** Nothing is called afterwards; routes and rules stay. */
  close(): void;
}

interface RoutesFound {
  /** Our unreachable routes, of both families: those with `routeProtocol` in `routingTable`. */
  readonly prefixes: readonly Prefix[];
  /** The families without our rule: nothing consults their routes. Absent: none. */
  readonly unruled?: ReadonlySet<Family>;
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

const families: readonly Family[] = [4, 6];

export function familiesOf(prefixes: readonly Prefix[]): Family[] {
  return families.filter((family) => prefixes.some(({ address }) => address.family === family));
}

/** What is there of both families, as one asks for each: its routes, and whether it has our rule. */
export async function findRoutes(
  routesOf: (family: Family) => Promise<readonly Prefix[]>,
  hasRule: (family: Family) => Promise<boolean>,
): Promise<RoutesFound> {
  const prefixes: Prefix[] = [];
  const unruled = new Set<Family>();
  for (const family of families) {
    prefixes.push(...(await routesOf(family)));
    if (!(await hasRule(family))) unruled.add(family);
  }
  return { prefixes, unruled };
}

/** What to add and remove so that exactly `desired` is there. A route that nothing consults is added anew, with its rule. */
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
