import type { Family } from '../../net/address.ts';
import type { ElementList } from './element-list.ts';
import { chainNameLength, fieldsLength, type Chain, type SetName } from './layout.ts';
import type { Octets } from './octets.ts';
import type { PartChains } from './parts.ts';

/**
 * Backends that take turns. The kernel counts connections in a rule (`numgen inc`), so every frontend with turns has a chain of its own with
 * that one rule: connections to another frontend must not use up its turns. A map leads from the frontend to the chain, and its elements
 * bring and take away the chains. The name of a chain has the frontend and the number of turns, so a chain never changes.
 */
export const turnSets = ['turns', 'turns_local', 'nodeport_turns', 'nodeport_turns_local'] as const satisfies readonly SetName[];

const viewNames = { any: 'turns_', local: 'local_' } as const;
const countDigits = 4;

/** Returns the value that leads to the chain of a frontend (`key`), for all of its backends or the local ones. `turns`: 1..1024. */
export function turnOctets(family: Family, key: Octets, view: keyof typeof viewNames, turns: number): Octets {
  const frontendOctets = fieldsLength(family, ['address', 'protocol', 'port']);
  // A NodePort has no address. No Service has the address that is all zeros.
  const frontend = Buffer.from(key.padStart(frontendOctets, '\0'), 'latin1').toString('hex');
  return `${viewNames[view]}${frontend}_${turns.toString(16).padStart(countDigits, '0')}\0`;
}

/** Returns the name of the chain in a value. */
export const turnChainName = (value: Octets): string => value.slice(0, -1);

/** Returns the chains to which elements of the list lead. Undefined: a value is none that `turnOctets` returns. */
export function turnChains(elements: ElementList, family: Family): PartChains | undefined {
  const chains = new Map<string, Chain>();
  for (const set of turnSets) {
    const packed = elements.packed(family, set);
    for (let index = 0; index < (packed?.length ?? 0); index++) {
      const name = turnChainName(packed?.at(index).value ?? '');
      if (!pattern[family].test(name)) return undefined;
      chains.set(name, { passing: true, rules: [`meta priority set numgen inc mod ${Number.parseInt(name.slice(-countDigits), 16)}`] });
    }
  }
  return chains;
}

const patternOf = (family: Family): RegExp =>
  new RegExp(`^(turns|local)_[0-9a-f]{${chainNameLength[family] - 1 - 'turns_'.length - 1 - countDigits}}_0[0-9a-f]{3}$`);
const pattern: Readonly<Record<Family, RegExp>> = { 4: patternOf(4), 6: patternOf(6) };
