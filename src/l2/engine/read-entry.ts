import { formatAddress, parseAddress, type Address } from '../../net/address.ts';
import { maximumCandidates } from '../limits.ts';
import type { AddressEntry, Link, Refusal } from '../table.ts';
import { isHostMac, parseMac } from '../wire/mac.ts';

interface ReadEntry {
  readonly address: Address;
  /** The address in its canonical form. */
  readonly key: string;
}

/** Checks an entry of the table. Returns the address or the reason why it is refused. */
export function readEntry(entry: AddressEntry): ReadEntry | Refusal {
  const subject = `${entry.address} on ${entry.interface}`;
  const parsed = parseAddress(entry.address);
  if (!parsed.ok) return { subject, message: parsed.problem };
  if (entry.candidates.length > maximumCandidates) {
    return { subject, message: `there are ${entry.candidates.length} candidates, at most ${maximumCandidates} are possible` };
  }
  if (new Set(entry.candidates).size < entry.candidates.length) return { subject, message: 'a candidate is named twice' };
  return { address: parsed.value, key: formatAddress(parsed.value) };
}

/** Returns why a link is refused. Undefined: it is not. */
export function linkProblem(link: Link): string | undefined {
  for (const text of [link.mac, ...link.peers.map(({ mac }) => mac)]) {
    const mac = parseMac(text);
    if (mac === undefined || !isHostMac(mac)) return `${text} is not the MAC address of a host`;
  }
  return undefined;
}
