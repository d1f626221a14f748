import { isPromiscuous } from '../../decisions/l2/link-troubles.ts';
import type { AddressEntry } from '../../l2/index.ts';
import type { NodeLink } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { basisOf } from '../../model/store/versioned-map.ts';
import { segmentOf, type Segment } from './l2-table.ts';

interface SegmentsOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly links: () => readonly NodeLink[] | undefined;
}

/** The links with addresses, and the other nodes on them. Looks at all nodes only when one of them, a link or the set of candidates has changed. */
export class Segments {
  readonly #options: SegmentsOptions;
  /** By interface. */
  readonly #used = new Map<string, Use>();
  #isChanged = true;
  #basis: readonly unknown[] = [];
  #text = '';

  constructor(options: SegmentsOptions) {
    this.#options = options;
  }

  /** Takes a change of entries. */
  replace(before: readonly AddressEntry[], after: readonly AddressEntry[]): void {
    for (const entry of after) this.#count(entry, 1);
    for (const entry of before) this.#count(entry, -1);
  }

  /** Returns the segments if they are not the same as at the last call. */
  take(): readonly Segment[] | undefined {
    const { node, snapshot, links } = this.#options;
    const { nodeStates, l2Advertisements } = snapshot();
    const basis = [links(), ...basisOf(l2Advertisements), ...basisOf(nodeStates)];
    const isKnown = basis.length === this.#basis.length && basis.every((value, index) => value === this.#basis[index]);
    if (isKnown && !this.#isChanged) return undefined;
    this.#basis = basis;
    this.#isChanged = false;
    const promiscuous = isPromiscuous(l2Advertisements.values());
    const segments = (links() ?? []).flatMap((link) => {
      const use = this.#used.get(link.name);
      return use === undefined ? [] : [segmentOf(link, node, nodeStates.values(), use.candidates, promiscuous)];
    });
    const text = JSON.stringify(segments, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    if (text === this.#text) return undefined;
    this.#text = text;
    return segments;
  }

  #count({ interface: name, candidates }: AddressEntry, change: 1 | -1): void {
    const use = this.#used.get(name) ?? { entries: 0, candidates: new Map<string, number>() };
    this.#used.set(name, use);
    use.entries += change;
    if (use.entries === 0) this.#used.delete(name);
    if (use.entries === 0 || (use.entries === 1 && change === 1)) this.#isChanged = true;
    for (const node of candidates) {
      const count = (use.candidates.get(node) ?? 0) + change;
      if (count === 0) use.candidates.delete(node);
      else use.candidates.set(node, count);
      if (count === 0 || (count === 1 && change === 1)) this.#isChanged = true;
    }
  }
}

/** The entries on one interface. */
interface Use {
  entries: number;
  /** The number of entries in which each node is a candidate. */
  readonly candidates: Map<string, number>;
}
