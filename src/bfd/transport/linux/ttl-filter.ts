import { addressBytes, type Address, type Family } from '../../../net/address.ts';
import {
  acceptWholePacket,
  jumpIfAtLeast,
  jumpIfEqual,
  loadOctet,
  loadWord,
  returnVerdict,
  type FilterInstruction,
} from '../../../system/ffi/socket-filter.ts';
import { fullTtl } from '../transport.ts';

/**
 * Socket filters for the TTL of packets. Node does not report the TTL, and the kernel does not enforce a minimum TTL for UDP as it does for
 * TCP. With the filter, packets with a smaller TTL never leave the kernel.
 */

/** Offsets from here on are in the network header (SKF_NET_OFF), independent of where the data of the socket begin. */
const networkHeader = 0x1_0000_0000 - 0x10_0000;
const ttlAt: Record<Family, number> = { 4: networkHeader + 8, 6: networkHeader + 7 };
const sourceAt: Record<Family, number> = { 4: networkHeader + 12, 6: networkHeader + 8 };

const accept: FilterInstruction = [returnVerdict, 0, 0, acceptWholePacket];
const drop: FilterInstruction = [returnVerdict, 0, 0, 0];

/** Drops everything, for a socket that only sends. */
export const nothing: readonly FilterInstruction[] = [drop];

/** Accepts only packets that no router has forwarded (RFC 5881 5). */
export function fromNeighbours(family: Family): readonly FilterInstruction[] {
  return [[loadOctet, 0, 0, ttlAt[family]], [jumpIfEqual, 0, 1, fullTtl], accept, drop];
}

/** Accepts the packets of these peers, each with its own minimum TTL. */
export function fromPeers(
  family: Family,
  peers: readonly { readonly peer: Address; readonly minimumTtl: number }[],
): readonly FilterInstruction[] {
  return [...peers.flatMap(({ peer, minimumTtl }) => fromPeer(family, peer, minimumTtl)), drop];
}

function fromPeer(family: Family, peer: Address, minimumTtl: number): readonly FilterInstruction[] {
  const bytes = Buffer.from(addressBytes(peer));
  const words = bytes.length / 4;
  // The instructions after the comparison of the last word.
  const verdict: readonly FilterInstruction[] = [[loadOctet, 0, 0, ttlAt[family]], [jumpIfAtLeast, 0, 1, minimumTtl], accept, drop];
  const comparisons = Array.from({ length: words }, (_, word): readonly FilterInstruction[] => {
    const toNextPeer = 2 * (words - word - 1) + verdict.length;
    return [
      [loadWord, 0, 0, sourceAt[family] + 4 * word],
      [jumpIfEqual, 0, toNextPeer, bytes.readUInt32BE(4 * word)],
    ];
  });
  return [...comparisons.flat(), ...verdict];
}
