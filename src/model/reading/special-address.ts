import { isLinkLocal, type Address } from '../../net/address.ts';
import { prefix } from '../../net/prefix.ts';
import { rangeOfPrefix, rangesOverlap, type AddressRange } from '../../net/range.ts';

/**
 * Returns the special purpose of an address that cannot receive packets from outside (RFC 6890), such as "the loopback address". Undefined
 * for any other address.
 */
export function specialAddress(address: Address): string | undefined {
  const { family, value } = address;
  if (value === 0n) return 'the unspecified address';
  if (family === 4) {
    if (value >> 24n === 127n) return 'a loopback address';
    if (value >> 16n === 0xa9fen) return 'a link-local address';
    if (value >> 28n === 0xen) return 'a multicast address';
    return undefined;
  }
  if (value === 1n) return 'the loopback address';
  if (isLinkLocal(address)) return 'a link-local address';
  if (value >> 120n === 0xffn) return 'a multicast address';
  return undefined;
}

/** Blocks that cannot be given to a Service: routers and hosts drop packets to them (RFC 6890). */
const unusable = [
  ['0.0.0.0/8', 'unspecified addresses'],
  ['127.0.0.0/8', 'loopback addresses'],
  ['169.254.0.0/16', 'link-local addresses'],
  ['224.0.0.0/4', 'multicast addresses'],
  ['240.0.0.0/4', 'reserved addresses'],
  ['::/128', 'the unspecified address'],
  ['::1/128', 'the loopback address'],
  ['fe80::/10', 'link-local addresses'],
  ['ff00::/8', 'multicast addresses'],
] as const;
const unusableRanges = unusable.map(([block, what]) => ({ range: rangeOfPrefix(prefix(block)), text: `${what} (${block})` }));

/** Returns the unusable part of a range, such as "loopback addresses (127.0.0.0/8)". Undefined when the whole range is usable. */
export function unusableIn(range: AddressRange): string | undefined {
  return unusableRanges.find((block) => rangesOverlap(block.range, range))?.text;
}
