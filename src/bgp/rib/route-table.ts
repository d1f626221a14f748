import type { Prefix } from '../../net/prefix.ts';
import { firstPathId, noSlot } from './interned/additional-paths.ts';
import { none, type AttributeSets } from './interned/attribute-set.ts';
import { canCarry, obstacleOf, type Carriage } from './carriage.ts';
import { eachRun, type DesiredRoutes, type FeedLimits } from './delta.ts';
import { Feed } from './feed.ts';
import { maximumPaths } from '../limits.ts';
import type { PrefixTable } from './interned/prefix-table.ts';
import type { Route } from '../route.ts';

/** A desired route that is not announced, and why. */
export interface NotPossible {
  readonly prefix: Prefix;
  /** Absent for the first identifier. */
  readonly pathId?: number;
  readonly why: string;
}

/**
 * The desired routes of one family, by slot of the prefix table; each additional path of a prefix is one, too. All peers of a speaker read one table. A peer with routes of its own has a
 * table over it: an own route hides the route of the table below, which returns when the own route goes. The table holds the slot and the
 * attribute set of each route.
 */
export class RouteTable implements DesiredRoutes {
  readonly prefixes: PrefixTable;
  readonly sets: AttributeSets;
  readonly feedLimits: FeedLimits;
  /** Number of routes that some session can carry. */
  size = 0;
  /** Number of slots whose route comes from this table and not from the one below. */
  ownSize = 0;
  readonly #below: RouteTable | undefined;
  readonly #above = new Set<RouteTable>();
  #desired = new Int32Array(0);
  /** 1 for a prefix whose route comes from this table. */
  #own = new Uint8Array(0);
  /** Routes that no UPDATE can carry, with the reason, by slot. */
  readonly #refused = new Map<number, string>();
  readonly #feeds = new Map<string, Feed>();
  #replacement: Replacement | undefined;

