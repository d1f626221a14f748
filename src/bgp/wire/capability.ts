import assert from 'node:assert';
import { capabilityCode } from './codes.ts';
import { decodeText, Reader } from './reader.ts';
import { encodeText, octets, u16, u32 } from './writer.ts';

/** A capability (RFC 5492), decoded as far as the speaker uses it. */
export type Capability =
  | { readonly kind: 'multiprotocol'; readonly afi: number; readonly safi: number } // RFC 4760 8
  | { readonly kind: 'routeRefresh' } // RFC 2918 2
  | { readonly kind: 'extendedNextHop'; readonly tuples: readonly NextHopTuple[] } // RFC 8950 4
  | { readonly kind: 'extendedMessage' } // RFC 8654 3
  | { readonly kind: 'role'; readonly role: number } // RFC 9234 4.1
  | GracefulRestart // RFC 4724 3, RFC 8538 2
  | { readonly kind: 'fourOctetAsn'; readonly asn: number } // RFC 6793 3
  | { readonly kind: 'addPath'; readonly families: readonly AddPathFamily[] } // RFC 7911 4
  | { readonly kind: 'enhancedRouteRefresh' } // RFC 7313 3.1
  | { readonly kind: 'longLivedGracefulRestart'; readonly families: readonly LongLivedFamily[] } // RFC 9494 3
  | { readonly kind: 'fqdn'; readonly hostName: string; readonly domainName: string } // draft-walton-bgp-hostname-capability
  | { readonly kind: 'softwareVersion'; readonly version: string } // draft-ietf-idr-software-version
  | { readonly kind: 'other'; readonly code: number; readonly data: Uint8Array };

export interface NextHopTuple {
  readonly afi: number;
  readonly safi: number;
  readonly nextHopAfi: number;
}

export interface GracefulRestart {
  readonly kind: 'gracefulRestart';
  /** The sender has restarted and does not wait for our End-of-RIB. */
  readonly restarted: boolean;
  /** The sender keeps routes after a NOTIFICATION too (RFC 8538). */
  readonly notification: boolean;
  /** In seconds, at most 4095. */
  readonly restartTime: number;
  readonly families: readonly GracefulRestartFamily[];
}

export interface GracefulRestartFamily {
  readonly afi: number;
  readonly safi: number;
  /** Forwarding survived the restart of the sender. */
  readonly forwardingPreserved: boolean;
}

export interface AddPathFamily {
  readonly afi: number;
  readonly safi: number;
  readonly receive: boolean;
  readonly send: boolean;
}

export interface LongLivedFamily extends GracefulRestartFamily {
  /** In seconds, 24 bits. */
  readonly staleTime: number;
}

/**
 * Decodes the value of a capability. Returns undefined if its length is wrong for its code; the OPEN is then refused. A malformed optional
 * service counts as unknown (`other`), so that it does not cost the session.
 */
export function decodeCapability(code: number, data: Uint8Array): Capability | undefined {
  const reader = new Reader(data);
  const unread: Capability = { kind: 'other', code, data };
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
      const tuples = reader.list(() => ({ afi: reader.u16(), safi: reader.u16(), nextHopAfi: reader.u16() }));
      return { kind: 'extendedNextHop', tuples };
    }
    case capabilityCode.extendedMessage:
      return data.length === 0 ? { kind: 'extendedMessage' } : undefined;
    case capabilityCode.role:
      return data.length === 1 ? { kind: 'role', role: reader.u8() } : undefined;
    case capabilityCode.gracefulRestart:
      return data.length % 4 === 2 ? decodeGracefulRestart(reader) : unread;
    case capabilityCode.fourOctetAsn:
      return data.length === 4 ? { kind: 'fourOctetAsn', asn: reader.u32() } : undefined;
    case capabilityCode.addPath:
      return decodeAddPath(reader) ?? unread;
    case capabilityCode.enhancedRouteRefresh:
      return data.length === 0 ? { kind: 'enhancedRouteRefresh' } : undefined;
    case capabilityCode.longLivedGracefulRestart:
      return data.length % 7 === 0 ? decodeLongLived(reader) : unread;
    case capabilityCode.fqdn:
      return decodeFqdn(reader) ?? unread;
    case capabilityCode.softwareVersion: {
      const version = takeText(reader);
      return version === undefined || reader.left > 0 ? unread : { kind: 'softwareVersion', version };
    }
    default:
      return unread;
  }
}

