import assert from 'node:assert';
import { addressBytes, addressFromBytes, type Address } from '../../../net/address.ts';
import { Reader } from '../reader.ts';
import { concat, octets, u16, u32 } from '../writer.ts';
import { bmpPeerFlag, bmpType, bmpVersion } from './bmp-codes.ts';

/** A type with a value: information in words, or a number of a statistic (RFC 7854 4.4, 4.8). */
export interface BmpTlv {
  readonly type: number;
  readonly value: Uint8Array;
}

/** The per-peer header (RFC 7854 4.2). */
export interface BmpPeer {
  readonly address: Address;
  readonly asn: number;
  /** BGP identifier as an unsigned number. */
  readonly routerId: number;
  /** The routes after the import or export policy. False: Adj-RIB-In as received. */
  readonly postPolicy: boolean;
  /** AS numbers in AS_PATH have two octets in the UPDATEs of this message. */
  readonly twoOctetAsPath: boolean;
  /** The routes of Adj-RIB-Out (RFC 8671). False: Adj-RIB-In. */
  readonly adjRibOut: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A message of the BGP Monitoring Protocol. PDUs are whole BGP messages with their header. */
export type BmpMessage =
  | { readonly kind: 'initiation'; readonly information: readonly BmpTlv[] }
  | { readonly kind: 'termination'; readonly information: readonly BmpTlv[] }
  | {
      readonly kind: 'peerUp';
      readonly peer: BmpPeer;
      readonly localAddress: Address;
      /** 0 if they are not known. */
      readonly localPort: number;
      readonly remotePort: number;
      readonly sentOpen: Uint8Array;
      readonly receivedOpen: Uint8Array;
      readonly information: readonly BmpTlv[];
    }
  /** `data`: the NOTIFICATION, or the number of the event of RFC 4271 8.1 that closed the session; empty for other reasons. */
  | { readonly kind: 'peerDown'; readonly peer: BmpPeer; readonly reason: number; readonly data: Uint8Array }
  | { readonly kind: 'routeMonitoring'; readonly peer: BmpPeer; readonly update: Uint8Array }
  | { readonly kind: 'statisticsReport'; readonly peer: BmpPeer; readonly statistics: readonly BmpTlv[] };

/** Octets of the common header: version (1) | length (4) | type (1). */
export const bmpHeaderLength = 6;
const peerHeaderLength = 42;

/** Encodes a message: common header (RFC 7854 4.1), then, if the message is about a peer, the per-peer header, then its contents. */
export function encodeBmpMessage(message: BmpMessage): Uint8Array {
  switch (message.kind) {
    case 'initiation':
    case 'termination':
      return withBmpHeader(bmpType[message.kind], tlvs(message.information));
    case 'routeMonitoring':
      return withBmpHeader(bmpType.routeMonitoring, peerHeader(message.peer), message.update);
    case 'statisticsReport': {
      const { statistics } = message;
      return withBmpHeader(bmpType.statisticsReport, peerHeader(message.peer), octets(u32(statistics.length)), tlvs(statistics));
    }
    case 'peerDown':
      return withBmpHeader(bmpType.peerDown, peerHeader(message.peer), octets(message.reason, message.data));
    case 'peerUp': {
      const { localAddress, localPort, remotePort, sentOpen, receivedOpen, information } = message;
      const ports = octets(u16(localPort), u16(remotePort));
      const peer = peerHeader(message.peer);
      return withBmpHeader(bmpType.peerUp, peer, wideAddress(localAddress), ports, sentOpen, receivedOpen, tlvs(information));
    }
  }
}

/**
 * Decodes one whole message. Never throws: octets that are no message give undefined, so that a collector can close the connection. PDUs and
 * values are views of `bytes`.
 */
export function decodeBmpMessage(bytes: Uint8Array): BmpMessage | undefined {
  const reader = new Reader(bytes);
  const [version, length, type] = [reader.u8(), reader.u32(), reader.u8()];
  if (reader.overrun || version !== bmpVersion || length !== bytes.length) return undefined;
  const message = decodeContents(type, reader);
  return reader.overrun ? undefined : message;
}

/**
 * Returns the number of octets of the first message in a stream, or undefined while its header is incomplete. Throws RangeError if the octets
 * are no header, or the message is longer than `maximum`.
 */
export function bmpLength(bytes: Uint8Array, maximum = 0x10_0000): number | undefined {
  if (bytes.length < bmpHeaderLength) return undefined;
  const reader = new Reader(bytes);
  const [version, length] = [reader.u8(), reader.u32()];
  if (version !== bmpVersion || length < bmpHeaderLength || length > maximum) {
    throw new RangeError(`no BMP message: version ${version}, ${length} octets`);
  }
  return length;
}

/** Information in words as a TLV, at most 65535 octets. */
export const bmpText = (type: number, text: string): BmpTlv => ({ type, value: new TextEncoder().encode(text).subarray(0, 0xffff) });

function decodeContents(type: number, reader: Reader): BmpMessage | undefined {
  switch (type) {
    case bmpType.initiation:
      return { kind: 'initiation', information: readTlvs(reader) };
    case bmpType.termination:
      return { kind: 'termination', information: readTlvs(reader) };
    case bmpType.routeMonitoring:
      return { kind: 'routeMonitoring', peer: readPeer(reader), update: reader.rest() };
    case bmpType.statisticsReport: {
      const [peer, count] = [readPeer(reader), reader.u32()];
      const statistics = readTlvs(reader);
      return statistics.length === count ? { kind: 'statisticsReport', peer, statistics } : undefined;
    }
    case bmpType.peerDown:
      return { kind: 'peerDown', peer: readPeer(reader), reason: reader.u8(), data: reader.rest() };
    case bmpType.peerUp: {
      const peer = readPeer(reader);
      const localAddress = readAddress(reader, peer.address.family === 6);
      const [localPort, remotePort] = [reader.u16(), reader.u16()];
      const [sentOpen, receivedOpen] = [readPdu(reader), readPdu(reader)];
      return { kind: 'peerUp', peer, localAddress, localPort, remotePort, sentOpen, receivedOpen, information: readTlvs(reader) };
    }
    default:
      return undefined;
  }
}

function withBmpHeader(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, bmpHeaderLength);
  return concat([bmpVersion, u32(length), type, ...parts]);
}

