import type { Libc } from './libc.ts';

/** One instruction of a classic BPF program (linux/filter.h): the fields of struct sock_filter in order. */
export type FilterInstruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/** Load a word or an octet at a fixed offset into the accumulator. */
export const loadWord = 0x20;
export const loadOctet = 0x30;
/** Load a constant into the accumulator, or into the index register. */
export const loadNumber = 0x00;
export const loadIndex = 0x01;
/** Copy the accumulator into the index register. */
export const copyToIndex = 0x07;
/** Load a word at the offset in the index register plus the operand. */
export const loadIndexedWord = 0x40;
/** Clear the bits of the accumulator that the operand lacks. */
export const maskBits = 0x54;
/** Offsets for `loadWord` that mean no octet of the packet (SKF_AD_OFF of linux/filter.h). */
export const ancillary = {
  /** The offset of the netlink attribute whose type is in the index register, searched from the offset in the accumulator. 0: none. */
  netlinkAttribute: 0xffff_f00c,
  /** A random number of 32 bits. */
  random: 0xffff_f038,
} as const;
/** Compare the accumulator with the operand, then skip `ifTrue` or `ifFalse` instructions. */
export const jumpIfEqual = 0x15;
export const jumpIfAtLeast = 0x35;
/** Ends the program. The operand is the number of octets of the packet to accept; 0 drops the packet. */
export const returnVerdict = 0x06;
export const acceptWholePacket = 0xffff_ffff;

const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;

/**
 * Attaches the program to the socket and replaces the present one atomically. Returns false when the kernel refuses; errno has the reason.
 */
export function attachFilter(libc: Libc, fd: number, instructions: readonly FilterInstruction[]): boolean {
  const program = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of instructions.entries()) {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(ifTrue, index * 8 + 2);
    program.writeUInt8(ifFalse, index * 8 + 3);
    program.writeUInt32LE(operand, index * 8 + 4);
  }
  const memory = new Uint8Array(program).buffer;
  // struct sock_fprog: the number of instructions and their address.
  const description = Buffer.alloc(16);
  description.writeUInt16LE(instructions.length);
  description.writeBigUInt64LE(libc.addressOf(memory), 8);
  return libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, description, description.length) === 0;
}
