import { maskedPrefix, formatPrefix } from '../../net/prefix.ts';
import { parseAddress } from '../../net/address.ts';

/** MetalLB reads an IPv4-mapped IPv6 address as the IPv4 address that is in it (Go's net.ParseIP); Herald wants the address itself. */
export function normaliseAddress(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : value;
}

/** MetalLB clears the bits of a CIDR beyond its length (Go's net.ParseCIDR), and takes spaces around the ends of a range. */
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
