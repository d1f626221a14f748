import { parsed, invalid, type Parsed } from '../../net/parsed.ts';
import * as wellKnownCommunities from '../wire/attributes/well-known-communities.ts';
import type { Community } from '../route.ts';
import { linkBandwidthOf } from '../wire/attributes/communities.ts';

/** The part of the IANA registry "BGP Well-known Communities" that a speaker may announce. By name: "no-export" is NO_EXPORT. */
const wellKnown: ReadonlyMap<string, Community> = new Map(
  Object.entries(wellKnownCommunities).map(([name, community]) => [name.toLowerCase().replaceAll('_', '-'), community]),
);

/** Parses "64512:100" (RFC 1997), "64512:1:2" or "large:64512:1:2" (RFC 8092), or a well-known name such as "no-export". */
export function parseCommunity(text: string): Parsed<Community> {
  const named = wellKnown.get(text);
  if (named !== undefined) return parsed(named);
  const numbers = text.replace(/^large:(?=\d+:\d+:\d+$)/, '').split(':');
  const most = numbers.length === 2 ? 0xffff : 0xffff_ffff;
  const [first, second, third, ...others] = numbers.map((digits) => (/^\d{1,10}$/.test(digits) ? Number(digits) : Infinity));
  if (first === undefined || second === undefined || others.length > 0 || Math.max(first, second, third ?? 0) > most) {
    return invalid('not a community: write 64512:100 with numbers to 65535, 64512:1:2 with numbers to 4294967295, or a name as no-export');
  }
  if (third === undefined) return parsed({ kind: 'standard', value: first * 0x1_0000 + second });
  return parsed({ kind: 'large', globalAdministrator: first, localData1: second, localData2: third });
}

/**
 * Formats a community as `parseCommunity` reads it, with well-known names. An extended community is shown as type, subtype and value in
 * hexadecimal.
 */
export function formatCommunity(community: Community): string {
  switch (community.kind) {
    case 'standard':
      return wellKnownNames.get(community.value) ?? `${community.value >>> 16}:${community.value & 0xffff}`;
    case 'large':
      return `large:${community.globalAdministrator}:${community.localData1}:${community.localData2}`;
    case 'extended': {
      const bandwidth = linkBandwidthOf(community);
      if (bandwidth !== undefined) return `link-bandwidth:${bandwidth.asn}:${bandwidth.bytesPerSecond}`;
      return `extended:${hex(community.type, 2)}:${hex(community.subtype, 2)}:${hex(community.value, 12)}`;
    }
  }
}

const wellKnownNames = new Map(
  [...wellKnown].flatMap(([name, community]) => (community.kind === 'standard' ? [[community.value, name] as const] : [])),
);

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
