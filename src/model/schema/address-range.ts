import { invalid, type Parsed } from '../../net/parsed.ts';
import { parseRange, type AddressRange } from '../../net/range.ts';
import { unusableIn } from '../reading/special-address.ts';
import { matches } from './cel.ts';
import { addressLength } from './grammars.ts';
import type { Grammar } from './schema.ts';

// These expressions avoid macros over the parts of a text. The API server assumes as many parts as the text has characters, for each of a
// thousand ranges, and would reject the rule as too costly.
const first = "self.substring(0, self.indexOf('-')).trim()";
const last = "self.substring(self.indexOf('-') + 1).trim()";
const isRange = `(self.contains('-') && isIP(${first}) && isIP(${last}))`;
const isBlock = 'isCIDR(self.trim())';
const number = (of: string): string =>
  [16_777_216, 65_536, 256, 1].map((weight, index) => `int(${of}.split('.')[${index}]) * ${weight}`).join(' + ');

/**
 * Matches 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4 and 240.0.0.0/4 at either end of a range. Only `parse` checks the addresses
 * between.
 */
const unusableIPv4 = matches('self', '(^|-) *(0|127|169[.]254|22[4-9]|2[345][0-9])[.]');
const usable = (address: string): string => `${address}.isGlobalUnicast()`;

/** The grammar of "192.0.2.0/24" and "192.0.2.1-192.0.2.9": addresses that Services can be given. */
export const addressRange: Grammar<AddressRange> = {
  called: 'CIDR or range',
  plural: 'CIDRs and ranges',
  parse: parseUsableRange,
  example: '192.0.2.0/24',
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
      cel: `!${isRange} || ip(${first}).family() == ip(${last}).family()`,
      message: 'begins in one address family and ends in the other',
      fix: 'write one range for each family',
      broken: '192.0.2.1-2001:db8::1',
    },
    {
      cel: `!${isRange} || self.contains(':') || ${number(first)} <= ${number(last)}`,
      message: 'ends before it begins',
      fix: 'swap the two addresses',
      broken: '192.0.2.9-192.0.2.1',
    },
    {
      cel: `!${unusableIPv4} && (${isBlock} ? ${usable('cidr(self.trim()).ip()')} : !${isRange} || (${usable(`ip(${first})`)} && ${usable(`ip(${last})`)}))`,
      message: 'holds addresses that no client can reach',
      fix: 'leave out loopback, link-local, multicast, reserved and unspecified addresses',
      broken: '127.0.0.0/29',
    },
  ],
};

function parseUsableRange(text: string): Parsed<AddressRange> {
  const range = parseRange(text.trim());
  const unusable = range.ok ? unusableIn(range.value) : undefined;
  return unusable === undefined ? range : invalid(`holds ${unusable}, which no client can reach: leave them out`);
}
