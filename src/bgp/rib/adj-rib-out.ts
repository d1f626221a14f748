import assert from 'node:assert';
import type { Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AdvertisedPrefix } from './advertised-route.ts';
import { FamilyAdjRibOut, type NotPossible } from './family-rib.ts';
import { maximumAttributeLength, maximumExtendedAttributeLength, maximumMessageLength } from '../limits.ts';
import type { UpdateFormat } from './update-format.ts';
import { RibStore } from './rib-store.ts';
import type { Route } from '../route.ts';
import type { UpdateGroup } from './update-groups.ts';

const families = [4, 6] as const;

/**
 * The Adj-RIB-Out of one peer: the desired routes, the routes sent, and the difference. Changes of one prefix coalesce. The session takes
 * one UPDATE at a time, as fast as the peer reads. After `close` the RIB is empty and accepts no more routes.
 */
export class AdjRibOut {
  readonly #store: RibStore;
  readonly #ribs: Readonly<Record<Family, FamilyAdjRibOut>>;
  #group: UpdateGroup | undefined;
  #format: UpdateFormat | undefined;
  #closed = false;

  /** Without the store of a speaker, this RIB shares nothing with other peers. */
  constructor(store = new RibStore()) {
    this.#store = store;
    this.#ribs = { 4: new FamilyAdjRibOut(store.tables[4], store.sets), 6: new FamilyAdjRibOut(store.tables[6], store.sets) };
  }

  /** Makes these the desired routes, exactly. If a prefix comes twice, the last route counts. */
  replaceRoutes(routes: Iterable<Route>): void {
    if (this.#closed) return;
    for (const family of families) this.#ribs[family].beginSet();
    for (const route of routes) this.announce(route);
    for (const family of families) this.#ribs[family].endSet();
  }

  announce(route: Route): void {
    if (this.#closed) return;
    const { prefix } = route;
    const rib = this.#ribs[prefix.address.family];
    const result = this.#store.sets.acquire(route);
    if (result.ok) {
      rib.announce(prefix, result.set);
      this.#store.sets.release(result.set.id);
    } else {
      rib.refuse(prefix, result.why);
    }
  }

  /** Withdrawing a route that is not desired is no error. */
  withdraw(prefix: Prefix): void {
    this.#ribs[prefix.address.family].withdraw(prefix);
  }

  /** Tells whether a route of the prefix is desired, also when it cannot be sent. */
  desires(prefix: Prefix): boolean {
    return this.#ribs[prefix.address.family].desires(prefix);
  }

  /** Forgets everything that was sent, because the session ended. */
  reset(): void {
    for (const family of families) this.#ribs[family].reset();
    this.#releaseGroup();
  }

  /** Releases all slots and attribute sets of the store, because the peer was removed. */
  close(): void {
    this.#closed = true;
    this.#releaseGroup();
    for (const family of families) this.#ribs[family].release();
  }

  /** Sends the routes of a family again, because the peer asked for them (RFC 2918). Pending withdrawals are still sent. */
  readvertise(family: Family): void {
    this.#ribs[family].readvertise();
  }

  /**
   * Returns the next UPDATE: withdrawals first, then announcements, one attribute set per message. Returns undefined when the peer has all
   * desired routes. The routes count as sent from here on, so the caller must send the message. Peers with the same update format may get
   * the same bytes, so the caller must not write to them.
   */
  next(format: UpdateFormat): Uint8Array | undefined {
    const group = this.#useFormat(format);
    for (const family of families) {
      const rib = this.#ribs[family];
      if (rib.withdrawals.size === 0) {
        rib.sweep();
        continue;
      }
      const { message, count } = group.withdraw(rib);
      rib.markSent(rib.withdrawals, count);
      return message;
    }
    for (const family of families) {
      const rib = this.#ribs[family];
      for (const bucket of rib.announcements.values()) {
        const set = this.#store.sets.get(bucket.id);
        assert(set !== undefined, 'the attribute set of a bucket has no holder');
        const { message, count } = group.announce(rib, bucket, set);
        rib.markSent(bucket, count);
        return message;
      }
    }
    return undefined;
  }

  /** Counts the prefixes sent and not withdrawn in this session. */
  advertised(family: Family): number {
    return this.#ribs[family].advertised;
  }

  /** Yields the prefixes sent and not withdrawn in this session, starting at a position. */
  advertisedPrefixes(family: Family, from: number): Generator<AdvertisedPrefix> {
    return this.#ribs[family].advertisedPrefixes(from);
  }

  advertisedPrefix(prefix: Prefix): AdvertisedPrefix | undefined {
    return this.#ribs[prefix.address.family].advertisedPrefix(prefix);
  }

  /** Yields the desired routes that no UPDATE can carry. With a session, also those that this session cannot carry. */
  *notPossible(format: UpdateFormat | undefined): Generator<NotPossible> {
    if (format !== undefined && !this.#closed) this.#useFormat(format);
    for (const family of families) {
      const rib = this.#ribs[family];
      yield* format === undefined ? rib.refused() : rib.notPossible();
    }
  }

  notPossibleCount(format: UpdateFormat | undefined): number {
    if (format !== undefined && !this.#closed) this.#useFormat(format);
    const count = (rib: FamilyAdjRibOut): number => (format === undefined ? rib.refusedCount : rib.notPossibleCount);
    return count(this.#ribs[4]) + count(this.#ribs[6]);
  }

  #useFormat(format: UpdateFormat): UpdateGroup {
    if (this.#format === format && this.#group !== undefined) return this.#group;
    this.#releaseGroup();
    const group = this.#store.groups.acquire(format);
    this.#format = format;
    this.#group = group;
    const attributeLimit = format.maximumLength > maximumMessageLength ? maximumExtendedAttributeLength : maximumAttributeLength;
    for (const family of families) {
      const encoding = format.nextHops[family];
      this.#ribs[family].applyLimits({
        impossible: encoding.kind === 'impossible' ? encoding.why : undefined,
        attributeLimit,
      });
    }
    return group;
  }

  #releaseGroup(): void {
    if (this.#group !== undefined) this.#store.groups.release(this.#group);
    this.#group = undefined;
    this.#format = undefined;
  }
}
