import { macLength, readMac, writeMac, type Mac } from './mac.ts';

/** Destination, source and type of an Ethernet II frame. */
export const ethernetHeaderLength = 14;

export const etherType = { arp: 0x0806, ipv6: 0x86dd } as const;

export interface Ethernet {
  readonly etherSource: Mac;
  readonly etherDestination: Mac;
}

/** The caller has checked that there are 14 octets. */
export function readEthernet(octets: Uint8Array): Ethernet {
  return { etherDestination: readMac(octets, 0), etherSource: readMac(octets, macLength) };
}

export function writeEthernet(octets: Uint8Array, { etherSource, etherDestination }: Ethernet, type: number): void {
  writeMac(octets, 0, etherDestination);
  writeMac(octets, macLength, etherSource);
  writeUint16(octets, 2 * macLength, type);
}

export function readUint16(octets: Uint8Array, at: number): number {
  return ((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0);
}

export function writeUint16(octets: Uint8Array, at: number, value: number): void {
  octets[at] = value >>> 8;
  octets[at + 1] = value;
}
