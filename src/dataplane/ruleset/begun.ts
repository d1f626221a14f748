import type { Family } from '../../net/address.ts';
import { maximumBegunPairs, maximumEnteredInterfaces } from '../limits.ts';
import { chain } from './layout.ts';
import type { PartChains } from './parts.ts';

/**
 * The set that the kernel fills with the destination and endpoint of connections whose first packet passes our filter chains: after it was
 * translated, and before filters of others, which run later, may drop it. An element stays for `begunSeconds`, and counts these first packets.
 */
export const begunSet = 'begun';
export const begunChain = 'note_begun';
export const begunSeconds = 6;

export function begunDeclaration(family: Family): string {
  const address = `ipv${family}_addr`;
  const type = `type ${address} . inet_proto . inet_service . ${address} . inet_service`;
  return `${type} ; size ${maximumBegunPairs} ; flags dynamic,timeout ; timeout ${begunSeconds}s ;`;
}

/** The set in which the kernel counts the same packets by the index of the interface by which they came in. An element stays for an hour after the last one. */
export const enteredSet = 'entered';
export const enteredDeclaration = `type iface_index ; size ${maximumEnteredInterfaces} ; flags dynamic,timeout ; timeout 1h ;`;

/** Builds the chain that the first packet of every translated connection meets. Without somebody who looks at the set, it is empty. */
export function begunPart(ip: 'ip' | 'ip6'): PartChains {
  const destination = `ct original ${ip} daddr . meta l4proto . ct original proto-dst`;
  // An element that is there keeps its time: it says when the first of these connections began.
  const noted = `meta l4proto { tcp, udp } add @${begunSet} { ${destination} . ${ip} daddr . th dport counter }`;
  return new Map([chain(begunChain, [noted, `update @${enteredSet} { iif counter }`])]);
}
