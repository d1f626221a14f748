import { octets, u16, u32 } from '../wire/writer.ts';

/**
 * Writes a capture file (draft-ietf-opsawg-pcapng). It consists of blocks,
 *   type (4) | length (4) | body | length (4)
 * each padded to 4 octets, in network byte order; the first block tells the reader so. The format is used instead of the older pcap because
 * it has a field for lost packets.
 */

const blockType = { section: 0x0a0d_0d0a, interface: 1, packet: 6 } as const;
const option = { end: 0, comment: 1, interfaceName: 2, application: 4, dropCount: 4 } as const;
const byteOrder = 0x1a2b_3c4d;
/** Link type "raw": packets begin with the IP header. */
const linkTypeRaw = 101;

/** Returns the beginning of a file: one section, and one interface for all packets. */
export function captureHead(application: string, interfaceName: string): Uint8Array {
  const version = octets(u16(1), u16(0));
  const anyLength = octets(u32(0xffff_ffff), u32(0xffff_ffff));
  const section = octets(u32(byteOrder), version, anyLength, textOption(option.application, application), end);
  const wholePackets = u32(0);
  const description = octets(u16(linkTypeRaw), u16(0), wholePackets, textOption(option.interfaceName, interfaceName), end);
  return octets(block(blockType.section, section), block(blockType.interface, description));
}

interface PacketNotes {
  /** Shown beside the packet. */
  readonly comment?: string;
  /** Number of packets lost before this one. */
  readonly lostBefore?: number;
}

/** Returns the block of one packet. Its time is in microseconds, the default of the format. */
export function capturePacket(at: Date, packet: Uint8Array, { comment, lostBefore = 0 }: PacketNotes = {}): Uint8Array {
  const microseconds = BigInt(at.getTime()) * 1000n;
  const time = octets(u32(Number(microseconds >> 32n)), u32(Number(microseconds & 0xffff_ffffn)));
  const length = u32(packet.length);
  const notes = [
    ...(comment === undefined ? [] : [textOption(option.comment, comment)]),
    ...(lostBefore === 0 ? [] : [optionOf(option.dropCount, u64(lostBefore))]),
  ];
  const options = notes.length === 0 ? [] : [...notes, end];
  return block(blockType.packet, octets(u32(0), time, length, length, padded(packet), ...options));
}

function block(type: number, body: Uint8Array): Uint8Array {
  const length = u32(body.length + 12);
  return octets(u32(type), length, body, length);
}

const textOption = (code: number, text: string): Uint8Array => optionOf(code, new TextEncoder().encode(text).subarray(0, 0xffff));

/** Encodes an option: code (2) | length without padding (2) | value. */
function optionOf(code: number, value: Uint8Array): Uint8Array {
  return octets(u16(code), u16(value.length), padded(value));
}

function padded(bytes: Uint8Array): Uint8Array {
  return octets(bytes, new Uint8Array((4 - (bytes.length % 4)) % 4));
}

const u64 = (value: number): Uint8Array => octets(u32(Math.floor(value / 2 ** 32)), u32(value % 2 ** 32));

const end = octets(u16(option.end), u16(0));
