import { none } from './interned/attribute-set.ts';
import { noSlot, type AdditionalPaths } from './interned/additional-paths.ts';
import type { Carriage } from './carriage.ts';
import { DeltaBuilder, Version, type Delta, type DesiredRoutes, type Targets } from './delta.ts';

/** Entries that an empty delta costs, for the bound of retained ones. */
const deltaOverhead = 16;

/** The place of a peer in a feed. */
export interface FeedCursor {
  /** Called for the first change after the latest version. */
  changed(): void;
  /** Replaces all that is unsent by one delta to the head. */
  catchUp(): void;
}

/**
 * The changes of a route table, for all sessions that can carry the same routes: versions in the order of time, and between two of
 * them the delta. Changes after the latest version are collected in the open delta, where changes of one prefix coalesce. The next cursor
 * that wants to send closes it. A version or delta lives as long as a cursor needs it.
 *
 * For sessions without path identifiers a prefix has one slot, that of its first path, and a change of any path may be a change of it.
 */
export class Feed implements Targets {
  readonly table: DesiredRoutes;
  readonly carriage: Carriage;
  /** Number of slots with a target. */
  size = 0;
  /** The latest change to `none`, as a version number. Withdrawals are sent before announcements that wait. */
  withdrawnAt = 0;
  #head = new Version(0);
  /** The number of the version that comes next. */
  #openNumber = 1;
  #open = new DeltaBuilder();
  /** By slot: the number of the version that has its latest change. */
  #stamps = new Float64Array(0);
  readonly #cursors = new Set<FeedCursor>();
  readonly #ended: () => void;
  /** Deltas to the head from other states, by state and position. */
  readonly #toHead = new Map<object, Map<number, Delta>>();
  #retained = 0;
  #mostRetained: number;
  #seen = new Uint32Array(0);
  #mark = 0;

  /** `ended` is called when the last cursor has left. */
  constructor(table: DesiredRoutes, carriage: Carriage, ended: () => void) {
    this.table = table;
    this.carriage = carriage;
    this.#ended = ended;
    for (let slot = 0; slot < table.end; slot++) if (this.target(slot) !== none) this.size++;
    this.#mostRetained = table.feedLimits.retainedChanges;
  }

  get head(): Version {
    return this.#head;
  }

  /** True if the version has all changes. */
  isCurrent(version: Version): boolean {
    return version === this.#head && this.#open.length === 0;
  }

  /** The attribute set that these sessions should announce for the slot, or `none`. */
  target(slot: number): number {
    const { additional } = this.table.prefixes;
    if (additional === undefined || !this.carriage.onePath) return this.table.carried(this.table.desired(slot), this.carriage);
    return additional.isAdditional(slot) ? none : this.#first(additional, slot);
  }

