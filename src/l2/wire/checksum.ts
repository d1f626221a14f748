import { readUint16 } from './ethernet.ts';

/**
 * The Internet checksum (RFC 1071) of an ICMPv6 message with the pseudo-header of RFC 8200 8.1. `octets` is a whole frame; the addresses
 * are those of its IPv6 header. Of a message with a correct checksum the result is 0.
 */
export function icmpv6Checksum(octets: Uint8Array, addressesAt: number, messageAt: number, length: number): number {
  const icmpv6 = 58;
  let sum = length + icmpv6;
  for (let offset = addressesAt; offset < addressesAt + 32; offset += 2) sum += readUint16(octets, offset);
  for (let offset = messageAt; offset + 1 < messageAt + length; offset += 2) sum += readUint16(octets, offset);
  if (length % 2 === 1) sum += (octets[messageAt + length - 1] ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x1_0000);
  return ~sum & 0xffff;
}
