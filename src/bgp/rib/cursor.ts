import assert from 'node:assert';
import { none } from './interned/attribute-set.ts';
import type { Carriage } from './carriage.ts';
import type { AdvertisedPrefix } from './advertised-route.ts';
import { stale, type Delta, type DeltaBuilder, type Version } from './delta.ts';
import type { Feed } from './feed.ts';
import type { PackedUpdate } from './pack-updates.ts';
import type { RouteTable } from './route-table.ts';
import type { UpdateGroup } from './update-groups.ts';

/** The states of a peer that has no route, and of one that asked for all routes again. */
const nothing = {};
const refreshed = {};

/**
 * The Adj-RIB-Out of one peer and family, as a place in the feed that it shares with other peers: the version whose routes the peer has, or a
 * delta and the position up to which it was sent. Prefixes behind this place have the attributes that the deltas remember.
 *
 * The cursor never sends what is outdated. If a prefix of the next UPDATE has changed since the delta was made, or if withdrawals wait
 * behind announcements, it goes on with a delta of its own, which leads from its place to the head.
 */
export class Cursor {
  readonly changed: () => void;
  #table: RouteTable;
  #feed: Feed;
  /** The version that the peer has, unless it is inside a delta. */
  #version: Version | undefined;
  #delta: Delta | undefined;
  /** The next prefix of the delta, and the run that has it. */
  #position = 0;
  #run = 0;

