import { addressBytes, type Address } from './address.ts';

/**
 * The hash seed. It is the same for all clusters, nodes and versions of Herald, because every node must compute the same hash. To spread
 * connections differently, change the slot tables and not the hash.
 */
export const hashSeed = 0x68_65_72_61;

/**
 * The input of the hash: source address and port; the source address alone, which keeps a client on one backend; or the destination
 * address alone, which keeps all connections to an address on one backend.
 */
export const hashInputs = ['connection', 'client', 'destination'] as const;
export type HashInput = (typeof hashInputs)[number];

/**
 * Returns the slot of a packet, computed as the kernel does for nft's "jhash ip saddr . th sport mod SIZE seed SEED". That is Bob Jenkins'
 * lookup3 hash over 32-bit words in host byte order, with the port in network order and padded to a word. The hash is scaled to the size by
 * multiplication, not by remainder. `address` is the source or, for a hash of the destination, the destination of the packet.
 */
export function slotOf(hashed: HashInput, address: Address, port: number, size: number): number {
  const octets = hashed === 'connection' ? Uint8Array.of(...addressBytes(address), port >>> 8, port & 0xff, 0, 0) : addressBytes(address);
  return Number((BigInt(jenkinsHash(littleEndianWords(octets), hashSeed)) * BigInt(size)) >> 32n);
}

/**
 * The Linux kernel's jhash2 (include/linux/jhash.h). The kernel's jhash gives the same result for whole words on little-endian machines.
 */
export function jenkinsHash(words: Uint32Array, seed: number): number {
  let a = (0xdead_beef + 4 * words.length + seed) | 0;
  let b = a;
  let c = a;
  let at = 0;
  for (; words.length - at > 3; at += 3) {
    a = (a + (words[at] ?? 0)) | 0;
    b = (b + (words[at + 1] ?? 0)) | 0;
    c = (c + (words[at + 2] ?? 0)) | 0;
    a = (a - c) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 4);
    b = (b + a) | 0;
  }
  if (at === words.length) return c >>> 0;
  a = (a + (words[at] ?? 0)) | 0;
  b = (b + (words[at + 1] ?? 0)) | 0;
  c = (c + (words[at + 2] ?? 0)) | 0;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  return c >>> 0;
}

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

function littleEndianWords(octets: Uint8Array): Uint32Array {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  return Uint32Array.from({ length: octets.length / 4 }, (_, index) => view.getUint32(4 * index, true));
}
