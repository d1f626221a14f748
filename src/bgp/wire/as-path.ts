import { asTrans } from './codes.ts';
import { Reader } from './reader.ts';
import { octets, u16, u32 } from './writer.ts';

/** A segment of AS_PATH, RFC 4271 4.3 b and RFC 5065 3: type (1) | number of ASNs (1) | ASNs (2 or 4 octets each). */
export interface AsPathSegment {
  readonly kind: 'set' | 'sequence' | 'confederationSequence' | 'confederationSet';
  readonly asns: readonly number[];
}

const kinds = [undefined, 'set', 'sequence', 'confederationSequence', 'confederationSet'] as const;

/** Undefined where the path is malformed: an unknown type, an empty segment, an overrun, AS 0 (RFC 7606 7.2, RFC 7607 2). */
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

/** For a 2-octet peer, ASNs that need four become AS_TRANS (RFC 6793 4.2.2). */
export function encodeAsPath(segments: readonly AsPathSegment[], fourOctets: boolean): Uint8Array {
  const encodeAsn = (asn: number): readonly number[] => (fourOctets ? u32(asn) : u16(asn > 0xffff ? asTrans : asn));
  return octets(
    ...segments.flatMap((segment) => [kinds.indexOf(segment.kind), segment.asns.length, ...segment.asns.map((asn) => encodeAsn(asn))]),
  );
}
