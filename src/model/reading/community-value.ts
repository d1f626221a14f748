import { parsed, invalid, type Parsed } from '../../net/parsed.ts';

const wellKnown = new Set(['no-export', 'no-advertise', 'no-export-subconfed', 'no-peer', 'graceful-shutdown', 'blackhole', 'accept-own']);

/** Reads a value: "65000:100" (RFC 1997) or "large:1:2:3" (RFC 8092). Returns the text as written. */
export function parseCommunityValue(text: string): Parsed<string> {
  const large = text.startsWith('large:');
  const parts = (large ? text.slice('large:'.length) : text).split(':');
  const max = large ? 2 ** 32 - 1 : 65_535;
  const fits = parts.every((part) => /^(0|[1-9][0-9]{0,9})$/.test(part) && Number(part) <= max);
  if (fits && parts.length === (large ? 3 : 2)) return parsed(text);
  return invalid('not a community: write 65000:100 with numbers to 65535, or large:4200000000:1:2');
}

/** Reads a community of an advertisement: a value, a well-known name, or an alias, which is resolved later. */
export function parseCommunity(text: string): Parsed<string> {
  if (text.includes(':')) return parseCommunityValue(text);
  if (wellKnown.has(text) || isAlias(text)) return parsed(text);
  return invalid('neither a community nor a name of one');
}

const isAlias = (text: string): boolean => /^[A-Za-z][\w.-]{0,62}$/.test(text);
