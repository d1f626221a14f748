import { bitsOf, formatAddress, isLinkLocal, parseAddress, type Address } from '../../net/address.ts';
import { defined } from '../../lang/defined.ts';
import { formatPrefix, parsePrefix, prefix as parsedPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import { parseCommunity } from './community-text.ts';
import { ListedPaths, tooManyPaths } from './listed-paths.ts';
import { maximumPrepend, routesPerTurn } from '../limits.ts';
import type { Community, Route } from '../route.ts';

/** The largest path identifier: it has 32 bits (RFC 7911 3). */
const maximumPathId = 0xffff_ffff;

/** A route as a program writes it: addresses and communities may be text. */
export interface RouteInput extends Omit<Route, 'prefix' | 'nextHop' | 'communities'> {
  /** For example "192.0.2.100/32", without bits beyond the length. */
  readonly prefix: Prefix | string;
  /** For example "10.0.0.7". */
  readonly nextHop?: Address | string;
  /** "64512:100" (RFC 1997), "64512:1:2" (RFC 8092), or a well-known name such as "no-export". */
  readonly communities?: readonly (Community | string)[];
}

/** The path of a prefix to withdraw. A prefix alone stands for its path with the identifier 1, which a route without identifier has. */
export type PathInput = Prefix | string | { readonly prefix: Prefix | string; readonly pathId?: number };

/** A route that cannot be announced because it is malformed. The message says what to write. */
export class RouteError extends Error {
  readonly code = 'ERR_BGP_ROUTE';
  readonly field: keyof RouteInput;

  constructor(field: keyof RouteInput, message: string) {
    super(`${field}: ${message}`);
    this.name = 'RouteError';
    this.field = field;
  }
}

/** Parses the text in a route. Returns the same object if it has no text. Throws RouteError. */
export function toRoute(input: RouteInput): Route {
  const { prefix, pathId, nextHop, communities, med, localPref, asPathPrepend } = input;
  checkNumber('pathId', pathId, maximumPathId, 1);
  checkNumber('med', med, 0xffff_ffff);
  checkNumber('localPref', localPref, 0xffff_ffff);
  checkNumber('asPathPrepend', asPathPrepend, maximumPrepend);
  checkPrefix(prefix);
  const hasText =
    typeof prefix === 'string' || typeof nextHop === 'string' || communities?.some((each) => typeof each === 'string') === true;
  if (!hasText) {
    const route = input as Route;
    if (nextHop !== undefined) checkNextHop(route.prefix, nextHop);
    return route;
  }
  const { communities: _, nextHop: __, ...rest } = input;
  const parsed = toPrefix(prefix);
  return {
    ...rest,
    prefix: parsed,
    ...(nextHop === undefined ? {} : { nextHop: toNextHop(parsed, nextHop) }),
    ...(communities === undefined ? {} : { communities: communities.map(toCommunity) }),
  };
}

/** Parses the path to withdraw. Throws RouteError. */
export function toPath(input: PathInput): Pick<Route, 'prefix' | 'pathId'> {
  if (typeof input === 'string' || !('prefix' in input)) return { prefix: toPrefix(input) };
  const { prefix, pathId } = input;
  checkNumber('pathId', pathId, maximumPathId, 1);
  return { prefix: toPrefix(prefix), ...defined({ pathId }) };
}

/**
 * Parses routes. A long list is parsed again as it is read, so that a hundred thousand parsed routes need not be in memory at once. Throws
 * RouteError before it returns.
 */
export function toRoutes(inputs: Iterable<RouteInput>): Iterable<Route> {
  // An iterable that can be read only once must be kept, and an array that its owner may change before it is read.
  const once: unknown = inputs[Symbol.iterator]();
  const kept = once === inputs || Array.isArray(inputs) ? [...inputs] : inputs;
  const parsed: Route[] = [];
  const paths = new ListedPaths();
  for (const input of kept) {
    const route = toRoute(input);
    if (route.pathId !== undefined) refuse(paths.problemOf(route.prefix, route.pathId));
    if (parsed.length < routesPerTurn) parsed.push(route);
  }
  if (paths.namesFirst) {
    for (const { prefix, pathId } of kept) if (pathId === undefined) refuse(paths.problemWithout(toPrefix(prefix)));
  }
  if (parsed.length < routesPerTurn) return parsed;
  return {
    *[Symbol.iterator]() {
      for (const input of kept) yield toRoute(input);
    },
  };
}

/** Refuses a path for which the prefix has no room. Throws RouteError. */
export function demandRoom({ prefix, pathId }: Route, routes: { hasRoomFor(prefix: Prefix, pathId: number): boolean }): void {
  if (pathId !== undefined && !routes.hasRoomFor(prefix, pathId)) refuse(tooManyPaths(prefix));
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new RouteError('pathId', problem);
}

/** Parses a prefix. A parsed prefix is checked and returned as it is. Throws RouteError. */
export function toPrefix(prefix: Prefix | string): Prefix {
  checkPrefix(prefix);
  if (typeof prefix !== 'string') return prefix;
  const result = parsePrefix(prefix);
  if (!result.ok) throw new RouteError('prefix', `${JSON.stringify(prefix)}: ${result.problem}`);
  return result.value;
}

/**
 * Checks a prefix that a program built itself. With an impossible length the router would end the session each time (RFC 4271 6.3). With
 * bits beyond the length two routes would be one to the router.
 */
function checkPrefix(prefix: Prefix | string): void {
  if (typeof prefix === 'string') return;
  const { address, length } = prefix;
  const bits = bitsOf(address.family);
  if (!Number.isInteger(length) || length < 0 || length > bits) {
    throw new RouteError('prefix', `${formatAddress(address)}: ${length} is not a length from 0 to ${bits}`);
  }
  if (length < bits && BigInt.asUintN(bits - length, address.value) !== 0n) {
    throw new RouteError('prefix', `${formatPrefix(prefix)} has bits beyond its length`);
  }
}

function toNextHop(prefix: Prefix, nextHop: Address | string): Address {
  if (typeof nextHop !== 'string') {
    checkNextHop(prefix, nextHop);
    return nextHop;
  }
  const result = parseAddress(nextHop);
  if (!result.ok) throw new RouteError('nextHop', `${JSON.stringify(nextHop)}: ${result.problem}`);
  checkNextHop(prefix, result.value);
  return result.value;
}

/** Checks that other routers can send packets to the next hop (RFC 4271 6.3). */
function checkNextHop(prefix: Prefix, nextHop: Address): void {
  const text = formatAddress(nextHop);
  if (prefix.address.family === 6 && nextHop.family === 4) {
    throw new RouteError('nextHop', `${text} is an IPv4 address: the IPv6 route ${formatPrefix(prefix)} needs an IPv6 next hop`);
  }
  if (isLinkLocal(nextHop)) {
    throw new RouteError('nextHop', `${text} is valid on one link only: set nextHop.ipv6LinkLocal of the peer on this link`);
  }
  if (noNextHops.some((range) => prefixContains(range, nextHop))) {
    throw new RouteError('nextHop', `${text} is no address of a router: give a unicast address that the peers can reach`);
  }
}

/** Unspecified, loopback, link-local and multicast addresses, and the reserved ones of IPv4. */
const noNextHops = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '::/127', 'ff00::/8'].map(parsedPrefix);

function toCommunity(community: Community | string): Community {
  if (typeof community !== 'string') return community;
  const result = parseCommunity(community);
  if (!result.ok) throw new RouteError('communities', `${JSON.stringify(community)}: ${result.problem}`);
  return result.value;
}

function checkNumber(field: keyof RouteInput, value: number | undefined, most: number, least = 0): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return;
  throw new RouteError(field, `${value} is not a whole number from ${least} to ${most}`);
}
