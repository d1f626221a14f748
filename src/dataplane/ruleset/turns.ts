import { countedTurns, type Counting } from '../../net/frontend.ts';
import type { Family } from '../../net/address.ts';
import { fnv } from './classid.ts';
import type { ElementList } from './element-list.ts';
import { chainNameLength, fieldsLength, type Chain, type SetName } from './layout.ts';
import { markOctets, type Octets } from './octets.ts';
import type { PartChains } from './parts.ts';

/**
 * Backends that take turns. The kernel counts connections in a rule (`numgen inc`), so every frontend with turns has a chain of its own with
 * that one rule: connections to another frontend must not use up its turns. A map leads from the frontend to the chain, and its elements
 * bring and take away the chains. The name of a chain has the frontend and the number of turns, so a chain never changes.
 *
 * Where turns follow connections, the frontends of a Service port share one chain, because they share the connections. Its rule also has a counter,
 * which shows whose turn is next. An element of the set `shared_turns` brings it with the first of these frontends.
 */
export const turnSets = ['turns', 'turns_local', 'nodeport_turns', 'nodeport_turns_local'] as const satisfies readonly SetName[];

/** The sets whose elements bring chains of turns. */
export const turnChainSets = [...turnSets, 'shared_turns'] as const satisfies readonly SetName[];

export type TurnsView = 'any' | 'local';
const viewNames = { any: 'turns_', local: 'local_' } as const satisfies Readonly<Record<TurnsView, string>>;
const sharedName = 'shared_';
const countDigits = 4;
const sharedDigits = 8;

/** Returns the value that leads to the chain of a frontend (`key`), for all of its backends or the local ones. `turns`: 1..1024. */
export function turnOctets(family: Family, key: Octets, view: TurnsView, turns: number): Octets {
  const frontendOctets = fieldsLength(family, ['address', 'protocol', 'port']);
  // A NodePort has no address. No Service has the address that is all zeros.
  const frontend = Buffer.from(key.padStart(frontendOctets, '\0'), 'latin1').toString('hex');
  return `${viewNames[view]}${frontend}_${turns.toString(16).padStart(countDigits, '0')}\0`;
}

/**
 * Returns the number of the chain that the frontends of a Service port share. Its lowest bit tells the number of turns. Two Service ports with one
 * number disturb each other's turns: among a thousand, with a probability of one in four thousand.
 */
export function sharedTurns({ servicePort }: Pick<Counting, 'servicePort'>, view: TurnsView, turns: number): number {
  return ((fnv(`${servicePort} ${view}`) & ~1) | (turns === countedTurns[0] ? 0 : 1)) >>> 0;
}

/** Returns the value that leads to a shared chain. */
export const sharedTurnOctets = (family: Family, shared: number): Octets => `${sharedChainName(family, shared)}\0`;

/** Returns the key of the element that brings a shared chain. */
export const sharedTurnKey = (shared: number): Octets => markOctets(shared);

export function sharedChainName(family: Family, shared: number): string {
  const digits = chainNameLength[family] - 1 - sharedName.length;
  return sharedName + shared.toString(16).padStart(sharedDigits, '0').padStart(digits, '_');
}

/** Returns the name of the chain in a value. */
export const turnChainName = (value: Octets): string => value.slice(0, -1);

/** Returns the chains that elements of the list bring. Undefined: a value is none that `turnOctets` or `sharedTurnOctets` returns. */
export function turnChains(elements: ElementList, family: Family): PartChains | undefined {
  const chains = new Map<string, Chain>();
  for (const set of turnSets) {
    const packed = elements.packed(family, set);
    for (let index = 0; index < (packed?.length ?? 0); index++) {
      const name = turnChainName(packed?.at(index).value ?? '');
      if (sharedPattern.test(name) && name.length === chainNameLength[family] - 1) continue;
      if (!pattern[family].test(name)) return undefined;
      chains.set(name, { passing: true, rules: [`meta priority set numgen inc mod ${Number.parseInt(name.slice(-countDigits), 16)}`] });
    }
  }
  const shared = elements.packed(family, 'shared_turns');
  for (let index = 0; index < (shared?.length ?? 0); index++) {
    const number = Buffer.from(shared?.at(index).key ?? '', 'latin1').readUInt32LE();
    const turns = countedTurns[(number & 1) as 0 | 1];
    chains.set(sharedChainName(family, number), { passing: true, rules: [`counter meta priority set numgen inc mod ${turns}`] });
  }
  return chains;
}

const sharedPattern = new RegExp(`^${sharedName}_+[0-9a-f]{${sharedDigits}}$`);
const patternOf = (family: Family): RegExp =>
  new RegExp(`^(turns|local)_[0-9a-f]{${chainNameLength[family] - 1 - 'turns_'.length - 1 - countDigits}}_0[0-9a-f]{3}$`);
const pattern: Readonly<Record<Family, RegExp>> = { 4: patternOf(4), 6: patternOf(6) };