/** Type (1) | flags (1) | distinguisher (8) | address (16) | AS (4) | BGP identifier (4) | seconds (4) | microseconds (4). */
function peerHeader({ address, asn, routerId, postPolicy, twoOctetAsPath, adjRibOut, at }: BmpPeer): Uint8Array {
  const flags =
    (address.family === 6 ? bmpPeerFlag.ipv6 : 0) |
    (postPolicy ? bmpPeerFlag.postPolicy : 0) |
    (twoOctetAsPath ? bmpPeerFlag.twoOctetAsPath : 0) |
    (adjRibOut ? bmpPeerFlag.adjRibOut : 0);
  const time = [u32(Math.floor(at / 1000)), u32((at % 1000) * 1000)] as const;
  const bytes = octets(0, flags, new Uint8Array(8), wideAddress(address), u32(asn), u32(routerId), ...time);
  assert(bytes.length === peerHeaderLength, 'the per-peer header has a fixed length');
  return bytes;
}

function readPeer(reader: Reader): BmpPeer {
  reader.u8(); // the type of the peer: global instance
  const flags = reader.u8();
  reader.take(8); // the distinguisher
  const address = readAddress(reader, (flags & bmpPeerFlag.ipv6) !== 0);
  const [asn, routerId, seconds, microseconds] = [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
  return {
    address,
    asn,
    routerId,
    postPolicy: (flags & bmpPeerFlag.postPolicy) !== 0,
    twoOctetAsPath: (flags & bmpPeerFlag.twoOctetAsPath) !== 0,
    adjRibOut: (flags & bmpPeerFlag.adjRibOut) !== 0,
    at: seconds * 1000 + Math.floor(microseconds / 1000),
  };
}

/** An IPv4 address takes the last 4 of 16 octets, after zeros (RFC 7854 4.2). */
function wideAddress(address: Address): Uint8Array {
  const bytes = addressBytes(address);
  return octets(new Uint8Array(16 - bytes.length), bytes);
}

function readAddress(reader: Reader, isIpv6: boolean): Address {
  const bytes = reader.take(16);
  // Octets that are missing set `overrun`, and the message is refused.
  if (bytes.length < 16) return { family: 4, value: 0n };
  return addressFromBytes(isIpv6 ? bytes : bytes.subarray(12));
}

/** A BGP message, which has its length in its header. */
function readPdu(reader: Reader): Uint8Array {
  const head = reader.take(19);
  const length = (head[16] ?? 0) * 256 + (head[17] ?? 0);
  return octets(head, reader.take(Math.max(0, length - 19)));
}

function readTlvs(reader: Reader): BmpTlv[] {
  const found: BmpTlv[] = [];
  while (reader.left > 0 && !reader.overrun) {
    const type = reader.u16();
    found.push({ type, value: reader.take(reader.u16()) });
  }
  return found;
}

const tlvs = (list: readonly BmpTlv[]): Uint8Array => concat(list.flatMap(({ type, value }) => [u16(type), u16(value.length), value]));
