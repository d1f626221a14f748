import { parsed, invalid, type Parsed } from '../../net/parsed.ts';
import type { Community } from '../../model/kinds/types.ts';
import type { RouteCommunity } from './route.ts';

/** Routers that get it pass the route on to nobody (RFC 1997). */
export const noAdvertise = 0xffff_ff02;
/** Routers that get it pass the route on to no other AS (RFC 1997). */
export const noExport = 0xffff_ff01;

/** The IANA registry "BGP Well-known Communities", under the names that router software uses. */
const wellKnown: Readonly<Record<string, number>> = {
  internet: 0,
  'graceful-shutdown': 0xffff_0000,
  'planned-shut': 0xffff_0000,
  'accept-own': 0xffff_0001,
  'route-filter-translated-v4': 0xffff_0002,
  'route-filter-v4': 0xffff_0003,
  'route-filter-translated-v6': 0xffff_0004,
  'route-filter-v6': 0xffff_0005,
  'llgr-stale': 0xffff_0006,
  'no-llgr': 0xffff_0007,
  blackhole: 0xffff_029a,
  'no-export': noExport,
  'no-advertise': noAdvertise,
  'no-export-subconfed': 0xffff_ff03,
  'local-as': 0xffff_ff03,
  'no-peer': 0xffff_ff04,
};

/**
 * Resolves a community as written in a BGPAdvertisement: a value, an alias or a well-known name. An alias may redefine a well-known name;
 * the first Community object by name wins.
 */
export function resolveCommunity(text: string, objects: Iterable<Community>): Parsed<RouteCommunity> {
  const value = readValue(text);
  if (value !== undefined) return parsed(value);
  const ordered = [...objects].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const alias = ordered.flatMap(({ communities }) => communities).find(({ name }) => name === text);
  const resolved = alias === undefined ? readWellKnown(text) : (readValue(alias.value) ?? readWellKnown(alias.value));
  return resolved === undefined ? invalid('neither a community nor the name of one') : parsed(resolved);
}

/** Total order: standard before large, then by value. */
function compareCommunities(a: RouteCommunity, b: RouteCommunity): number {
  if (a.kind === 'standard') return b.kind === 'standard' ? a.value - b.value : -1;
  if (b.kind === 'standard') return 1;
  return a.globalAdministrator - b.globalAdministrator || a.localData1 - b.localData1 || a.localData2 - b.localData2;
}

/** "65000:100" or "large:65000:1:2", as the objects write them. */
export function formatCommunity(community: RouteCommunity): string {
  if (community.kind === 'standard') return `${community.value >>> 16}:${community.value & 0xffff}`;
  return `large:${community.globalAdministrator}:${community.localData1}:${community.localData2}`;
}

/** Sorted, without duplicates. */
export function uniteCommunities(communities: Iterable<RouteCommunity>): RouteCommunity[] {
  const unique = new Map([...communities].map((community) => [formatCommunity(community), community]));
  return [...unique.values()].sort(compareCommunities);
}

function readValue(text: string): RouteCommunity | undefined {
  const large = text.startsWith('large:');
  const numbers = (large ? text.slice('large:'.length) : text).split(':');
  const limit = large ? 0xffff_ffff : 0xffff;
  const values = numbers.map((digits) => (/^[0-9]{1,10}$/.test(digits) && Number(digits) <= limit ? Number(digits) : undefined));
  const [first, second, third] = values;
  if (first === undefined || second === undefined) return undefined;
  if (!large) return values.length === 2 ? { kind: 'standard', value: first * 0x1_0000 + second } : undefined;
  if (third === undefined || values.length !== 3) return undefined;
  return { kind: 'large', globalAdministrator: first, localData1: second, localData2: third };
}

function readWellKnown(text: string): RouteCommunity | undefined {
  const value = Object.hasOwn(wellKnown, text) ? wellKnown[text] : undefined;
  return value === undefined ? undefined : { kind: 'standard', value };
}