/** Encodes code, length and value. The caller must not pass a value of more than 255 octets. */
export function encodeCapability(capability: Capability): Uint8Array {
  const code = capability.kind === 'other' ? capability.code : capabilityCode[capability.kind];
  const value = encodeValue(capability);
  assert(value.length <= longest, `a capability of ${value.length} octets`);
  return octets(code, value.length, value);
}

const longest = 255;

function encodeValue(capability: Capability): Uint8Array {
  switch (capability.kind) {
    case 'multiprotocol':
      return octets(u16(capability.afi), 0, capability.safi);
    case 'extendedNextHop':
      return octets(...capability.tuples.map((tuple) => octets(u16(tuple.afi), u16(tuple.safi), u16(tuple.nextHopAfi))));
    case 'role':
      return octets(capability.role);
    case 'gracefulRestart':
      return encodeGracefulRestart(capability);
    case 'fourOctetAsn':
      return octets(u32(capability.asn));
    case 'addPath':
      return octets(
        ...capability.families.map(({ afi, safi, receive, send }) => octets(u16(afi), safi, (receive ? 1 : 0) + (send ? 2 : 0))),
      );
    case 'longLivedGracefulRestart':
      return octets(
        ...capability.families.map(({ staleTime, ...family }) =>
          octets(encodeRestartFamily(family), staleTime >>> 16, u16(staleTime & 0xffff)),
        ),
      );
    case 'fqdn': {
      const host = encodeText(capability.hostName, longest - 2);
      const domain = encodeText(capability.domainName, longest - 2 - host.length);
      return octets(host.length, host, domain.length, domain);
    }
    case 'softwareVersion': {
      const version = encodeText(capability.version, longest - 1);
      return octets(version.length, version);
    }
    case 'other':
      return capability.data;
    case 'routeRefresh':
    case 'extendedMessage':
    case 'enhancedRouteRefresh':
      return octets();
  }
}

/** Flags R and N (4 bits) and time (12 bits). Then for each family: AFI (2) | SAFI (1) | flags (1), where F is 0x80. */
function decodeGracefulRestart(reader: Reader): GracefulRestart {
  const head = reader.u16();
  const families = reader.list(() => decodeRestartFamily(reader));
  const restarted = (head & 0x8000) !== 0;
  return { kind: 'gracefulRestart', restarted, notification: (head & 0x4000) !== 0, restartTime: head & 0xfff, families };
}

function encodeGracefulRestart({ restarted, notification, restartTime, families }: GracefulRestart): Uint8Array {
  assert(restartTime <= 0xfff, `a restart time of ${restartTime} s`);
  const head = (restarted ? 0x8000 : 0) + (notification ? 0x4000 : 0) + restartTime;
  return octets(u16(head), ...families.map(encodeRestartFamily));
}

function decodeRestartFamily(reader: Reader): GracefulRestartFamily {
  return { afi: reader.u16(), safi: reader.u8(), forwardingPreserved: (reader.u8() & 0x80) !== 0 };
}

function encodeRestartFamily({ afi, safi, forwardingPreserved }: GracefulRestartFamily): Uint8Array {
  return octets(u16(afi), safi, forwardingPreserved ? 0x80 : 0);
}

/** AFI (2) | SAFI (1) | send and receive (1), as seen by the peer. Any other value counts as "not understood" (RFC 7911 4). */
function decodeAddPath(reader: Reader): Capability | undefined {
  const families: AddPathFamily[] = [];
  while (reader.left > 0) {
    const family = { afi: reader.u16(), safi: reader.u8() };
    const direction = reader.u8();
    if (reader.overrun || direction < 1 || direction > 3) return undefined;
    families.push({ ...family, receive: (direction & 1) !== 0, send: (direction & 2) !== 0 });
  }
  return { kind: 'addPath', families };
}

function decodeLongLived(reader: Reader): Capability {
  const families = reader.list(() => ({ ...decodeRestartFamily(reader), staleTime: reader.u8() * 0x1_0000 + reader.u16() }));
  return { kind: 'longLivedGracefulRestart', families };
}

/** Length of the host name (1) | host name | length of the domain name (1) | domain name. */
function decodeFqdn(reader: Reader): Capability | undefined {
  const hostName = takeText(reader);
  const domainName = takeText(reader);
  return hostName === undefined || domainName === undefined || reader.left > 0 ? undefined : { kind: 'fqdn', hostName, domainName };
}

/** Length (1) | text. Returns undefined if the text is cut off or not UTF-8. */
function takeText(reader: Reader): string | undefined {
  const text = decodeText(reader.take(reader.u8()));
  return reader.overrun || text.includes('\ufffd') ? undefined : text;
}
