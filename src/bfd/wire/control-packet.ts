import assert from 'node:assert';
import { sessionStates, type SessionState } from './codes.ts';

/**
 * A BFD Control packet without authentication (RFC 5880 4.1), with the field names of the RFC. Intervals are in microseconds. One record is
 * reused for all packets, so that a packet allocates nothing.
 *
 * ```
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * |Vers |  Diag   |Sta|P|F|C|A|D|M|  Detect Mult  |    Length     |
 * |                       My Discriminator                        |
 * |                      Your Discriminator                       |
 * |                    Desired Min TX Interval                    |
 * |                   Required Min RX Interval                    |
 * |                 Required Min Echo RX Interval                 |
 * ```
 */
export class ControlPacket {
  diagnostic = 0;
  state: SessionState = 'Down';
  poll = false;
  final = false;
  /** The sender's BFD continues if its control plane fails. */
  controlPlaneIndependent = false;
  demand = false;
  detectMultiplier = 1;
  myDiscriminator = 1;
  /** 0: the sender does not know it. */
  yourDiscriminator = 0;
  desiredMinTxInterval = 0;
  /** 0: the sender wants no periodic packets. */
  requiredMinRxInterval = 0;
  /** 0: the sender accepts no echo packets. */
  requiredMinEchoRxInterval = 0;
}

/** Why a packet is discarded, in the order of the checks (RFC 5880 6.8.6). */
export type DecodeFault =
  | 'length'
  | 'version'
  | 'detectMultiplier'
  | 'multipoint'
  | 'myDiscriminator'
  | 'yourDiscriminator'
  | 'authentication';

export const controlPacketLength = 24;
/** With the shortest authentication section. */
const authenticatedLength = 26;
const version = 1;

const flag = { poll: 0x20, final: 0x10, controlPlaneIndependent: 0x08, authentication: 0x04, demand: 0x02, multipoint: 0x01 } as const;

/**
 * Decodes the payload of a datagram into `packet`. Returns the error, if any; `packet` then has no meaning. Never throws. Authentication is
 * not supported, so a packet with it counts as one without a matching key.
 */
export function decodeControlPacket(payload: Uint8Array, packet: ControlPacket): DecodeFault | undefined {
  if (payload.length < controlPacketLength) return 'length';
  const first = octet(payload, 0);
  const flags = octet(payload, 1);
  const detectMultiplier = octet(payload, 2);
  const length = octet(payload, 3);
  if (first >> 5 !== version) return 'version';
  const hasAuthentication = (flags & flag.authentication) !== 0;
  if (length < (hasAuthentication ? authenticatedLength : controlPacketLength) || length > payload.length) return 'length';
  if (detectMultiplier === 0) return 'detectMultiplier';
  if ((flags & flag.multipoint) !== 0) return 'multipoint';
  packet.state = sessionStates[flags >> 6] ?? 'Down';
  packet.myDiscriminator = uint32(payload, 4);
  if (packet.myDiscriminator === 0) return 'myDiscriminator';
  packet.yourDiscriminator = uint32(payload, 8);
  if (packet.yourDiscriminator === 0 && packet.state !== 'Down' && packet.state !== 'AdminDown') return 'yourDiscriminator';
  if (hasAuthentication) return 'authentication';
  packet.diagnostic = first & 0x1f;
  packet.poll = (flags & flag.poll) !== 0;
  packet.final = (flags & flag.final) !== 0;
  packet.controlPlaneIndependent = (flags & flag.controlPlaneIndependent) !== 0;
  packet.demand = (flags & flag.demand) !== 0;
  packet.detectMultiplier = detectMultiplier;
  packet.desiredMinTxInterval = uint32(payload, 12);
  packet.requiredMinRxInterval = uint32(payload, 16);
  packet.requiredMinEchoRxInterval = uint32(payload, 20);
  return undefined;
}

/** Encodes the packet into the first 24 octets. */
export function encodeControlPacket(packet: ControlPacket, octets: Uint8Array): void {
  assert(octets.length >= controlPacketLength, 'a control packet has 24 octets');
  assert(!(packet.poll && packet.final), 'a packet cannot have both the Poll and the Final bit (RFC 5880 6.5)');
  octets[0] = (version << 5) | packet.diagnostic;
  octets[1] =
    (sessionStates.indexOf(packet.state) << 6) |
    (packet.poll ? flag.poll : 0) |
    (packet.final ? flag.final : 0) |
    (packet.controlPlaneIndependent ? flag.controlPlaneIndependent : 0) |
    (packet.demand ? flag.demand : 0);
  octets[2] = packet.detectMultiplier;
  octets[3] = controlPacketLength;
  putUint32(octets, 4, packet.myDiscriminator);
  putUint32(octets, 8, packet.yourDiscriminator);
  putUint32(octets, 12, packet.desiredMinTxInterval);
  putUint32(octets, 16, packet.requiredMinRxInterval);
  putUint32(octets, 20, packet.requiredMinEchoRxInterval);
}

function uint32(octets: Uint8Array, at: number): number {
  return ((octet(octets, at) << 24) | (octet(octets, at + 1) << 16) | (octet(octets, at + 2) << 8) | octet(octets, at + 3)) >>> 0;
}

/** Reads an octet. The caller has checked the length. */
const octet = (octets: Uint8Array, at: number): number => octets[at] ?? 0;

function putUint32(octets: Uint8Array, at: number, value: number): void {
  octets[at] = value >>> 24;
  octets[at + 1] = value >>> 16;
  octets[at + 2] = value >>> 8;
  octets[at + 3] = value;
}
