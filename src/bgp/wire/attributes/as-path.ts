import { asTrans } from '../codes.ts';
import { Reader } from '../reader.ts';
import { concat, octets, u16, u32 } from '../writer.ts';

/** A segment of AS_PATH (RFC 4271 4.3 b, RFC 5065 3): type (1) | number of ASNs (1) | ASNs (2 or 4 octets each). */
export interface AsPathSegment {
  readonly kind: 'set' | 'sequence' | 'confederationSequence' | 'confederationSet';
  readonly asns: readonly number[];
}

const kinds = [undefined, 'set', 'sequence', 'confederationSequence', 'confederationSet'] as const;
/** Largest number of ASNs that the count octet can hold. */
const longestSegment = 255;

/**
 * Decodes AS_PATH. Returns undefined if it is malformed: an unknown type, an empty segment, an overrun, or AS 0 (RFC 7606 7.2, RFC 7607 2).
 */
export function decodeAsPath(value: Uint8Array, fourOctets: boolean): AsPathSegment[] | undefined {
  const reader = new Reader(value);
  const segments: AsPathSegment[] = [];
  while (reader.left > 0) {
    const kind = kinds[reader.u8()];
    const count = reader.u8();
    const asns: number[] = [];
    for (let i = 0; i < count && !reader.overrun; i++) asns.push(fourOctets ? reader.u32() : reader.u16());
    if (reader.overrun || kind === undefined || count === 0 || asns.includes(0)) return undefined;
    segments.push({ kind, asns });
  }
  return segments;
}

/**
 * Encodes AS_PATH. For a 2-octet peer, ASNs that need four octets become AS_TRANS (RFC 6793 4.2.2). A segment of more than 255 ASNs is
 * split (RFC 4271 5.1.2 a 1), and an empty one is left out.
 */
export function encodeAsPath(segments: readonly AsPathSegment[], fourOctets: boolean): Uint8Array {
  const encodeAsn = (asn: number): readonly number[] => (fourOctets ? u32(asn) : u16(asn > 0xffff ? asTrans : asn));
  const blocks: Uint8Array[] = [];
  for (const { kind, asns } of segments) {
    for (let from = 0; from < asns.length; from += longestSegment) {
      const some = asns.slice(from, from + longestSegment);
      blocks.push(octets(kinds.indexOf(kind), some.length, ...some.map(encodeAsn)));
    }
  }
  return concat(blocks);
}

export const isConfederation = ({ kind }: AsPathSegment): boolean => kind === 'confederationSequence' || kind === 'confederationSet';

/**
 * Returns the length of a path for route selection: a set counts as one (RFC 4271 9.1.2.2 a), confederations do not count (RFC 5065 5.3).
 */
export function asPathLength(segments: readonly AsPathSegment[]): number {
  return segments.reduce((sum, segment) => sum + lengthOf(segment), 0);
}

/** Returns the AS that announced the route first. Undefined if the path is empty, or if that AS is hidden in a set or a confederation. */
export function originAsn(segments: readonly AsPathSegment[]): number | undefined {
  const last = segments.at(-1);
  return last?.kind === 'sequence' ? last.asns.at(-1) : undefined;
}

/** Returns the AS from which the route entered the local AS (RFC 4271 9.1.2.2 c). Undefined if the path has none outside a set. */
export function neighbourAsn(segments: readonly AsPathSegment[]): number | undefined {
  const first = segments.find((segment) => !isConfederation(segment));
  return first?.kind === 'sequence' ? first.asns[0] : undefined;
}

function lengthOf(segment: AsPathSegment): number {
  if (isConfederation(segment)) return 0;
  return segment.kind === 'set' ? 1 : segment.asns.length;
}

/**
 * Reconstructs the path behind a 2-octet peer (RFC 6793 4.2.3): AS4_PATH, preceded by the part of AS_PATH that it lacks. `aggregatorAsn` is
 * the AS number of AGGREGATOR, if there is one. An aggregator other than AS_TRANS means that AS4_PATH is outdated. So does an AS4_PATH that
 * is longer than AS_PATH.
 */
export function mergeAs4Path(
  asPath: readonly AsPathSegment[],
  as4Path: readonly AsPathSegment[] | undefined,
  aggregatorAsn?: number,
): readonly AsPathSegment[] {
  if (as4Path === undefined || (aggregatorAsn !== undefined && aggregatorAsn !== asTrans)) return asPath;
  // Confederation segments are not allowed in AS4_PATH (RFC 6793 3).
  const real = as4Path.filter((segment) => !isConfederation(segment));
  let more = asPathLength(asPath) - asPathLength(real);
  if (more < 0) return asPath;
  const front: AsPathSegment[] = [];
  for (const segment of asPath) {
    // A confederation segment is kept if it leads the path or follows a kept one.
    if (more === 0 && !isConfederation(segment)) break;
    const length = lengthOf(segment);
    if (segment.kind === 'sequence' && length > more) {
      front.push({ kind: segment.kind, asns: segment.asns.slice(0, more) });
      break;
    }
    front.push(segment);
    more -= length;
  }
  return joined([...front, ...real]);
}

/** Joins adjacent sequences. */
function joined(segments: readonly AsPathSegment[]): AsPathSegment[] {
  const result: { readonly kind: AsPathSegment['kind']; readonly asns: number[] }[] = [];
  for (const { kind, asns } of segments) {
    const last = result.at(-1);
    if (last?.kind === 'sequence' && kind === 'sequence') for (const asn of asns) last.asns.push(asn);
    else result.push({ kind, asns: [...asns] });
  }
  return result;
}
