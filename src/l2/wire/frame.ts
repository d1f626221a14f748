import { decodeArp, type ArpFault, type ArpPacket } from './arp.ts';
import { ethernetHeaderLength, etherType, readUint16 } from './ethernet.ts';
import { decodeNdp, type NdpFault, type NeighborAdvertisement, type NeighborSolicitation } from './ndp.ts';

export type Frame = ArpPacket | NeighborSolicitation | NeighborAdvertisement;

/** Why a frame is ignored. `frameTruncated`: shorter than an Ethernet header. `etherType`: neither ARP nor IPv6. */
export type FrameFault = 'frameTruncated' | 'etherType' | ArpFault | NdpFault;

/** Decodes any octets. Never throws; a frame that is not well-formed gives the first reason, in the order of the checks. */
export function decodeFrame(octets: Uint8Array): Frame | FrameFault {
  if (octets.length < ethernetHeaderLength) return 'frameTruncated';
  switch (readUint16(octets, 12)) {
    case etherType.arp:
      return decodeArp(octets);
    case etherType.ipv6:
      return decodeNdp(octets);
    default:
      return 'etherType';
  }
}
