import type { Libc } from './libc.ts';

/** A program of the classic socket filter (linux/filter.h): struct sock_filter, its fields in order. */
export type FilterInstruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/** Loads into the accumulator from a fixed place: a word, an octet. */
export const loadWord = 0x20;
export const loadOctet = 0x30;
/** Compares the accumulator with the operand and passes over that many instructions. */
export const jumpIfEqual = 0x15;
export const jumpIfAtLeast = 0x35;
/** The operand is how many octets of the packet to take; 0 drops it. */
export const returnVerdict = 0x06;
export const acceptWholePacket = 0xffff_ffff;

const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;

/** Takes the place of the socket's present program, at once. False: the kernel refuses, and errno says why. */
export function attachFilter(libc: Libc, fd: number, instructions: readonly FilterInstruction[]): boolean {
  const program = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of instructions.entries()) {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(ifTrue, index * 8 + 2);
    program.writeUInt8(ifFalse, index * 8 + 3);
    program.writeUInt32LE(operand, index * 8 + 4);
  }
  const memory = new Uint8Array(program).buffer;
  // struct sock_fprog: how many, and where.
  const description = Buffer.alloc(16);
  description.writeUInt16LE(instructions.length);
  description.writeBigUInt64LE(libc.addressOf(memory), 8);
  return libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, description, description.length) === 0;
}
