import type { Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AdvertisedPrefix } from './advertised-route.ts';
import { carriageOf, carriesNothing, type Carriage } from './carriage.ts';
import { Cursor } from './cursor.ts';
import { replaceRoutes } from './replace-routes.ts';
import { RouteTable, type NotPossible } from './route-table.ts';
import type { UpdateFormat } from './update-format.ts';
import { noSlot } from './interned/additional-paths.ts';
import { RibStore } from './rib-store.ts';
import type { Route } from '../route.ts';
import { packAnnouncements } from './pack-updates.ts';
import { encodedAttributes, type UpdateGroup } from './update-groups.ts';

const families = [4, 6] as const;

/** Part of the routes that a peer has, as UPDATEs. */
export interface AdvertisedUpdates {
  readonly updates: readonly Uint8Array[];
  /** Where the next part begins. Undefined: there is none. */
  readonly next: number | undefined;
}

/**
 * The Adj-RIB-Out of one peer. The desired routes are the shared ones of the store, and the peer's own, which take precedence. A
 * cursor in the feed of the table marks those that the peer has, so that peers with the same routes share everything else. The session takes one UPDATE at
 * a time, as fast as the peer reads. After `close` the RIB is empty and accepts no more routes.
 */
export class AdjRibOut {
  readonly #store: RibStore;
  readonly #changed: () => void;
  /** The shared table of the family, or a table over it while the peer has routes of its own. */
  readonly #tables: Record<Family, RouteTable>;
  readonly #cursors: Record<Family, Cursor | undefined> = { 4: undefined, 6: undefined };
  #group: UpdateGroup | undefined;
  #format: UpdateFormat | undefined;
  #unwatch: () => void = () => {};
  #closed = false;

  /**
   * Without the store of a speaker, this RIB shares nothing with other peers. `changed` is called when there may be something to send in a
   * session that has begun to send.
   */
  constructor(store = new RibStore(), changed: () => void = () => {}) {
    this.#store = store;
    this.#changed = changed;
    this.#tables = { ...store.shared };
  }

  /** Makes these the peer's own routes, exactly. If a prefix comes twice, the last route counts. */
  replaceRoutes(routes: Iterable<Route>): void {
    for (const _ of this.replaceGradually(routes)) continue;
  }

