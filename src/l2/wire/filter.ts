import { acceptWholePacket, jumpIfEqual, loadOctet, returnVerdict, type FilterInstruction } from '../../system/ffi/socket-filter.ts';

/**
 * The classic BPF program of a packet socket, as data. It takes well-formed ARP for IPv4 on Ethernet, and solicitations and advertisements
 * with hop limit 255, so that other traffic never wakes the thread. Checks that need a loop (checksum, options) stay with the codec.
 */
const loadHalf = 0x28;
const loadLength = 0x80;
const jumpIfAtLeast = 0x35;

/** Offsets from here on are data about the packet (SKF_AD_OFF of linux/filter.h). */
const ancillary = 0x1_0000_0000 - 0x1000;
const packetType = ancillary + 4;
const vlanTagPresent = ancillary + 48;
/** PACKET_OTHERHOST and PACKET_OUTGOING of linux/if_packet.h. */
const otherHost = 3;
const outgoing = 4;

/** A comparison that must hold: the program loads a value and drops the frame unless the value equals the operand. */
type Check = readonly [load: number, offset: number, operand: number];

const arpChecks: readonly Check[] = [
  [loadHalf, 14, 1],
  [loadHalf, 16, 0x0800],
  [loadHalf, 18, 0x0604],
];
const ndpChecks: readonly Check[] = [
  [loadOctet, 20, 58],
  [loadOctet, 21, 255],
  [loadOctet, 55, 0],
];

/**
 * Frames for other hosts and our own are dropped, and frames of a VLAN without a device: the kernel strips the tag, so they would look like
 * untagged ones.
 */
export const socketFilter: readonly FilterInstruction[] = assemble();

function assemble(): readonly FilterInstruction[] {
  const accept: FilterInstruction = [returnVerdict, 0, 0, acceptWholePacket];
  const drop: FilterInstruction = [returnVerdict, 0, 0, 0];
  const arp = [...minimumLength(42), ...arpChecks.flatMap(must), ...either(20, loadHalf, 1, 2), accept, drop];
  const ndp = [...minimumLength(78), ...ndpChecks.flatMap(must), ...either(54, loadOctet, 135, 136), accept, drop];
  return [
    [loadOctet, 0, 0, packetType],
    [jumpIfEqual, 0, 1, otherHost],
    drop,
    [jumpIfEqual, 0, 1, outgoing],
    drop,
    [loadOctet, 0, 0, vlanTagPresent],
    [jumpIfEqual, 1, 0, 0],
    drop,
    [loadHalf, 0, 0, 12],
    [jumpIfEqual, 0, arp.length, 0x0806],
    ...arp,
    [jumpIfEqual, 0, ndp.length, 0x86dd],
    ...ndp,
    drop,
  ];
}

/** Drops shorter frames. */
function minimumLength(octets: number): readonly FilterInstruction[] {
  return [
    [loadLength, 0, 0, 0],
    [jumpIfAtLeast, 1, 0, octets],
    [returnVerdict, 0, 0, 0],
  ];
}

function must([load, offset, operand]: Check): readonly FilterInstruction[] {
  return [
    [load, 0, 0, offset],
    [jumpIfEqual, 1, 0, operand],
    [returnVerdict, 0, 0, 0],
  ];
}

/** Goes on with the next instruction if the value is one of the two, and skips it otherwise. */
function either(offset: number, load: number, first: number, second: number): readonly FilterInstruction[] {
  return [
    [load, 0, 0, offset],
    [jumpIfEqual, 1, 0, first],
    [jumpIfEqual, 0, 1, second],
  ];
}
