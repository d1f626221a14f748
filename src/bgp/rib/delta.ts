import { none, type AttributeSets } from './interned/attribute-set.ts';
import type { Carriage } from './carriage.ts';
import type { PackedUpdate } from './pack-updates.ts';
import type { PrefixTable } from './interned/prefix-table.ts';

/** Bounds of a feed. Tests use small ones. */
export interface FeedLimits {
  readonly retainedChanges: number;
  readonly longDelta: number;
}

/** The desired routes of one family, by slot of the prefix table. */
export interface DesiredRoutes {
  readonly feedLimits: FeedLimits;
  readonly prefixes: PrefixTable;
  readonly sets: AttributeSets;
  /** The attribute set of the route, or `none`. */
  desired(slot: number): number;
  /** Returns the attribute set if such a session can carry it, else `none`. */
  carried(id: number, carriage: Carriage): number;
  /** Number of routes that some session can carry. */
  readonly size: number;
  /** All slots with a route are below this number. */
  readonly end: number;
}

/** The routes that some sessions should announce. */
export interface Targets {
  readonly table: DesiredRoutes;
  /** The attribute set to announce for the slot, or `none`. */
  target(slot: number): number;
}

/** Counts the UPDATEs kept for the members of a group. */
interface UpdateCount {
  kept: number;
}

/** Marks the attribute set of a route that the peer has but asked for again. Differs from every attribute set, so the route is sent again. */
export const stale = (id: number): number => -id;

/** In place of a target: the prefix is not part of the delta. */
const unchanged = -1;

/** A state of a route table that peers may have been brought to. */
export class Version {
  /** Increases with time. */
  readonly number: number;
  /** The changes to a later version. Undefined for the latest. */
  next: Delta | undefined;
  /** Cursors that rest here, and deltas that lead here. */
  users = 0;

  constructor(number: number) {
    this.number = number;
  }
}

/** Neighbouring prefixes of a delta with the same change. */
export interface Run {
  /** The attribute set to announce. `none`: the prefixes are to be withdrawn. */
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

interface DeltaParts {
  readonly slots: Int32Array;
  readonly before: Int32Array | undefined;
  readonly runs: readonly Run[];
  readonly to: Version;
  /** The slots, and the attribute sets before, are held already. The delta takes over. */
  readonly areHeld: boolean;
}

/**
 * The prefixes to send to a peer to bring it to a version, in the order of sending: withdrawals first, then one run for each attribute set.
 * The delta holds its slots and attribute sets. It does not change, so peers with the same difference use it together, and the UPDATEs
 * packed for one of them are written to the others as they are.
 */
export class Delta {
  readonly slots: Int32Array;
  /** The attribute set that the peer holds for each prefix. Undefined if it holds none. */
  readonly #before: Int32Array | undefined;
  readonly runs: readonly Run[];
  readonly to: Version;
  /** Cursors inside, and the version from which it leads. */
  users = 0;
  /** UPDATEs kept for other cursors, by group and first position. */
  readonly packed = new Map<UpdateCount, Map<number, PackedUpdate>>();
  readonly #table: DesiredRoutes;

  constructor(table: DesiredRoutes, { slots, before, runs, to, areHeld }: DeltaParts) {
    this.#table = table;
    this.slots = slots;
    this.#before = before;
    this.runs = runs;
    this.to = to;
    for (const { id, start, end } of runs) if (id !== none) table.sets.retain(id, end - start);
    if (areHeld) return;
    table.prefixes.retainAll(slots);
    this.#eachSetBefore((id, count) => table.sets.retain(id, count));
  }

  before(at: number): number {
    return this.#before?.[at] ?? none;
  }

  /** Releases the slots and attribute sets, because no cursor needs the delta any more. */
  free(): void {
    for (const [group, updates] of this.packed) group.kept -= updates.size;
    this.packed.clear();
    for (const { id, start, end } of this.runs) if (id !== none) this.#table.sets.release(id, end - start);
    this.#eachSetBefore((id, count) => this.#table.sets.release(id, count));
    this.#table.prefixes.releaseAll(this.slots);
  }