  constructor(prefixes: PrefixTable, sets: AttributeSets, feedLimits: FeedLimits, below?: RouteTable) {
    this.prefixes = prefixes;
    this.sets = sets;
    this.feedLimits = feedLimits;
    this.#below = below;
    if (below === undefined) return;
    for (const [slot, id] of below.#desired.entries()) this.#put(slot, id, undefined);
    for (const [slot, why] of below.#refused) this.#put(slot, none, why);
    below.#above.add(this);
  }

  /** The attribute set of the route, or `none`. */
  desired(slot: number): number {
    return this.#desired[slot] ?? none;
  }

  /** Why no session can carry the route, if there is such a route. */
  refusal(slot: number): string | undefined {
    return this.#refused.size === 0 ? undefined : this.#refused.get(slot);
  }

  /** All slots with a route are below this number, and so are those of their prefixes. */
  get end(): number {
    return this.prefixes.additional === undefined ? this.#desired.length : this.prefixes.capacity;
  }

  announce(route: Route): void {
    const slot = this.prefixes.acquire(route.prefix, route.pathId);
    this.#override(slot);
    this.#announceAt(slot, route);
    this.prefixes.release(slot);
  }

  /** Withdrawing a route that is not there is no error. */
  withdraw(prefix: Prefix, pathId?: number): void {
    // A replacement may have a route that is not in the table yet.
    if (!this.isReplacing && this.prefixes.find(prefix, pathId) === noSlot) return;
    const slot = this.prefixes.acquire(prefix, pathId);
    this.#override(slot);
    this.#withdrawAt(slot);
    this.prefixes.release(slot);
  }

  /**
   * Begins a replacement, which may last for several turns of the event loop: `change` for all routes, `withdrawOthers`, `add` for all
   * routes, `endReplacement`. Routes that are announced or withdrawn meanwhile count as later than the replacement.
   */
  beginReplacement(): void {
    this.endReplacement();
    this.#replacement = { named: new Uint8Array(this.prefixes.capacity), later: new Set() };
  }

  get isReplacing(): boolean {
    return this.#replacement !== undefined;
  }

  endReplacement(): void {
    for (const slot of this.#replacement?.later ?? []) this.prefixes.release(slot);
    this.#replacement = undefined;
  }

  /** Sets the route if there is one for the prefix. Otherwise returns false: the route is to be added. */
  change(route: Route): boolean {
    const slot = this.prefixes.find(route.prefix, route.pathId);
    if (slot === noSlot || this.#own[slot] !== 1 || this.#replacement === undefined) return false;
    if (this.#replacement.later.has(slot)) return true;
    this.#replacement.named[slot] = 1;
    this.#announceAt(slot, route);
    return true;
  }

  /**
   * Withdraws the routes that the replacement has not named, among a number of slots from `first` on. Returns the slot to go on with, or
   * `noSlot` at the end.
   */
  withdrawOthers(first: number, count: number): number {
    const replacement = this.#replacement;
    if (replacement === undefined || this.ownSize === 0) return noSlot;
    const { named, later } = replacement;
    const [own, desired] = [this.#own, this.#desired];
    const end = Math.min(own.length, first + count);
    const hasLater = later.size > 0;
    const leavesNothing = this.#leavesNothing;
    const slots = new Int32Array(leavesNothing ? end - first : 0);
    const before = new Int32Array(slots.length);
    let length = 0;
    // Without calls, as in PrefixTable.write.
    for (let slot = first; slot < end; slot++) {
      if (own[slot] !== 1 || named[slot] === 1 || (hasLater && later.has(slot))) continue;
      if (!leavesNothing) {
        this.#withdrawAt(slot);
        continue;
      }
      own[slot] = 0;
      slots[length] = slot;
      before[length++] = desired[slot] ?? none;
      desired[slot] = none;
    }
    if (length > 0) this.#passOn(slots.subarray(0, length), before.subarray(0, length));
    return end === own.length ? noSlot : end;
  }

  /** Adds a route of the replacement, unless `change` has set it. */
  add(route: Route): void {
    const slot = this.prefixes.acquire(route.prefix, route.pathId);
    const isSet = this.#replacement?.named[slot] === 1 && this.#own[slot] === 1;
    if (!isSet && this.#replacement?.later.has(slot) !== true) this.#announceAt(slot, route);
    this.prefixes.release(slot);
  }

  /** Tells whether the own routes have the path, or may get it. */
  hasRoomFor(prefix: Prefix, pathId: number): boolean {
    if (this.#own[this.prefixes.find(prefix, pathId)] === 1) return true;
    let count = 0;
    for (let slot = this.prefixes.find(prefix); slot !== noSlot; slot = this.prefixes.additional?.next(slot) ?? noSlot) {
      if (this.#own[slot] === 1) count++;
    }
    return count < maximumPaths;
  }

  /** Returns the changes of this table for such sessions. */
  feed(carriage: Carriage): Feed {
    const { key } = carriage;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new Feed(this, carriage, () => this.#feeds.delete(key));
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  /** Returns the attribute set if such a session can carry it, else `none`. */
  carried(id: number, carriage: Carriage): number {
    return id !== none && this.#isBlocked(id, carriage) ? none : id;
  }

  /** Counts the routes that such a session can carry. */
  carriedSize(carriage: Carriage): number {
    if (this.#carriesAll(carriage)) return this.size;
    return this.#desired.reduce((count, id) => count + Number(id !== none && !this.#isBlocked(id, carriage)), 0);
  }

  get refusedSize(): number {
    return this.#refused.size;
  }

  *refused(): Generator<NotPossible> {
    for (const [slot, why] of this.#refused) yield this.#notPossible(slot, why);
  }

  /** Yields the routes that such a session cannot carry. */
  *blocked(carriage: Carriage): Generator<NotPossible> {
    if (this.#carriesAll(carriage)) return;
    for (const [slot, id] of this.#desired.entries()) {
      const set = this.sets.get(id);
      const why = set === undefined ? undefined : obstacleOf(carriage, set);
      if (why !== undefined) yield this.#notPossible(slot, why);
    }
  }

  /** Releases all slots and attribute sets. The table must have no cursors and no table above it. */
  close(): void {
    this.endReplacement();
    if (this.#below !== undefined) this.#below.#above.delete(this);
    // Nearly always none is left.
    for (let slot = 0; this.size > 0; slot++) this.#put(slot, none, undefined);
    for (const slot of this.#refused.keys()) this.#put(slot, none, undefined);
  }

  #notPossible(slot: number, why: string): NotPossible {
    const pathId = this.prefixes.pathId(slot);
    return { prefix: this.prefixes.prefix(slot), ...(pathId === firstPathId ? {} : { pathId }), why };
  }

  /** True if nothing needs to be compared: the usual case. */
  #carriesAll({ limit, sessionNextHop }: Carriage): boolean {
    return limit >= this.sets.longest && sessionNextHop === undefined && !this.sets.haveNextHops;
  }

  #isBlocked(id: number, carriage: Carriage): boolean {
    if (this.#carriesAll(carriage)) return false;
    const set = this.sets.get(id);
    return set !== undefined && !canCarry(carriage, set);
  }

  /** Remembers that this prefix was changed after the replacement began. The slot is held, so that no other prefix gets it. */
  #override(slot: number): void {
    const later = this.#replacement?.later;
    if (later === undefined || later.has(slot)) return;
    later.add(slot);
    this.prefixes.retain(slot);
  }

  #announceAt(slot: number, route: Route): void {
    const result = this.sets.acquire(route);
    if (slot >= this.#own.length) this.#grow();
    if (this.#own[slot] !== 1) this.ownSize++;
    this.#own[slot] = 1;
    if (result.ok) {
      this.#put(slot, result.set.id, undefined);
      this.sets.release(result.set.id);
    } else {
      this.#put(slot, none, result.why);
    }
  }

  #withdrawAt(slot: number): void {
    if (this.#own[slot] !== 1) return;
    this.#own[slot] = 0;
    this.ownSize--;
    this.#put(slot, this.#below?.desired(slot) ?? none, this.#below?.refusal(slot));
  }

  /** True if no other route takes the place of one that is withdrawn, and all that it means is one withdrawal for each feed. */
  get #leavesNothing(): boolean {
    const below = this.#below === undefined ? 0 : this.#below.size + this.#below.refusedSize;
    if (below + this.refusedSize + this.#above.size > 0 || this.prefixes.additional !== undefined) return false;
    return this.#feeds.values().every((feed) => feed.hasAll);
  }

  /** Gives withdrawn routes to the feeds. The first feed takes over what the table held of them. */
  #passOn(slots: Int32Array, before: Int32Array): void {
    this.ownSize -= slots.length;
    this.size -= slots.length;
    let isHeld = true;
    for (const feed of this.#feeds.values()) {
      if (!isHeld) {
        this.prefixes.retainAll(slots);
        eachRun(before, (id, times) => this.sets.retain(id, times));
      }
      feed.withdraw(slots, before);
      isHeld = false;
    }
    if (!isHeld) return;
    eachRun(before, (id, times) => this.sets.release(id, times));
    this.prefixes.releaseAll(slots);
  }

  #put(slot: number, id: number, why: string | undefined): void {
    const before = this.desired(slot);
    if (id === before && this.refusal(slot) === why) return;
    const wasHeld = before !== none || this.#refused.has(slot);
    if (why !== undefined) this.#refused.set(slot, why);
    else if (this.#refused.size > 0) this.#refused.delete(slot);
    const isHeld = id !== none || why !== undefined;
    if (isHeld && !wasHeld) this.prefixes.retain(slot);
    if (id !== before) {
      if (slot >= this.#desired.length) this.#grow();
      this.#desired[slot] = id;
      this.size += Number(id !== none) - Number(before !== none);
      if (id !== none) this.sets.retain(id);
      for (const feed of this.#feeds.values()) feed.record(slot, before, id);
    }
    for (const table of this.#above) if (table.#own[slot] !== 1) table.#put(slot, id, why);
    // The feeds hold what they still need.
    if (id !== before && before !== none) this.sets.release(before);
    if (wasHeld && !isHeld) this.prefixes.release(slot);
  }

  #grow(): void {
    const desired = new Int32Array(this.prefixes.capacity);
    desired.set(this.#desired);
    this.#desired = desired;
    const own = new Uint8Array(this.prefixes.capacity);
    own.set(this.#own);
    this.#own = own;
  }
}

interface Replacement {
  /** 1 for a prefix of the table that is among the new routes. */
  readonly named: Uint8Array;
  /** Slots changed by later calls. The replacement does not touch them. */
  readonly later: Set<number>;
}