  /** The same, with pauses for other work. */
  *replaceGradually(routes: Iterable<Route>): Generator<void, void> {
    if (this.#closed) return;
    for (const family of families) this.#useOwnTable(family);
    yield* replaceRoutes(this.#tables, routes);
    for (const family of families) if (this.#cursors[family] === undefined) this.#dropOwnTable(family);
  }

  announce(route: Route): void {
    if (!this.#closed) this.#useOwnTable(route.prefix.address.family).announce(route);
  }

  /** Withdraws the peer's own route. A shared route of the prefix takes its place. Withdrawing a route that is not desired is no error. */
  withdraw(prefix: Prefix, pathId?: number): void {
    const { family } = prefix.address;
    const table = this.#tables[family];
    if (table === this.#store.shared[family]) return;
    table.withdraw(prefix, pathId);
    if (this.#cursors[family] === undefined) this.#dropOwnTable(family);
  }

  /** Tells whether the peer's own routes have the path, or may get it. */
  hasRoomFor(prefix: Prefix, pathId: number): boolean {
    const { family } = prefix.address;
    return this.#tables[family] === this.#store.shared[family] || this.#tables[family].hasRoomFor(prefix, pathId);
  }

  /** Forgets everything that was sent, because the session ended. */
  reset(): void {
    for (const family of families) {
      this.#cursors[family]?.leave();
      this.#cursors[family] = undefined;
      this.#dropOwnTable(family);
    }
    this.#releaseGroup();
  }

  /** Releases everything that the RIB holds in the store, because the peer was removed. */
  close(): void {
    this.#closed = true;
    this.reset();
    for (const family of families) {
      if (this.#tables[family] !== this.#store.shared[family]) this.#tables[family].close();
      this.#tables[family] = this.#store.shared[family];
    }
  }

  /** Sends the routes of a family again, because the peer asked for them (RFC 2918). Pending withdrawals are still sent. */
  readvertise(family: Family): void {
    this.#cursors[family]?.refresh();
  }

  /**
   * Returns the next UPDATE: withdrawals first, then announcements, one attribute set per message. Returns undefined when the peer has all
   * desired routes. The routes count as sent from here on, so the caller must send the message. Peers with the same update format may get
   * the same bytes, so the caller must not write to them.
   */
  next(format: UpdateFormat): Uint8Array | undefined {
    const group = this.#useFormat(format);
    for (const kind of ['withdrawal', 'announcement'] as const) {
      for (const family of families) {
        const message = this.#cursors[family]?.next(group, kind);
        if (message !== undefined) return message;
      }
    }
    for (const family of families) this.#dropOwnTable(family);
    return undefined;
  }

  /** Counts the prefixes sent and not withdrawn in this session. */
  advertised(family: Family): number {
    return this.#cursors[family]?.advertised ?? 0;
  }

  /** Yields the prefixes sent and not withdrawn in this session, starting at a position. */
  *advertisedPrefixes(family: Family, from: number): Generator<AdvertisedPrefix> {
    yield* this.#cursors[family]?.advertisedPrefixes(from) ?? [];
  }

  /** Encodes at most so many of the routes that the peer has, starting at a position, and returns where the next ones begin. */
  advertisedUpdates(format: UpdateFormat, family: Family, from: number, most: number): AdvertisedUpdates {
    const found = [...this.advertisedPrefixes(family, from).take(most)];
    const updates: Uint8Array[] = [];
    for (const [set, alike] of Map.groupBy(found, (each) => each.set)) {
      const list = { prefixes: this.#store.tables[family], slots: Int32Array.from(alike, ({ slot }) => slot), end: alike.length };
      const encoded = encodedAttributes(set, format, family);
      for (let start = 0; start < list.end;) {
        const packed = packAnnouncements({ ...list, start }, encoded, format);
        updates.push(packed.message);
        start += packed.count;
      }
    }
    const last = found.at(-1);
    return { updates, next: found.length < most || last === undefined ? undefined : last.slot + 1 };
  }

  /** Returns the path as it was sent. Without `pathId`, the one with the smallest identifier that the peer has. */
  advertisedPrefix(prefix: Prefix, pathId?: number): AdvertisedPrefix | undefined {
    const { family } = prefix.address;
    const table = this.#store.tables[family];
    for (let slot = table.find(prefix, pathId); slot !== noSlot; slot = table.additional?.next(slot) ?? noSlot) {
      const advertised = this.#cursors[family]?.advertisedPrefix(slot);
      if (advertised !== undefined || pathId !== undefined) return advertised;
    }
    return undefined;
  }

  /** Yields the desired routes that no UPDATE can carry. With a session, also those that this session cannot carry. */
  *notPossible(format: UpdateFormat | undefined): Generator<NotPossible> {
    for (const family of families) {
      const table = this.#tables[family];
      yield* table.refused();
      if (format === undefined) continue;
      yield* table.blocked(this.#carriage(format, family));
    }
  }

  notPossibleCount(format: UpdateFormat | undefined): number {
    return families.reduce((sum, family) => {
      const table = this.#tables[family];
      const blocked = format === undefined ? 0 : table.size - table.carriedSize(this.#carriage(format, family));
      return sum + table.refusedSize + blocked;
    }, 0);
  }

  #carriage(format: UpdateFormat, family: Family): Carriage {
    return carriageOf(format, family, (address) => this.#store.sets.hasNextHop(address));
  }

  #useFormat(format: UpdateFormat): UpdateGroup {
    if (this.#format === format && this.#group !== undefined) return this.#group;
    this.#releaseGroup();
    const group = this.#store.groups.acquire(format);
    this.#format = format;
    this.#group = group;
    const { peerAddress } = format;
    if (peerAddress !== undefined) this.#unwatch = this.#store.watchNextHop(peerAddress, () => this.#useCarriage(format));
    this.#useCarriage(format);
    return group;
  }

  /** Sends from here on what the session can carry. */
  #useCarriage(format: UpdateFormat): void {
    for (const family of families) {
      const carriage = this.#carriage(format, family);
      const cursor = this.#cursors[family];
      if (cursor === undefined) {
        if (!carriesNothing(carriage)) this.#cursors[family] = new Cursor(this.#tables[family], carriage, this.#changed);
      } else if (cursor.carriage.key !== carriage.key) {
        cursor.moveTo(this.#tables[family], carriage);
      }
    }
  }

  #useOwnTable(family: Family): RouteTable {
    const shared = this.#store.shared[family];
    if (this.#tables[family] === shared) {
      this.#tables[family] = new RouteTable(this.#store.tables[family], this.#store.sets, shared.feedLimits, shared);
      const cursor = this.#cursors[family];
      cursor?.moveTo(this.#tables[family], cursor.carriage);
    }
    return this.#tables[family];
  }

  /** Returns to the shared table if the peer has no more routes of its own and nothing to send. */
  #dropOwnTable(family: Family): void {
    const table = this.#tables[family];
    const shared = this.#store.shared[family];
    const cursor = this.#cursors[family];
    if (table === shared || table.ownSize > 0 || table.isReplacing || cursor?.isDone === false) return;
    this.#tables[family] = shared;
    cursor?.moveTo(shared, cursor.carriage);
    table.close();
  }

  #releaseGroup(): void {
    if (this.#group !== undefined) this.#store.groups.release(this.#group);
    this.#unwatch();
    this.#unwatch = () => {};
    this.#group = undefined;
    this.#format = undefined;
  }
}
