import { addressBytes, type Address } from './address.ts';

/**
 * What the seed of the hash is for all clusters: every node, and every version of Herald, must hash alike. Who is to be
 * spread differently is a matter of the slot tables, not of the hash.
 */
export const hashSeed = 0x68_65_72_61;

/** What of a packet is hashed: address and port of its source, or the address alone (the client keeps its backend). */
export type HashInput = 'connection' | 'client';

/**
 * The slot of a packet, as the kernel computes it (nft's "jhash ip saddr . th sport mod SIZE seed SEED"): Bob Jenkins' hash of
 * lookup3 over words of 32 bits in the machine's byte order, the port in network order and filled up to a word, and
 * scaled to the size by multiplication, not by remainder.
 */
export function slotOf(hashed: HashInput, source: Address, port: number, size: number): number {
  const address = addressBytes(source);
  const octets = hashed === 'client' ? address : Uint8Array.of(...address, port >>> 8, port & 0xff, 0, 0);
  return Number((BigInt(jenkinsHash(littleEndianWords(octets), hashSeed)) * BigInt(size)) >> 32n);
}

/** The Linux kernel's jhash2 (include/linux/jhash.h); its jhash of whole words is the same on little-endian machines. */
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
