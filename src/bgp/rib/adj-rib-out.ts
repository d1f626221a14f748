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
 * What one peer should have, what it has been sent, and the difference. Changes coalesce by themselves, and the session
 * takes out one UPDATE at a time as fast as the peer reads. After `close` it is empty and takes nothing more.
 */
export class AdjRibOut {
  readonly #store: RibStore;
  readonly #ribs: Readonly<Record<Family, FamilyAdjRibOut>>;
  #group: UpdateGroup | undefined;
  #format: UpdateFormat | undefined;
  #closed = false;

  /** Without a store of the speaker, this peer shares nothing. */
  constructor(store = new RibStore()) {
    this.#store = store;
    this.#ribs = { 4: new FamilyAdjRibOut(store.tables[4], store.sets), 6: new FamilyAdjRibOut(store.tables[6], store.sets) };
  }

  /** Makes the desired set exactly these routes; of two with one prefix the last counts. */
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

  /** Withdrawing what is not desired is no error. */
  withdraw(prefix: Prefix): void {
    this.#ribs[prefix.address.family].withdraw(prefix);
  }

  /** Whether a route of the prefix is desired, possible or not. */
  desires(prefix: Prefix): boolean {
    return this.#ribs[prefix.address.family].desires(prefix);
  }

  /** The session is gone, and with it everything that was sent. */
  reset(): void {
    for (const family of families) this.#ribs[family].reset();
    this.#releaseGroup();
  }

  /** The peer is gone: gives back what it holds of the store. */
  close(): void {
    this.#closed = true;
    this.#releaseGroup();
    for (const family of families) this.#ribs[family].release();
  }

  /** The peer wants the family again (RFC 2918). What waits to be withdrawn is still withdrawn. */
  readvertise(family: Family): void {
    this.#ribs[family].readvertise();
  }

  /**
   * The next UPDATE that brings the peer closer to the desired set: withdrawals first, then announcements, one set of
   * attributes a message; undefined when there is none. Counts as advertised from here on, so the caller must send it.
   * Peers of one kind may be given the same bytes: nobody may write to them.
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
        assert(set !== undefined, 'a bucket of attributes that nobody holds');
        const { message, count } = group.announce(rib, bucket, set);
        rib.markSent(bucket, count);
        return message;
      }
    }
    return undefined;
  }

  /** Prefixes that were sent and not withdrawn since the session began. */
  advertised(family: Family): number {
    return this.#ribs[family].advertised;
  }

  /** What was sent and not withdrawn since the session began, from a position on. */
  advertisedPrefixes(family: Family, from: number): Generator<AdvertisedPrefix> {
    return this.#ribs[family].advertisedPrefixes(from);
  }

  advertisedPrefix(prefix: Prefix): AdvertisedPrefix | undefined {
    return this.#ribs[prefix.address.family].advertisedPrefix(prefix);
  }

  /** Desired routes that no UPDATE can carry, and those that this session cannot (none is known without a session). */
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
