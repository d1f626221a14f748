import { maskedPrefix, formatPrefix } from '../../net/prefix.ts';
import { parseAddress } from '../../net/address.ts';

/** Converts an IPv4-mapped IPv6 address to IPv4. MetalLB accepts the mapped form (Go's net.ParseIP), Herald does not. */
export function normaliseAddress(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : value;
}

/** Clears the host bits of a CIDR and trims the ends of a range. MetalLB accepts both forms (Go's net.ParseCIDR), Herald does not. */
export function normaliseRange(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const dash = value.indexOf('-');
  if (dash >= 0) return [value.slice(0, dash), value.slice(dash + 1)].map((end) => normaliseAddress(end.trim())).join('-');
  const [base = '', length = ''] = value.trim().split('/', 2);
  const address = parseAddress(base);
  const bits = Number(length);
  if (!address.ok || !/^[0-9]{1,3}$/.test(length) || bits > (address.value.family === 4 ? 32 : 128)) return value;
  return formatPrefix(maskedPrefix(address.value, bits));
}
