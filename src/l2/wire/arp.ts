import { addressBytes, type Address } from '../../net/address.ts';
import { ethernetHeaderLength, etherType, readEthernet, readUint16, writeEthernet, writeUint16, type Ethernet } from './ethernet.ts';
import { isHostMac, readMac, writeMac, type Mac } from './mac.ts';

/**
 * ARP for IPv4 on Ethernet (RFC 826), with the field names of RFC 5227.
 *
 * ```
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * |     hardware type = 1         |    protocol type = 0x0800     |
 * | hw length = 6 | pr length = 4 |          operation            |
 * |             sender hardware address (6 octets) ...            |
 * | ...                           |   sender protocol address ... |
 * | ...                           |   target hardware address ... |
 * | ...        (6 octets)                                         |
 * |                    target protocol address                    |
 * ```
 */
export interface ArpPacket extends Ethernet {
  readonly kind: 'arp';
  readonly operation: 'request' | 'reply';
  /** SHA. */
  readonly senderMac: Mac;
  /** SPA. */
  readonly sender: Address;
  /** THA. It has no meaning in a request (RFC 826). */
  readonly targetMac: Mac;
  /** TPA. */
  readonly target: Address;
}

/** Why an ARP frame is ignored. `arpSender`: SHA is zero, a group or the broadcast address, so no host can have sent it. */
export type ArpFault =
  | 'arpTruncated'
  | 'arpHardwareType'
  | 'arpProtocolType'
  | 'arpHardwareLength'
  | 'arpProtocolLength'
  | 'arpOperation'
  | 'arpSender';

/** Ethernet header and packet. Ethernet pads frames to 60 octets, so a received frame is longer. */
export const arpFrameLength = 42;

const ethernetHardware = 1;
const ipv4Protocol = 0x0800;
const operations = { 1: 'request', 2: 'reply' } as const;
const at = {
  hardware: 14,
  protocol: 16,
  hardwareLength: 18,
  protocolLength: 19,
  operation: 20,
  sha: 22,
  spa: 28,
  tha: 32,
  tpa: 38,
} as const;

/** Decodes a frame whose type is ARP. Never throws. */
export function decodeArp(octets: Uint8Array): ArpPacket | ArpFault {
  if (octets.length < arpFrameLength) return 'arpTruncated';
  if (readUint16(octets, at.hardware) !== ethernetHardware) return 'arpHardwareType';
  if (readUint16(octets, at.protocol) !== ipv4Protocol) return 'arpProtocolType';
  if (octets[at.hardwareLength] !== 6) return 'arpHardwareLength';
  if (octets[at.protocolLength] !== 4) return 'arpProtocolLength';
  const operation = readUint16(octets, at.operation);
  if (operation !== 1 && operation !== 2) return 'arpOperation';
  const senderMac = readMac(octets, at.sha);
  if (!isHostMac(senderMac)) return 'arpSender';
  return {
    kind: 'arp',
    ...readEthernet(octets),
    operation: operations[operation],
    senderMac,
    sender: ipv4At(octets, at.spa),
    targetMac: readMac(octets, at.tha),
    target: ipv4At(octets, at.tpa),
  };
}

/** Encodes a frame of 42 octets. The kernel pads it. */
export function encodeArp(packet: Omit<ArpPacket, 'kind'>): Uint8Array {
  const octets = new Uint8Array(arpFrameLength);
  writeEthernet(octets, packet, etherType.arp);
  writeUint16(octets, ethernetHeaderLength, ethernetHardware);
  writeUint16(octets, at.protocol, ipv4Protocol);
  octets[at.hardwareLength] = 6;
  octets[at.protocolLength] = 4;
  writeUint16(octets, at.operation, packet.operation === 'request' ? 1 : 2);
  writeMac(octets, at.sha, packet.senderMac);
  octets.set(addressBytes(packet.sender), at.spa);
  writeMac(octets, at.tha, packet.targetMac);
  octets.set(addressBytes(packet.target), at.tpa);
  return octets;
}

/** 0.0.0.0 as SPA makes a request a probe (RFC 5227 1.1). */
export const unspecified4: Address = { family: 4, value: 0n };

function ipv4At(octets: Uint8Array, offset: number): Address {
  return { family: 4, value: BigInt(readUint16(octets, offset) * 0x1_0000 + readUint16(octets, offset + 2)) };
}