  #eachSetBefore(call: (id: number, count: number) => void): void {
    if (this.#before !== undefined) eachRun(this.#before, call);
  }
}

/** Calls back for each run of the same attribute set. */
export function eachRun(ids: Int32Array, call: (id: number, count: number) => void): void {
  let run = none;
  let length = 0;
  // By index, as in PrefixTable.retainAll.
  for (let at = 0; at < ids.length; at++) {
    const id = Math.abs(ids[at] ?? none);
    if (id === run) {
      length++;
      continue;
    }
    if (run !== none) call(run, length);
    run = id;
    length = 1;
  }
  if (run !== none) call(run, length);
}

/** Collects the prefixes of a delta in any order. */
export class DeltaBuilder {
  #slots: Int32Array;
  #before: Int32Array;
  #length = 0;

  constructor(capacity = 16) {
    this.#slots = new Int32Array(capacity);
    this.#before = new Int32Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  slot(at: number): number {
    return this.#slots[at] ?? 0;
  }

  before(at: number): number {
    return this.#before[at] ?? none;
  }

  /** Takes the arrays of a caller that does not use them any more. The builder must be empty. */
  addAll(slots: Int32Array, before: Int32Array): void {
    this.#slots = slots;
    this.#before = before;
    this.#length = slots.length;
  }

  add(slot: number, before: number): void {
    if (this.#length === this.#slots.length) {
      this.#slots = larger(this.#slots);
      this.#before = larger(this.#before);
    }
    this.#slots[this.#length] = slot;
    this.#before[this.#length++] = before;
  }

  /**
   * Orders the prefixes and drops those that did not change. Returns undefined if none is left. `areHeld`: the caller holds the slots and
   * attribute sets of the entries, and a delta takes over from it.
   */
  build(targets: Targets, to: Version, areHeld: boolean): Delta | undefined {
    const wanted = new Int32Array(this.#length);
    const counts = new Map<number, number>([[none, 0]]);
    let run = none;
    let length = 0;
    let total = 0;
    for (let at = 0; at < this.#length; at++) {
      const target = targets.target(this.slot(at));
      if (target === this.#before[at]) {
        wanted[at] = unchanged;
        continue;
      }
      wanted[at] = target;
      total++;
      if (target !== run) {
        if (length > 0) counts.set(run, (counts.get(run) ?? 0) + length);
        run = target;
        length = 0;
      }
      length++;
    }
    if (total === 0) return undefined;
    counts.set(run, (counts.get(run) ?? 0) + length);
    const runs: Run[] = [];
    const positions = new Map<number, number>();
    let start = 0;
    for (const [id, count] of counts) {
      positions.set(id, start);
      if (count > 0) runs.push({ id, start, end: start + count });
      start += count;
    }
    const slots = new Int32Array(total);
    const before = new Int32Array(total);
    let current = unchanged;
    let position = 0;
    for (let at = 0; at < this.#length; at++) {
      const target = wanted[at] ?? unchanged;
      if (target === unchanged) {
        if (areHeld) this.release(targets.table, at);
        continue;
      }
      if (target !== current) {
        positions.set(current, position);
        current = target;
        position = positions.get(target) ?? 0;
      }
      slots[position] = this.slot(at);
      before[position++] = this.before(at);
    }
    const hadNone = before.every((id) => id === none);
    return new Delta(targets.table, { slots, before: hadNone ? undefined : before, runs, to, areHeld });
  }

  /** Releases the holds of a caller that holds the slot and attribute set of each entry. */
  release({ prefixes, sets }: DesiredRoutes, at: number): void {
    if (this.before(at) > none) sets.release(this.before(at));
    prefixes.release(this.slot(at));
  }
}

function larger(old: Int32Array): Int32Array {
  const grown = new Int32Array(2 * old.length);
  grown.set(old);
  return grown;
}
