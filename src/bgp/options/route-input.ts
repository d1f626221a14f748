import { bitsOf, formatAddress } from '../../net/address.ts';
import { formatPrefix, parsePrefix, type Prefix } from '../../net/prefix.ts';
import { parseCommunity } from './community-text.ts';
import { maximumPrepend, routesPerTurn } from '../limits.ts';
import type { Community, Route } from '../route.ts';

/** A route as a program writes it: prefix and communities may be text. */
export interface RouteInput extends Omit<Route, 'prefix' | 'communities'> {
  /** For example "192.0.2.100/32", without bits beyond the length. */
  readonly prefix: Prefix | string;
  /** "64512:100" (RFC 1997), "64512:1:2" (RFC 8092), or a well-known name such as "no-export". */
  readonly communities?: readonly (Community | string)[];
}

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
  const { prefix, communities, med, localPref, asPathPrepend } = input;
  checkNumber('med', med, 0xffff_ffff);
  checkNumber('localPref', localPref, 0xffff_ffff);
  checkNumber('asPathPrepend', asPathPrepend, maximumPrepend);
  checkPrefix(prefix);
  if (typeof prefix !== 'string' && communities?.some((community) => typeof community === 'string') !== true) return input as Route;
  const { communities: _, ...rest } = input;
  const route: Route = { ...rest, prefix: toPrefix(prefix) };
  return communities === undefined ? route : { ...route, communities: communities.map(toCommunity) };
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
  for (const input of kept) {
    const route = toRoute(input);
    if (parsed.length < routesPerTurn) parsed.push(route);
  }
  if (parsed.length < routesPerTurn) return parsed;
  return {
    *[Symbol.iterator]() {
      for (const input of kept) yield toRoute(input);
    },
  };
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

function toCommunity(community: Community | string): Community {
  if (typeof community !== 'string') return community;
  const result = parseCommunity(community);
  if (!result.ok) throw new RouteError('communities', `${JSON.stringify(community)}: ${result.problem}`);
  return result.value;
}

function checkNumber(field: keyof RouteInput, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= most)) return;
  throw new RouteError(field, `${value} is not a whole number from 0 to ${most}`);
}
