import { addressBytes, addressFromBytes, type Address } from '../../net/address.ts';
import { ethernetHeaderLength, etherType, readEthernet, readUint16, writeEthernet, writeUint16, type Ethernet } from './ethernet.ts';
import { isHostMac, readMac, writeMac, type Mac } from './mac.ts';
import { isMulticast, isUnspecified, solicitedNodeGroup } from './multicast.ts';

/**
 * Neighbor Solicitation and Neighbor Advertisement (RFC 4861 4.3, 4.4) in an IPv6 packet without extension headers.
 *
 * ```
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * |  135 or 136   |   code = 0    |           checksum            |
 * |R|S|O|                      reserved                           |
 * |                  target address (16 octets) ...               |
 * |  option type  | option length |  link-layer address ...       |
 * ```
 */
interface NeighborMessage extends Ethernet {
  readonly source: Address;
  readonly destination: Address;
  readonly target: Address;
}

export interface NeighborSolicitation extends NeighborMessage {
  readonly kind: 'solicitation';
  /** The Source Link-Layer Address option. */
  readonly sourceLink?: Mac;
}

export interface NeighborAdvertisement extends NeighborMessage {
  readonly kind: 'advertisement';
  readonly router: boolean;
  readonly solicited: boolean;
  readonly override: boolean;
  /** The Target Link-Layer Address option. */
  readonly targetLink?: Mac;
}

/**
 * Why a frame is ignored (RFC 4861 7.1.1, 7.1.2; the destination of a solicitation: 4.3). `ndpMessage`: not a solicitation or advertisement. `ndpSource`: source and destination do
 * not go together. `ndpLinkAddress`: a link-layer address that no host can have. `ndpSolicited`: the Solicited flag in a multicast.
 */
export type NdpFault =
  | 'ndpTruncated'
  | 'ndpVersion'
  | 'ndpMessage'
  | 'ndpHopLimit'
  | 'ndpCode'
  | 'ndpChecksum'
  | 'ndpTarget'
  | 'ndpOption'
  | 'ndpSource'
  | 'ndpLinkAddress'
  | 'ndpSolicited';

const icmpv6 = 58;
/** Hop limit of all NDP packets: a router would have made it smaller. */
const fullHopLimit = 255;
const types = { solicitation: 135, advertisement: 136 } as const;
const flag = { router: 0x80, solicited: 0x40, override: 0x20 } as const;
const linkOptions = { source: 1, target: 2 } as const;
/** Length of a message without options. */
const messageLength = 24;
const optionLength = 8;
const at = {
  version: 14,
  payloadLength: 18,
  nextHeader: 20,
  hopLimit: 21,
  source: 22,
  destination: 38,
  message: 54,
  code: 55,
  checksum: 56,
  flags: 58,
  target: 62,
  options: 78,
} as const;

/** Decodes a frame whose type is IPv6. Never throws. */
export function decodeNdp(octets: Uint8Array): NeighborSolicitation | NeighborAdvertisement | NdpFault {
  if (octets.length < at.message + messageLength) return 'ndpTruncated';
  if ((octets[at.version] ?? 0) >> 4 !== 6) return 'ndpVersion';
  if (octets[at.nextHeader] !== icmpv6) return 'ndpMessage';
  const type = octets[at.message];
  if (type !== types.solicitation && type !== types.advertisement) return 'ndpMessage';
  if (octets[at.hopLimit] !== fullHopLimit) return 'ndpHopLimit';
  if (octets[at.code] !== 0) return 'ndpCode';
  const length = readUint16(octets, at.payloadLength);
  if (length < messageLength || at.message + length > octets.length) return 'ndpTruncated';
  if (icmpv6Checksum(octets, at.source, at.message, length) !== 0) return 'ndpChecksum';
  const target = ipv6At(octets, at.target);
  if (isMulticast(target) || isUnspecified(target)) return 'ndpTarget';
  const source = ipv6At(octets, at.source);
  if (isMulticast(source)) return 'ndpSource';
  const end = at.message + length;
  return type === types.solicitation ? solicitation(octets, source, target, end) : advertisement(octets, source, target, end);
}

