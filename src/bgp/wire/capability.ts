import { capabilityCode } from './codes.ts';
import { Reader } from './reader.ts';
import { octets, u16, u32 } from './writer.ts';

/** A capability of RFC 5492, read as far as we act upon it. */
export type Capability =
  | { readonly kind: 'multiprotocol'; readonly afi: number; readonly safi: number } // RFC 4760 8
  | { readonly kind: 'routeRefresh' } // RFC 2918 2
  | { readonly kind: 'extendedNextHop'; readonly tuples: readonly NextHopTuple[] } // RFC 8950 4
  | { readonly kind: 'fourOctetAsn'; readonly asn: number } // RFC 6793 3
  | { readonly kind: 'other'; readonly code: number; readonly data: Uint8Array };

export interface NextHopTuple {
  readonly afi: number;
  readonly safi: number;
  readonly nextHopAfi: number;
}

/** The value of one capability; undefined where its length is wrong for its code. */
export function decodeCapability(code: number, data: Uint8Array): Capability | undefined {
  const reader = new Reader(data);
  switch (code) {
    case capabilityCode.multiprotocol: {
      if (data.length !== 4) return undefined;
      const afi = reader.u16();
      reader.u8(); // reserved
      return { kind: 'multiprotocol', afi, safi: reader.u8() };
    }
    case capabilityCode.routeRefresh:
      return data.length === 0 ? { kind: 'routeRefresh' } : undefined;
    case capabilityCode.extendedNextHop: {
      if (data.length % 6 !== 0) return undefined;
      const tuples: NextHopTuple[] = [];
      while (reader.left > 0) tuples.push({ afi: reader.u16(), safi: reader.u16(), nextHopAfi: reader.u16() });
      return { kind: 'extendedNextHop', tuples };
    }
    case capabilityCode.fourOctetAsn:
      return data.length === 4 ? { kind: 'fourOctetAsn', asn: reader.u32() } : undefined;
    default:
      return { kind: 'other', code, data };
  }
}

/** Code, length and value. */
export function encodeCapability(capability: Capability): Uint8Array {
  switch (capability.kind) {
    case 'multiprotocol':
      return octets(capabilityCode.multiprotocol, 4, u16(capability.afi), 0, capability.safi);
    case 'routeRefresh':
      return octets(capabilityCode.routeRefresh, 0);
    case 'extendedNextHop': {
      const tuples = capability.tuples.map((tuple) => octets(u16(tuple.afi), u16(tuple.safi), u16(tuple.nextHopAfi)));
      return octets(capabilityCode.extendedNextHop, tuples.length * 6, ...tuples);
    }
    case 'fourOctetAsn':
      return octets(capabilityCode.fourOctetAsn, 4, u32(capability.asn));
    case 'other':
      return octets(capability.code, capability.data.length, capability.data);
  }
}