  /** The peer has no route yet. `changed` is called when there may be something to send. */
  constructor(table: RouteTable, carriage: Carriage, changed: () => void) {
    this.changed = changed;
    this.#table = table;
    this.#feed = table.feed(carriage);
    this.#feed.join(this);
    this.#feed.close();
    this.#goToHead(nothing, 0, (entries) => {
      for (let slot = 0; slot < table.end; slot++) if (this.#feed.target(slot) !== none) entries.add(slot, none);
    });
  }

  get carriage(): Carriage {
    return this.#feed.carriage;
  }

  /** True if the peer has all routes of the table. */
  get isDone(): boolean {
    return this.#current() === undefined;
  }

  /** Counts the routes that the peer has. */
  get advertised(): number {
    let count = this.#feed.size;
    this.#eachUnsent((slot, before) => {
      count += Number(before !== none) - Number(this.#feed.target(slot) !== none);
    });
    return count;
  }

  /** Yields the prefixes that the peer has, starting at a slot. If the caller does not read them in one turn, the list may change meanwhile. */
  *advertisedPrefixes(from: number): Generator<AdvertisedPrefix> {
    const held = this.#held();
    for (let slot = from; slot < held.length; slot++) {
      const advertised = this.#advertisedAt(slot, held[slot] ?? none);
      if (advertised !== undefined) yield advertised;
    }
  }

  advertisedPrefix(slot: number): AdvertisedPrefix | undefined {
    let held = this.#feed.target(slot);
    this.#eachUnsent((unsent, before) => {
      if (unsent === slot) held = before;
    });
    return this.#advertisedAt(slot, held);
  }

  /** Returns the next withdrawal, or the next announcement. It counts as sent from here on. */
  next(group: UpdateGroup, kind: 'withdrawal' | 'announcement'): Uint8Array | undefined {
    for (;;) {
      const delta = this.#current();
      const run = delta?.runs[this.#run];
      if (delta === undefined || run === undefined) return undefined;
      const isWithdrawal = run.id === none;
      const isCurrent = this.#feed.isCurrent(delta.to);
      if (!isCurrent && !isWithdrawal && this.#feed.withdrawnAt > delta.to.number) {
        this.catchUp();
        continue;
      }
      if (isWithdrawal !== (kind === 'withdrawal')) return undefined;
      const packed = group.pack(this.#table.prefixes, delta, run, this.#position);
      if (!isCurrent && this.#feed.isOutdated(delta, this.#position, this.#position + packed.count)) {
        this.catchUp();
        continue;
      }
      this.#advance(packed, run.end);
      return packed.message;
    }
  }

  /** Sends all routes again, because the peer asked for them (RFC 2918). Pending withdrawals are still sent. */
  refresh(): void {
    this.#feed.close();
    const state = this.#isAtHead ? refreshed : undefined;
    const held = state === refreshed ? undefined : this.#held();
    this.#goToHead(state, 0, (entries) => {
      for (let slot = 0; slot < this.#table.end; slot++) {
        const before = held === undefined ? this.#feed.target(slot) : Math.abs(held[slot] ?? none);
        entries.add(slot, stale(before));
      }
    });
    this.changed();
  }

  /** Goes on with the routes of another table, or with those that the session can carry now. It has path identifiers or none, as before. */
  moveTo(table: RouteTable, carriage: Carriage): void {
    assert(carriage.onePath === this.carriage.onePath, 'a session gets or loses its path identifiers');
    this.#feed.close();
    const held = this.advertised === 0 ? new Int32Array(0) : this.#held();
    const before = { feed: this.#feed, delta: this.#delta, version: this.#version };
    this.#delta = undefined;
    this.#version = undefined;
    this.#table = table;
    this.#feed = table.feed(carriage);
    this.#feed.join(this);
    this.#feed.close();
    this.#goToHead(undefined, 0, (entries) => {
      // The usual move is that of a peer which has lost its own routes, to a table without routes.
      const end = Math.max(held.length, this.#feed.size === 0 ? 0 : table.end);
      for (let slot = 0; slot < end; slot++) entries.add(slot, held[slot] ?? none);
    });
    // Released last: until the new delta holds them, only the old one holds the slots and attribute sets of unsent withdrawals.
    release(before);
    before.feed.leave(this);
    this.changed();
  }

  /** Leaves the feed, because the session ended. */
  leave(): void {
    this.#release();
    this.#feed.leave(this);
  }

  catchUp(): void {
    this.#feed.close();
    const delta = this.#delta;
    const version = this.#version ?? this.#feed.head;
    const next = delta ?? version.next;
    if (next === undefined || next.to === this.#feed.head) return;
    const position = this.#position;
    this.#goToHead(delta ?? version, position, (entries) => {
      this.#feed.eachUnsent(delta, position, version, (slot, before) => entries.add(slot, before));
    });
  }

  get #isAtHead(): boolean {
    return this.#version !== undefined && this.#feed.isCurrent(this.#version);
  }

  /** Returns the delta to send from, or undefined if the peer has all routes. */
  #current(): Delta | undefined {
    for (;;) {
      const delta = this.#delta;
      if (delta !== undefined) {
        if (this.#run < delta.runs.length) return delta;
        this.#restAt(delta.to);
      }
      this.#feed.close();
      const next = this.#version?.next;
      // Short deltas are sent as one, so that they fill messages.
      if (next !== undefined && (next.to === this.#feed.head || next.slots.length >= this.#table.feedLimits.longDelta)) this.#enter(next);
      else if (next !== undefined) this.catchUp();
      else if (this.#delta === undefined) return undefined;
    }
  }

  #advance({ count }: PackedUpdate, end: number): void {
    this.#position += count;
    if (this.#position === end) this.#run++;
  }

  #goToHead(state: object | undefined, position: number, collect: (entries: DeltaBuilder) => void): void {
    const delta = this.#feed.deltaToHead(state, position, collect);
    if (delta === undefined) this.#restAt(this.#feed.head);
    else this.#enter(delta);
  }

  #enter(delta: Delta): void {
    delta.users++;
    this.#release();
    this.#delta = delta;
    this.#position = 0;
    this.#run = 0;
  }

  #restAt(version: Version): void {
    version.users++;
    this.#release();
    this.#version = version;
    this.#position = 0;
  }

  #release(): void {
    release({ feed: this.#feed, delta: this.#delta, version: this.#version });
    this.#delta = undefined;
    this.#version = undefined;
  }

  #eachUnsent(visit: (slot: number, before: number) => void): void {
    if (this.#isAtHead) return;
    this.#feed.eachUnsent(this.#delta, this.#position, this.#version ?? this.#feed.head, visit);
  }

  /** Returns the attribute set that the peer holds for each slot. */
  #held(): Int32Array {
    const held = new Int32Array(this.#table.prefixes.capacity);
    for (let slot = 0; slot < this.#table.end; slot++) held[slot] = this.#feed.target(slot);
    this.#eachUnsent((slot, before) => {
      held[slot] = before;
    });
    return held;
  }

  #advertisedAt(slot: number, held: number): AdvertisedPrefix | undefined {
    if (held === none) return undefined;
    const { prefixes, sets } = this.#table;
    const set = sets.get(Math.abs(held));
    assert(set !== undefined, 'the attribute set of an advertised route has no holder');
    return { slot, prefix: prefixes.prefix(slot), pathId: prefixes.pathId(slot), set, isChanging: this.#feed.target(slot) !== held };
  }
}

/** Where a cursor is: at a version, or inside a delta. */
interface Place {
  readonly feed: Feed;
  readonly delta: Delta | undefined;
  readonly version: Version | undefined;
}

function release({ feed, delta, version }: Place): void {
  if (delta !== undefined) feed.releaseDelta(delta);
  if (version !== undefined) feed.releaseVersion(version);
}