function solicitation(octets: Uint8Array, source: Address, target: Address, end: number): NeighborSolicitation | NdpFault {
  const sourceLink = linkOption(octets, end, linkOptions.source);
  if (typeof sourceLink === 'string') return sourceLink;
  const destination = ipv6At(octets, at.destination);
  const group = solicitedNodeGroup(target);
  if (isMulticast(destination) && destination.value !== group.value) return 'ndpSource';
  if (isUnspecified(source) && (!isMulticast(destination) || sourceLink !== undefined)) return 'ndpSource';
  return {
    kind: 'solicitation',
    ...readEthernet(octets),
    source,
    destination,
    target,
    ...(sourceLink === undefined ? {} : { sourceLink }),
  };
}

function advertisement(octets: Uint8Array, source: Address, target: Address, end: number): NeighborAdvertisement | NdpFault {
  const targetLink = linkOption(octets, end, linkOptions.target);
  if (typeof targetLink === 'string') return targetLink;
  if (isUnspecified(source)) return 'ndpSource';
  const destination = ipv6At(octets, at.destination);
  const flags = octets[at.flags] ?? 0;
  const solicited = (flags & flag.solicited) !== 0;
  if (solicited && isMulticast(destination)) return 'ndpSolicited';
  return {
    kind: 'advertisement',
    ...readEthernet(octets),
    source,
    destination,
    target,
    router: (flags & flag.router) !== 0,
    solicited,
    override: (flags & flag.override) !== 0,
    ...(targetLink === undefined ? {} : { targetLink }),
  };
}

/** Returns the address in the first option of this type. Other options are skipped (RFC 4861 9). */
function linkOption(octets: Uint8Array, end: number, wanted: number): Mac | undefined | 'ndpOption' | 'ndpLinkAddress' {
  let found: Mac | undefined;
  for (let offset: number = at.options; offset < end;) {
    const length = optionLength * (octets[offset + 1] ?? 0);
    if (length === 0 || offset + length > end) return 'ndpOption';
    if (octets[offset] === wanted && found === undefined) {
      found = readMac(octets, offset + 2);
      if (!isHostMac(found)) return 'ndpLinkAddress';
    }
    offset += length;
  }
  return found;
}

export function encodeSolicitation(message: Omit<NeighborSolicitation, 'kind'>): Uint8Array {
  return encode(message, types.solicitation, 0, linkOptions.source, message.sourceLink);
}

export function encodeAdvertisement(message: Omit<NeighborAdvertisement, 'kind'>): Uint8Array {
  const flags = (message.router ? flag.router : 0) | (message.solicited ? flag.solicited : 0) | (message.override ? flag.override : 0);
  return encode(message, types.advertisement, flags, linkOptions.target, message.targetLink);
}

function encode(message: NeighborMessage, type: number, flags: number, option: number, link: Mac | undefined): Uint8Array {
  const length = messageLength + (link === undefined ? 0 : optionLength);
  const octets = new Uint8Array(at.message + length);
  writeEthernet(octets, message, etherType.ipv6);
  octets[ethernetHeaderLength] = 6 << 4;
  writeUint16(octets, at.payloadLength, length);
  octets[at.nextHeader] = icmpv6;
  octets[at.hopLimit] = fullHopLimit;
  octets.set(addressBytes(message.source), at.source);
  octets.set(addressBytes(message.destination), at.destination);
  octets[at.message] = type;
  octets[at.flags] = flags;
  octets.set(addressBytes(message.target), at.target);
  if (link !== undefined) {
    octets[at.options] = option;
    octets[at.options + 1] = 1;
    writeMac(octets, at.options + 2, link);
  }
  writeUint16(octets, at.checksum, icmpv6Checksum(octets, at.source, at.message, length));
  return octets;
}

function ipv6At(octets: Uint8Array, offset: number): Address {
  return addressFromBytes(octets.subarray(offset, offset + 16));
}

/**
 * The Internet checksum (RFC 1071) of an ICMPv6 message with the pseudo-header of RFC 8200 8.1. `octets` is a whole frame; the addresses
 * are those of its IPv6 header. Of a message with a correct checksum the result is 0.
 */
function icmpv6Checksum(octets: Uint8Array, addressesAt: number, messageAt: number, length: number): number {
  let sum = length + icmpv6;
  for (let offset = addressesAt; offset < addressesAt + 32; offset += 2) sum += readUint16(octets, offset);
  for (let offset = messageAt; offset + 1 < messageAt + length; offset += 2) sum += readUint16(octets, offset);
  if (length % 2 === 1) sum += (octets[messageAt + length - 1] ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x1_0000);
  return ~sum & 0xffff;
}
