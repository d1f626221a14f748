import { isRecord } from '../../lang/is-record.ts';
import { parseAddress } from '../../net/address.ts';
import { formatPrefix, parsePrefix, prefixContains } from '../../net/prefix.ts';

/**
 * What a router has. `best`: it uses a route to the prefix, with these next hops. `covered`: only to a larger one. `unusable`: it knows
 * routes and uses none of them. `none`: it has none. `unread`: the text is not understood, so it is shown. `failed`: the command failed.
 */
export type RouterAnswer =
  | { readonly has: 'best'; readonly nextHops: readonly string[] }
  | { readonly has: 'covered'; readonly by: string; readonly nextHops: readonly string[] }
  | { readonly has: 'unusable'; readonly nextHops: readonly string[] }
  | { readonly has: 'none' }
  | { readonly has: 'unread'; readonly text: string }
  | { readonly has: 'failed'; readonly why: string };

/** Reads the answer of a router about a prefix: JSON or "not in table" of FRR, or the text of BIRD. `most`: characters of a text that is shown. */
export function readRouterAnswer(text: string, prefix: string, most: number): RouterAnswer {
  const unread = { has: 'unread', text: text.trim().slice(0, most) } as const;
  if (/^% Network not in table\s*$/m.test(text) || /^Network not (?:found|in table)\s*$/im.test(text)) return { has: 'none' };
  const routes = jsonRoutes(text, prefix) ?? birdRoutes(text);
  if (routes === undefined) return unread;
  const covering = routes.filter((route) => contains(route.prefix, prefix));
  if (covering.length === 0) return routes.length === 0 ? { has: 'none' } : unread;
  const used = covering.filter((route) => route.isUsed);
  const nextHops = [...new Set((used.length > 0 ? used : covering).flatMap((route) => route.nextHops))].toSorted();
  if (used.length === 0) return { has: 'unusable', nextHops };
  const by = used[0]?.prefix ?? prefix;
  return by === prefix ? { has: 'best', nextHops } : { has: 'covered', by, nextHops };
}

interface Route {
  readonly prefix: string;
  readonly isUsed: boolean;
  readonly nextHops: readonly string[];
}

/**
 * Reads FRR's "show bgp FAMILY unicast PREFIX json" (an object with `paths`) and "show ip route PREFIX json" (a list for each prefix).
 * Undefined: the text is no such JSON. FRR answers {} when there is no route.
 */
function jsonRoutes(text: string, asked: string): Route[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  if (Array.isArray(value['paths'])) {
    const prefix = prefixText(value['prefix']) ?? asked;
    return value['paths'].filter(isRecord).map((path) => ({ prefix, isUsed: isBest(path), nextHops: nextHopsOf(path) }));
  }
  const lists = Object.entries(value);
  if (lists.some(([prefix, routes]) => prefixText(prefix) === undefined || !Array.isArray(routes))) return undefined;
  return lists.flatMap(([prefix, routes]) =>
    (routes as unknown[]).filter(isRecord).map((route) => ({
      prefix: prefixText(prefix) ?? prefix,
      isUsed: route['selected'] === true,
      nextHops: nextHopsOf(route),
    })),
  );
}

function isBest({ bestpath, multipath }: Record<string, unknown>): boolean {
  return (isRecord(bestpath) && bestpath['overall'] === true) || multipath === true;
}

/** A next hop may have a global and a link-local address, each as an entry. The global one says more. */
function nextHopsOf({ nexthops }: Record<string, unknown>): string[] {
  const all = (Array.isArray(nexthops) ? nexthops : []).filter(isRecord).flatMap(({ ip, directlyConnected, interfaceName }) => {
    if (typeof ip === 'string') return parseAddress(ip).ok ? [ip] : [];
    return directlyConnected === true && typeof interfaceName === 'string' ? [interfaceName] : [];
  });
  const global = all.filter((one) => !one.startsWith('fe80:'));
  return global.length > 0 ? global : all;
}

/**
 * Reads BIRD's "show route": a line "PREFIX TYPE [PROTOCOL TIME] * (PREFERENCE)", of which later routes to the same prefix leave out the
 * prefix, and lines "via ADDRESS on INTERFACE". The asterisk marks the route that is used. Undefined: the text has no such line.
 */
function birdRoutes(text: string): Route[] | undefined {
  const routes: { prefix: string; isUsed: boolean; nextHops: string[] }[] = [];
  let prefix: string | undefined;
  for (const line of text.split('\n')) {
    const head = /^(\S+\/\d+)?\s+(?:unicast|blackhole|unreachable|prohibit)\s+\[[^\]]*\]\s*(\*)?/.exec(line);
    if (head !== null) {
      prefix = prefixText(head[1]) ?? (head[1] === undefined ? prefix : undefined);
      if (prefix !== undefined) routes.push({ prefix, isUsed: head[2] === '*', nextHops: [] });
      continue;
    }
    const via = /^\s+via\s+(\S+)\s+on\s/.exec(line)?.[1];
    if (via !== undefined && parseAddress(via).ok) routes.at(-1)?.nextHops.push(via);
  }
  return routes.length === 0 ? undefined : routes;
}

function prefixText(value: unknown): string | undefined {
  const read = typeof value === 'string' ? parsePrefix(value) : undefined;
  return read?.ok === true ? formatPrefix(read.value) : undefined;
}

function contains(outer: string, inner: string): boolean {
  const [large, small] = [parsePrefix(outer), parsePrefix(inner)];
  return large.ok && small.ok && large.value.length <= small.value.length && prefixContains(large.value, small.value.address);
}
