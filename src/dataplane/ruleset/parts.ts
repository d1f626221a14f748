import type { Family } from '../../net/address.ts';
import type { Element } from './element.ts';
import type { PackedSet } from './element-list.ts';
import type { Chain } from './layout.ts';
import { markOctets, type Octets } from './octets.ts';

/**
 * Parts of a table that are there only while something needs them, because every packet meets a chain with a hook, and every first packet a
 * lookup. An element of the set `parts` stands for each. Frontends share it like any other element: it is added with the first that needs
 * the part, in the same transaction, and deleted with the last.
 */
const partNumbers = { direct_return: 1, source_ranges: 2, nodeport_source_ranges: 3, affinity: 4, begun: 5 } as const;

export type Part = keyof typeof partNumbers;

/** The chains of a part: those with a hook come and go with it, the rules of others come and go while the empty chain stays. */
export type PartChains = ReadonlyMap<string, Chain>;

const partKey = (part: Part): Octets => markOctets(partNumbers[part]);

export function partElement(family: Family, part: Part): Element {
  return { family, set: 'parts', key: partKey(part) };
}

/** Returns the parts by the key of their element. */
export function partsByKey(parts: Readonly<Record<Part, PartChains>>): ReadonlyMap<Octets, PartChains> {
  return new Map((Object.entries(parts) as [Part, PartChains][]).map(([part, chains]) => [partKey(part), chains]));
}

/** Returns the chains of these parts. Undefined: there is an unknown part. */
export function chainsOfParts(parts: ReadonlyMap<Octets, PartChains>, present: PackedSet | undefined): PartChains | undefined {
  const chains = new Map<string, Chain>();
  for (let index = 0; index < (present?.length ?? 0); index++) {
    const part = parts.get(present?.at(index).key ?? '');
    if (part === undefined) return undefined;
    for (const [name, chain] of part) chains.set(name, chain);
  }
  return chains;
}
