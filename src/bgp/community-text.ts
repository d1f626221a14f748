import { parsed, refused, type Parsed } from '../net/parsed.ts';
import type { Community } from './route.ts';

/** The IANA registry "BGP Well-known Communities", as far as somebody who announces has use for them. */
const wellKnown: Readonly<Record<string, number>> = {
  'graceful-shutdown': 0xffff_0000,
  'accept-own': 0xffff_0001,
  'llgr-stale': 0xffff_0006,
  'no-llgr': 0xffff_0007,
  blackhole: 0xffff_029a,
  'no-export': 0xffff_ff01,
  'no-advertise': 0xffff_ff02,
  'no-export-subconfed': 0xffff_ff03,
  'no-peer': 0xffff_ff04,
};

/** "64512:100" (RFC 1997), "64512:1:2" or "large:64512:1:2" (RFC 8092), or a well-known name such as "no-export". */
export function parseCommunity(text: string): Parsed<Community> {
  const named = Object.hasOwn(wellKnown, text) ? wellKnown[text] : undefined;
  if (named !== undefined) return parsed({ kind: 'standard', value: named });
  const numbers = text.replace(/^large:(?=\d+:\d+:\d+$)/, '').split(':');
  const most = numbers.length === 2 ? 0xffff : 0xffff_ffff;
  const [first, second, third, ...others] = numbers.map((digits) => (/^\d{1,10}$/.test(digits) ? Number(digits) : Infinity));
  if (first === undefined || second === undefined || others.length > 0 || Math.max(first, second, third ?? 0) > most) {
    return refused('not a community: write 64512:100 with numbers to 65535, 64512:1:2 with numbers to 4294967295, or a name as no-export');
  }
  if (third === undefined) return parsed({ kind: 'standard', value: first * 0x1_0000 + second });
  return parsed({ kind: 'large', globalAdministrator: first, localData1: second, localData2: third });
}
