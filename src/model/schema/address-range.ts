import { refused, type Parsed } from '../../net/parsed.ts';
import { parseRange, type AddressRange } from '../../net/range.ts';
import { unusableBlocks, unusableIn } from '../parse/special-address.ts';
import { quoted, withValue } from './cel.ts';
import { addressLength } from './grammars.ts';
import type { Grammar } from './schema.ts';

const isRange = "(self.split('-').size() == 2 && self.split('-').all(end, isIP(end.trim())))";
const isBlock = 'isCIDR(self.trim())';
const ends = "self.split('-').map(end, end.trim())";
const number = (of: string): string =>
  [16_777_216, 65_536, 256, 1].map((weight, index) => `int(${of}.split('.')[${index}]) * ${weight}`).join(' + ');

/** Blocks that hold an end of the range, or lie inside of the block. What a range spans is for `parse` alone. */
const unusable = `[${unusableBlocks.map(quoted).join(', ')}].exists(block, ${isBlock} ? (cidr(block).containsCIDR(self.trim()) || cidr(self.trim()).containsCIDR(block)) : self.split('-').exists(end, cidr(block).containsIP(end.trim())))`;

/** "192.0.2.0/24" or "192.0.2.1-192.0.2.9": addresses that can be given to Services. */
export const addressRange: Grammar<AddressRange> = {
  called: 'CIDR or range',
  plural: 'CIDRs and ranges',
  parse: parseUsableRange,
  maxLength: 2 * addressLength + ' - '.length,
  rules: [
    {
      cel: `${isBlock} || ${isRange}`,
      message: 'is neither a CIDR nor a range',
      fix: 'write 192.0.2.0/24 or 192.0.2.1-192.0.2.9',
      broken: '192.0.2.1',
    },
    {
      cel: `!${isBlock} || cidr(self.trim()) == cidr(self.trim()).masked()`,
      message: 'has bits set beyond the prefix length',
      fix: 'write the first address of the block',
      broken: '192.0.2.1/24',
    },
    {
      cel: `!${isRange} || ${withValue('range', ends, 'ip(range[0]).family() == ip(range[1]).family()')}`,
      message: 'begins in one address family and ends in the other',
      fix: 'write one range for each family',
      broken: '192.0.2.1-2001:db8::1',
    },
    {
      cel: `!${isRange} || self.contains(':') || ${withValue('range', ends, `${number('range[0]')} <= ${number('range[1]')}`)}`,
      message: 'ends before it begins',
      fix: 'swap the two addresses',
      broken: '192.0.2.9-192.0.2.1',
    },
    {
      cel: `!(${isBlock} || ${isRange}) || !${unusable}`,
      message: 'holds addresses that no client can reach',
      fix: 'leave out loopback, link-local, multicast, reserved and unspecified addresses',
      broken: '127.0.0.0/29',
    },
  ],
};

function parseUsableRange(text: string): Parsed<AddressRange> {
  const range = parseRange(text.trim());
  const unusable = range.ok ? unusableIn(range.value) : undefined;
  return unusable === undefined ? range : refused(`holds ${unusable}, which no client can reach: leave them out`);
}