  /** Records a change of the table. */
  record(changed: number, before: number, after: number): void {
    const { additional } = this.table.prefixes;
    const isOneOfSeveral = additional !== undefined && this.carriage.onePath;
    const slot = isOneOfSeveral ? additional.firstOf(changed) : changed;
    const from = isOneOfSeveral ? this.#first(additional, slot, changed, before) : this.table.carried(before, this.carriage);
    const to = isOneOfSeveral ? this.#first(additional, slot) : this.table.carried(after, this.carriage);
    if (from === to) return;
    this.size += Number(to !== none) - Number(from !== none);
    if (to === none) this.withdrawnAt = this.#openNumber;
    if (slot >= this.#stamps.length) this.#makeRoom();
    if (this.#stamps[slot] === this.#openNumber) return;
    this.#stamps[slot] = this.#openNumber;
    this.table.prefixes.retain(slot);
    if (from > none) this.table.sets.retain(from);
    this.#open.add(slot, from);
    if (this.#open.length === 1) for (const cursor of this.#cursors) cursor.changed();
  }

  /** True if the latest version has all routes of the table as they are. */
  get hasAll(): boolean {
    return this.#open.length === 0 && this.size === this.table.size;
  }

  /**
   * Records that these routes went, when it has all. `before`: the attribute set of each. The caller passes on a hold of each slot and set, and
   * both arrays.
   */
  withdraw(slots: Int32Array, before: Int32Array): void {
    const stamp = this.#openNumber;
    this.#makeRoom();
    const stamps = this.#stamps;
    for (let at = 0; at < slots.length; at++) stamps[slots[at] ?? 0] = stamp;
    this.size -= slots.length;
    this.withdrawnAt = stamp;
    this.#open.addAll(slots, before);
    for (const cursor of this.#cursors) cursor.changed();
  }

  /** Makes the open changes a delta to a new version. */
  close(): void {
    const open = this.#open;
    if (open.length === 0) return;
    this.#open = new DeltaBuilder();
    const version = new Version(this.#openNumber++);
    const from = this.#head;
    const delta = from.users === 0 ? undefined : open.build(this, version, true);
    if (from.users === 0 || delta !== undefined) {
      this.#head = version;
      this.#toHead.clear();
    }
    if (delta !== undefined) {
      from.next = delta;
      this.#adopt(delta);
      delta.users++;
    } else {
      this.#releaseEntries(open);
    }
    if (this.#retained > this.#mostRetained) this.#compact();
  }

  join(cursor: FeedCursor): void {
    this.#cursors.add(cursor);
  }

  leave(cursor: FeedCursor): void {
    this.#cursors.delete(cursor);
    if (this.#cursors.size > 0) return;
    const open = this.#open;
    this.#open = new DeltaBuilder();
    this.#releaseEntries(open);
    this.#ended();
  }

  /**
   * Returns the delta from a state to the head, or undefined if there is no difference. `collect` adds the prefixes with what a peer in this
   * state holds. Other cursors in the same state get the same delta; `undefined` is a state of its own. The open delta must be closed, and the
   * caller must use the delta.
   */
  deltaToHead(state: object | undefined, position: number, collect: (entries: DeltaBuilder) => void): Delta | undefined {
    const known = state === undefined ? undefined : this.#toHead.get(state)?.get(position);
    if (known !== undefined) return known;
    const entries = new DeltaBuilder();
    collect(entries);
    const delta = entries.build(this, this.#head, false);
    if (delta === undefined) return undefined;
    this.#adopt(delta);
    if (state === undefined) return delta;
    const byPosition = this.#toHead.get(state) ?? new Map<number, Delta>();
    this.#toHead.set(state, byPosition.set(position, delta));
    return delta;
  }

  /**
   * Calls `visit` for each prefix whose change a cursor at this place has not sent, with the attribute set that its peer holds. The prefix may
   * have changed back since.
   */
  eachUnsent(delta: Delta | undefined, position: number, version: Version, visit: (slot: number, before: number) => void): void {
    if (this.#seen.length < this.table.prefixes.capacity || this.#mark === 0xffff_ffff) {
      this.#seen = new Uint32Array(this.table.prefixes.capacity);
      this.#mark = 0;
    }
    const seen = this.#seen;
    const mark = ++this.#mark;
    const visitOnce = (slot: number, before: number): void => {
      if (seen[slot] === mark) return; // an earlier delta has the value that the peer holds
      seen[slot] = mark;
      visit(slot, before);
    };
    let from = position;
    for (let each = delta ?? version.next; each !== undefined; each = each.to.next) {
      for (let at = from; at < each.slots.length; at++) visitOnce(each.slots[at] ?? 0, each.before(at));
      from = 0;
    }
    for (let at = 0; at < this.#open.length; at++) visitOnce(this.#open.slot(at), this.#open.before(at));
  }

  /** Tells whether one of these prefixes of the delta has changed after its version. */
  isOutdated(delta: Delta, start: number, end: number): boolean {
    const { slots, to } = delta;
    for (let at = start; at < end; at++) if ((this.#stamps[slots[at] ?? 0] ?? 0) > to.number) return true;
    return false;
  }

  releaseDelta(delta: Delta): void {
    if (--delta.users === 0) this.#free(delta);
  }

  releaseVersion(version: Version): void {
    let left: Version | undefined = version;
    while (left !== undefined && --left.users === 0 && left !== this.#head) {
      const { next }: Version = left;
      left.next = undefined;
      if (next === undefined || --next.users > 0) return;
      this.#dispose(next);
      left = next.to;
    }
  }

  /**
   * Returns the attribute set of the first path of a prefix that these sessions can carry, or `none`. `before`: what one of the slots had
   * before a change.
   */
  #first(additional: AdditionalPaths, first: number, changed = noSlot, before: number = none): number {
    for (let slot = first; slot !== noSlot; slot = additional.next(slot)) {
      const id = this.table.carried(slot === changed ? before : this.table.desired(slot), this.carriage);
      if (id !== none) return id;
    }
    return none;
  }

  #makeRoom(): void {
    if (this.#stamps.length >= this.table.prefixes.capacity) return;
    const stamps = new Float64Array(this.table.prefixes.capacity);
    stamps.set(this.#stamps);
    this.#stamps = stamps;
  }

  #free(delta: Delta): void {
    this.#dispose(delta);
    this.releaseVersion(delta.to);
  }

  #dispose(delta: Delta): void {
    this.#retained -= delta.slots.length + deltaOverhead;
    delta.free();
    if (delta.to !== this.#head) return;
    for (const byPosition of this.#toHead.values()) {
      for (const [position, known] of byPosition) if (known === delta) byPosition.delete(position);
    }
  }

  #adopt(delta: Delta): void {
    delta.to.users++;
    this.#retained += delta.slots.length + deltaOverhead;
  }

  #releaseEntries(entries: DeltaBuilder): void {
    for (let at = 0; at < entries.length; at++) entries.release(this.table, at);
  }

  /** Replaces the chains of deltas of cursors that lag behind by one delta each, so that what a slow peer costs does not grow with time. */
  #compact(): void {
    for (const cursor of this.#cursors) cursor.catchUp();
    this.#mostRetained = Math.max(this.table.feedLimits.retainedChanges, 2 * this.#retained);
  }
}
