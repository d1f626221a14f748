import { formatAddress, parseAddress, type Address } from '../../../../../net/address.ts';
import { lastAddress, parsePrefixLeniently } from '../../../../../net/prefix.ts';
import { normaliseRange } from '../../../../../model/metallb/addresses.ts';

/** Returns a CIDR, a range or a single address in the form of an IPAddressPool, with its host bits cleared. */
export function poolRange(text: string): string {
  const written = text.trim();
  const single = parseAddress(written);
  if (single.ok) return `${written}/${single.value.family === 4 ? 32 : 128}`;
  return String(normaliseRange(written));
}

/** Returns a CIDR without its first and last address, as a range. A CIDR of one or two addresses stays whole. */
export function withoutEnds(text: string): string {
  const cidr = parsePrefixLeniently(poolRange(text));
  if (!cidr.ok || cidr.value.length >= (cidr.value.address.family === 4 ? 31 : 127)) return poolRange(text);
  const last = lastAddress(cidr.value);
  return `${shown(cidr.value.address, 1n)}-${shown(last, -1n)}`;
}

const shown = (address: Address, distance: bigint): string => formatAddress({ ...address, value: address.value + distance });

/** True when host bits are set in a CIDR: "192.0.2.5/24". */
export const hasHostBits = (text: string): boolean => text.includes('/') && poolRange(text) !== text.trim();
