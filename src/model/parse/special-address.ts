import type { Address } from '../../net/address.ts';
import { isLinkLocal } from '../../net/address.ts';

/** Why no packet for this address comes from outside (RFC 6890): "the loopback address". Undefined for any other address. */
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
