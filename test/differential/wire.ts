import { addressBytes, addressFromBytes, address, formatAddress, type Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';

/** The first packet of a flow. */
export interface Packet {
  readonly source: string;
  readonly destination: string;
  readonly protocol: Protocol;
  readonly sourcePort: number;
  readonly port: number;
  /** A 32-bit number stored in a field that no translation changes, so that the packet and replies to it are recognised anywhere. */
  readonly id: number;
}

/** The properties of a captured packet that identify the sent one. */
export type Sighting =
  | { readonly kind: 'packet'; readonly id: number; readonly source: string; readonly destination: string; readonly port: number }
  /** A TCP reset or an SCTP ABORT. */
  | { readonly kind: 'reset'; readonly id: number }
  /** ICMP port unreachable. */
  | { readonly kind: 'icmp'; readonly id: number }
  /** Another kind of ICMP destination unreachable. */
  | { readonly kind: 'unreachable'; readonly id: number };

const numbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
const icmp4 = 1;
const icmp6 = 58;

export function familyOf(text: string): Family {
  return text.includes(':') ? 6 : 4;
}

/** "10.160.0.11:80", "[fd02::1]:80" */
export function placeText(address: string, port: number): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** Encodes a packet with its IP header and valid checksums, which conntrack checks. */
export function encodePacket(packet: Packet): Buffer {
  const [source, destination] = [bytesOf(packet.source), bytesOf(packet.destination)];
  const number = numbers[packet.protocol];
  const segment = encoders[packet.protocol](packet);
  if (packet.protocol !== 'SCTP') {
    const pseudo = Buffer.concat([source, destination, Buffer.of(0, number, segment.length >> 8, segment.length & 255)]);
    segment.writeUInt16BE(checksum(Buffer.concat([pseudo, segment])), packet.protocol === 'TCP' ? 16 : 6);
  }
  const header =
    source.length === 4 ? ipv4Header(source, destination, number, segment.length) : ipv6Header(source, destination, number, segment.length);
  return Buffer.concat([header, segment]);
}

/** Decodes a captured packet with its IP header. Undefined: it is neither one of the sent packets nor a reply to one. */
export function decodePacket(bytes: Buffer): Sighting | undefined {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4 && bytes.length >= 20) {
    const segment = bytes.subarray(((bytes[0] ?? 0) & 15) * 4);
    return decodeSegment(bytes[9] ?? 0, segment, textOf(bytes.subarray(12, 16)), textOf(bytes.subarray(16, 20)));
  }
  if (version !== 6 || bytes.length < 40) return undefined;
  return decodeSegment(bytes[6] ?? 0, bytes.subarray(40), textOf(bytes.subarray(8, 24)), textOf(bytes.subarray(24, 40)));
}

/** Decodes the part after the IP header. */
export function decodeSegment(protocol: number, segment: Buffer, source: string, destination: string): Sighting | undefined {
  if (protocol === icmp4 || protocol === icmp6) return decodeIcmp(protocol, segment);
  if (protocol === numbers.TCP && segment.length >= 20) {
    const flags = segment.readUInt8(13);
    // RFC 9293 3.10.7.1: a reset for a SYN acknowledges its sequence number plus one.
    if ((flags & 4) !== 0) return { kind: 'reset', id: (segment.readUInt32BE(8) - 1) >>> 0 };
    if ((flags & 16) !== 0) return undefined;
  }
  if (protocol === numbers.SCTP && segment.length >= 16 && segment.readUInt8(12) === 6)
    return { kind: 'reset', id: segment.readUInt32BE(4) };
  const id = idOf(protocol, segment);
  return id === undefined ? undefined : { kind: 'packet', id, source, destination, port: segment.readUInt16BE(2) };
}

function decodeIcmp(protocol: number, message: Buffer): Sighting | undefined {
  if (message.length < 8) return undefined;
  const [type, code] = message;
  if (type !== (protocol === icmp4 ? 3 : 1)) return undefined;
  const quoted = decodePacket(message.subarray(8));
  if (quoted?.kind !== 'packet') return undefined;
  return { kind: code === (protocol === icmp4 ? 3 : 4) ? 'icmp' : 'unreachable', id: quoted.id };
}

const encoders: Readonly<Record<Protocol, (packet: Packet) => Buffer>> = {
  TCP: ({ sourcePort, port, id }) => {
    const segment = Buffer.alloc(20);
    segment.writeUInt16BE(sourcePort, 0);
    segment.writeUInt16BE(port, 2);
    segment.writeUInt32BE(id, 4);
    segment.writeUInt8(5 << 4, 12);
    segment.writeUInt8(2, 13); // SYN
    segment.writeUInt16BE(65_535, 14);
    return segment;
  },
  UDP: ({ sourcePort, port, id }) => {
    const datagram = Buffer.alloc(12);
    datagram.writeUInt16BE(sourcePort, 0);
    datagram.writeUInt16BE(port, 2);
    datagram.writeUInt16BE(12, 4);
    datagram.writeUInt32BE(id, 8);
    return datagram;
  },
  /** RFC 9260 3.3.2: an INIT whose initiate tag is the id. */
  SCTP: ({ sourcePort, port, id }) => {
    const packet = Buffer.alloc(32);
    packet.writeUInt16BE(sourcePort, 0);
    packet.writeUInt16BE(port, 2);
    packet.writeUInt8(1, 12);
    packet.writeUInt16BE(20, 14);
    packet.writeUInt32BE(id, 16);
    packet.writeUInt32BE(65_535, 20);
    packet.writeUInt16BE(1, 24);
    packet.writeUInt16BE(1, 26);
    packet.writeUInt32BE(1, 28);
    packet.writeUInt32LE(crc32c(packet), 8);
    return packet;
  },
};

function idOf(protocol: number, segment: Buffer): number | undefined {
  if (protocol === numbers.TCP && segment.length >= 8) return segment.readUInt32BE(4);
  if (protocol === numbers.UDP && segment.length >= 12) return segment.readUInt32BE(8);
  if (protocol === numbers.SCTP && segment.length >= 20 && segment.readUInt8(12) === 1) return segment.readUInt32BE(16);
  return undefined;
}

function ipv4Header(source: Uint8Array, destination: Uint8Array, protocol: number, length: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(20 + length, 2);
  header.writeUInt8(64, 8);
  header.writeUInt8(protocol, 9);
  header.set(source, 12);
  header.set(destination, 16);
  header.writeUInt16BE(checksum(header), 10);
  return header;
}

function ipv6Header(source: Uint8Array, destination: Uint8Array, protocol: number, length: number): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(length, 4);
  header.writeUInt8(protocol, 6);
  header.writeUInt8(64, 7);
  header.set(source, 8);
  header.set(destination, 24);
  return header;
}

/** The checksum of RFC 1071. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  if (bytes.length % 2 === 1) sum += (bytes.at(-1) ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** The CRC32c of RFC 9260 appendix A, bit by bit. */
function crc32c(bytes: Buffer): number {
  let crc = 0xffff_ffff;
  for (const octet of bytes) {
    crc ^= octet;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

const known = new Map<string, Uint8Array>();

function bytesOf(text: string): Uint8Array {
  const bytes = known.get(text) ?? addressBytes(address(text));
  known.set(text, bytes);
  return bytes;
}

function textOf(bytes: Buffer): string {
  return formatAddress(addressFromBytes(bytes));
}
