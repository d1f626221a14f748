import { addressBytes } from '../../net/address.ts';
import type { Endpoint } from '../transport/transport.ts';
import { octets, u16, u32 } from '../wire/writer.ts';

/** TCP flags (RFC 9293 3.1). */
export const tcpFlag = { fin: 0x01, syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10 } as const;

interface Segment {
  readonly from: Endpoint;
  readonly to: Endpoint;
  /** Modulo 2^32. */
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

const tcp = 6;
const tcpHeaderLength = 20;
const ipv4HeaderLength = 20;
/** DSCP CS6 (network control), as the kernel sends for BGP sessions. */
const trafficClass = 0xc0;
const hops = 64;
const dontFragment = 0x4000;

/** Builds the IP packet of a segment, with its checksums. Both addresses have the same family, and the packet fits into 65,535 octets. */
export function tcpPacket(segment: Segment): Uint8Array {
  const { from, to, payload } = segment;
  const [source, destination] = [addressBytes(from.address), addressBytes(to.address)];
  const length = tcpHeaderLength + payload.length;
  // One pseudo header serves both families: RFC 9293 3.1 and RFC 8200 8.1 differ only in the width of zero fields.
  const pseudoHeader = octets(source, destination, u32(length), u32(tcp));
  const header = tcpHeader(segment, 0);
  const checksum = internetChecksum(octets(pseudoHeader, header, payload));
  const tcpOctets = octets(tcpHeader(segment, checksum), payload);
  if (source.length === 16) {
    const first = u32(0x6000_0000 + trafficClass * 0x10_0000);
    return octets(first, u16(length), tcp, hops, source, destination, tcpOctets);
  }
  const ipv4 = (sum: number): Uint8Array =>
    octets(0x45, trafficClass, u16(ipv4HeaderLength + length), u16(0), u16(dontFragment), hops, tcp, u16(sum), source, destination);
  return octets(ipv4(internetChecksum(ipv4(0))), tcpOctets);
}

function tcpHeader({ from, to, sequence, acknowledgement, flags }: Segment, checksum: number): Uint8Array {
  const words = tcpHeaderLength / 4;
  const window = 0xffff;
  return octets(u16(from.port), u16(to.port), u32(sequence), u32(acknowledgement), words << 4, flags, u16(window), u16(checksum), u16(0));
}

/** Computes the Internet checksum (RFC 1071). */
export function internetChecksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i] ?? 0) * 256 + (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum % 0x1_0000) + Math.floor(sum / 0x1_0000);
  return 0xffff - sum;
}
