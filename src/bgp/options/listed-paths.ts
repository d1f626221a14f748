import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import { maximumPaths } from '../limits.ts';
import { firstPathId } from '../rib/interned/additional-paths.ts';
import { PrefixTable } from '../rib/interned/prefix-table.ts';

/**
 * The routes of a list that name a path identifier. Each has another identifier than the other routes of its prefix, which `problemOf` checks.
 * Of routes without identifier the last counts, so they are not checked, unless one of the list names the first identifier.
 */
export class ListedPaths {
  readonly #prefixes = { 4: new PrefixTable(4), 6: new PrefixTable(6) };
  /** Number of listed paths by slot of the prefix, and the slots of paths with the first identifier. */
  readonly #counts = { 4: new Map<number, number>(), 6: new Map<number, number>() };
  readonly #firsts = { 4: new Set<number>(), 6: new Set<number>() };

  /** Tells whether a route names the first identifier, which routes without one have, too. */
  get namesFirst(): boolean {
    return this.#firsts[4].size + this.#firsts[6].size > 0;
  }

  /** Adds a route with an identifier. Returns why it cannot be in the list, if it cannot. */
  problemOf(prefix: Prefix, pathId: number): string | undefined {
    const { family } = prefix.address;
    const table = this.#prefixes[family];
    const isFirst = pathId === firstPathId;
    const known = table.find(prefix);
    if (isFirst ? this.#firsts[family].has(known) : table.find(prefix, pathId) >= 0) {
      return `${pathId} comes twice for ${formatPrefix(prefix)}: give each path of a prefix its own identifier`;
    }
    table.acquire(prefix, pathId);
    const slot = table.find(prefix);
    if (isFirst) this.#firsts[family].add(slot);
    const count = (this.#counts[family].get(slot) ?? 0) + 1;
    this.#counts[family].set(slot, count);
    return count > maximumPaths ? tooManyPaths(prefix) : undefined;
  }

  /** Returns why a route without identifier cannot be in the list, if it cannot. */
  problemWithout(prefix: Prefix): string | undefined {
    const { family } = prefix.address;
    if (!this.#firsts[family].has(this.#prefixes[family].find(prefix))) return undefined;
    const name = formatPrefix(prefix);
    return `${firstPathId} comes twice for ${name}: a route without identifier has ${firstPathId}, so give it another one`;
  }
}

export const tooManyPaths = (prefix: Prefix): string =>
  `${formatPrefix(prefix)} has more than ${maximumPaths} paths, the most: withdraw some first`;
