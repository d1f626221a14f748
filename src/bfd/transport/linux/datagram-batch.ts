import { addressFromBytes, formatAddress, type Family } from '../../../net/address.ts';
import type { Libc } from '../../../system/ffi/libc.ts';
import { receiveBatch } from '../../limits.ts';

const MSG_DONTWAIT = 0x40;

/** Octets of struct mmsghdr: struct msghdr (56), then the length of the datagram (4), then padding. */
const headerLength = 64;
/** Octets of struct iovec. */
const vectorLength = 16;
/** Room for struct sockaddr_in6 (28). */
const sourceLength = 32;
/** The Length field of a packet has one octet, so what is cut off a longer datagram is never read. */
const payloadLength = 256;

// Layout of the memory: all headers, then all vectors, sources and payloads.
const vectorsAt = receiveBatch * headerLength;
const sourcesAt = vectorsAt + receiveBatch * vectorLength;
const payloadsAt = sourcesAt + receiveBatch * sourceLength;

/** Receives several datagrams with one system call, in memory that is used again for the next ones. */
export class DatagramBatch {
  readonly #libc: Libc;
  readonly #family: Family;
  readonly #memory: Buffer;

  constructor(libc: Libc, family: Family) {
    this.#libc = libc;
    this.#family = family;
    const buffer = new ArrayBuffer(payloadsAt + receiveBatch * payloadLength);
    const base = libc.addressOf(buffer);
    const memory = Buffer.from(buffer);
    this.#memory = memory;
    for (let i = 0; i < receiveBatch; i++) {
      const headerAt = i * headerLength;
      const vectorAt = vectorsAt + i * vectorLength;
      // struct msghdr: name and its length, vector and its length. The kernel sets the length of the name to that of the family.
      memory.writeBigUInt64LE(base + BigInt(sourcesAt + i * sourceLength), headerAt);
      memory.writeUInt32LE(sourceLength, headerAt + 8);
      memory.writeBigUInt64LE(base + BigInt(vectorAt), headerAt + 16);
      memory.writeBigUInt64LE(1n, headerAt + 24);
      // struct iovec: base and length.
      memory.writeBigUInt64LE(base + BigInt(payloadsAt + i * payloadLength), vectorAt);
      memory.writeBigUInt64LE(BigInt(payloadLength), vectorAt + 8);
    }
  }

  /** Receives the datagrams that wait, up to a limit. Returns their number; 0 also after an error. */
  receive(fd: number): number {
    return Math.max(0, this.#libc.recvmmsg(fd, this.#memory, receiveBatch, MSG_DONTWAIT, null));
  }

  /** The payload of a received datagram, until the next call of `receive`. */
  payload(index: number): Uint8Array {
    const at = payloadsAt + index * payloadLength;
    return this.#memory.subarray(at, at + this.#memory.readUInt32LE(index * headerLength + 56));
  }

  /** The source address of a received datagram, in the format of `formatAddress`. */
  source(index: number): string {
    const memory = this.#memory;
    const at = sourcesAt + index * sourceLength;
    if (this.#family === 6) return formatAddress(addressFromBytes(memory.subarray(at + 8, at + 24)));
    return `${memory[at + 4]}.${memory[at + 5]}.${memory[at + 6]}.${memory[at + 7]}`;
  }
}
