import assert from 'node:assert';
import type { Family } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import { AttributeSets, type AttributeSet } from './attribute-set.ts';
import type { Outbound } from './outbound.ts';
import { encodeAttributes, packAnnouncements, packWithdrawals } from './pack.ts';
import type { Route } from './route.ts';
import { familyOfKey, prefixKey, prefixOfKey, type PrefixKey } from './wire/nlri.ts';

/** A prefix that is desired and not announced. */
export interface NotPossible {
  readonly prefix: Prefix;
  readonly why: string;
}

/** Advertised once, but the peer asked for it again: differs from every desired set. */
const stale: AttributeSet = { canonical: 'stale', localPref: 0, med: undefined, standard: [], large: [], prepend: 0 };

/**
 * What one peer should have, what it has been sent, and the difference, which is kept at hand in buckets: one of
 * prefixes to withdraw and one a set of attributes to announce. A change moves its prefix between buckets, so changes
 * coalesce by themselves, each costs the same whatever the size of the table, and the session takes out one UPDATE at a
 * time as fast as the peer reads.
 */
export class RibOut {
  readonly #sets = new AttributeSets();
  readonly #desired = new Map<PrefixKey, AttributeSet>();
  readonly #advertised = new Map<PrefixKey, AttributeSet>();
  readonly #refused = new Map<PrefixKey, string>();
  readonly #withdrawals: Readonly<Record<Family, Set<PrefixKey>>> = { 4: new Set(), 6: new Set() };
  readonly #announcements: Readonly<Record<Family, Map<AttributeSet, Set<PrefixKey>>>> = { 4: new Map(), 6: new Map() };
  readonly #counts: Record<Family, number> = { 4: 0, 6: 0 };
  /** The attribute block of the bucket that is being emptied; the next one is another in the same session or not at all. */
  #block: { readonly set: AttributeSet; readonly family: Family; readonly outbound: Outbound; readonly bytes: Uint8Array } | undefined;

  /** Makes the desired set exactly these routes; of two with one prefix the last counts. */
  set(routes: Iterable<Route>): void {
    const keep = new Set<PrefixKey>();
    for (const route of routes) keep.add(this.#announce(route));
    for (const table of [this.#desired, this.#refused]) {
      for (const key of table.keys()) if (!keep.has(key)) this.#withdraw(key);
    }
  }

  announce(route: Route): void {
    this.#announce(route);
  }

  /** Withdrawing what is not desired is no error. */
  withdraw(prefix: Prefix): void {
    this.#withdraw(prefixKey(prefix));
  }

  /** The session is gone, and with it everything that was sent. */
  reset(): void {
    for (const key of this.#advertised.keys()) this.#setAdvertised(key, undefined);
    this.#block = undefined;
  }

  /** The peer wants the family again (RFC 2918). What waits to be withdrawn is still withdrawn. */
  readvertise(family: Family): void {
    for (const key of this.#desired.keys()) {
      if (familyOfKey(key) === family && this.#advertised.has(key)) this.#setAdvertised(key, stale);
    }
  }

  /**
   * The next UPDATE that brings the peer closer to the desired set: withdrawals first, then announcements, one set of
   * attributes a message; undefined when there is none. Counts as advertised from here on, so the caller must send it.
   */
  next(outbound: Outbound): Uint8Array | undefined {
    for (const family of [4, 6] as const) {
      const impossible = outbound.carriage[family].kind === 'impossible';
      // A next hop that went away takes along what was announced with it.
      const keys = impossible && this.#counts[family] > 0 ? this.#advertisedKeys(family) : this.#withdrawals[family];
      if (keys.size === 0) continue;
      const { message, count } = packWithdrawals(family, keys);
      for (const key of firstOf(keys, count)) this.#setAdvertised(key, undefined);
      return message;
    }
    for (const family of [4, 6] as const) {
      const carriage = outbound.carriage[family];
      const [bucket] = this.#announcements[family];
      if (carriage.kind === 'impossible' || bucket === undefined) continue;
      const [set, keys] = bucket;
      const classic = carriage.kind === 'classic';
      const block = this.#blockOf(set, family, outbound, classic ? carriage.nextHop : undefined);
      const { message, count } = packAnnouncements(family, block, classic ? undefined : { bytes: carriage.nextHop }, keys);
      assert(count > 0, 'the attributes of a route leave no room for its prefix');
      for (const key of firstOf(keys, count)) this.#setAdvertised(key, set);
      return message;
    }
    return undefined;
  }

  /** Prefixes that were sent and not withdrawn since the session began. */
  advertised(family: Family): number {
    return this.#counts[family];
  }

  /** Desired routes that no UPDATE can carry, and those that this session cannot (none is known without a session). */
  *notPossible(outbound: Outbound | undefined): Generator<NotPossible> {
    for (const [key, why] of this.#refused) yield { prefix: prefixOfKey(key), why };
    if (outbound === undefined) return;
    for (const family of [4, 6] as const) {
      const carriage = outbound.carriage[family];
      if (carriage.kind !== 'impossible') continue;
      for (const keys of this.#announcements[family].values()) {
        for (const key of keys) yield { prefix: prefixOfKey(key), why: carriage.why };
      }
    }
  }

  notPossibleCount(outbound: Outbound | undefined): number {
    let count = this.#refused.size;
    for (const family of [4, 6] as const) {
      if (outbound?.carriage[family].kind !== 'impossible') continue;
      for (const keys of this.#announcements[family].values()) count += keys.size;
    }
    return count;
  }

  #advertisedKeys(family: Family): Set<PrefixKey> {
    return new Set(this.#advertised.keys().filter((key) => familyOfKey(key) === family));
  }

  #announce(route: Route): PrefixKey {
    const key = prefixKey(route.prefix);
    const result = this.#sets.acquire(route);
    if (result.ok) {
      this.#refused.delete(key);
      this.#setDesired(key, result.set);
      this.#sets.release(result.set);
    } else {
      // An older form of the route must not stay behind.
      this.#setDesired(key, undefined);
      this.#refused.set(key, result.why);
    }
    return key;
  }

  #withdraw(key: PrefixKey): void {
    this.#refused.delete(key);
    this.#setDesired(key, undefined);
  }

  #setDesired(key: PrefixKey, set: AttributeSet | undefined): void {
    if (this.#desired.get(key) === set) return;
    this.#leaveBucket(key);
    this.#replace(this.#desired, key, set);
    this.#enterBucket(key);
  }

  #setAdvertised(key: PrefixKey, set: AttributeSet | undefined): void {
    this.#leaveBucket(key);
    const before = this.#advertised.has(key);
    this.#replace(this.#advertised, key, set);
    if (before !== (set !== undefined)) this.#counts[familyOfKey(key)] += before ? -1 : 1;
    this.#enterBucket(key);
  }

  /** Both tables hold their sets, so that a set that comes back within a session is the same object. */
  #replace(table: Map<PrefixKey, AttributeSet>, key: PrefixKey, set: AttributeSet | undefined): void {
    const before = table.get(key);
    if (set === undefined) {
      table.delete(key);
    } else {
      this.#sets.retain(set);
      table.set(key, set);
    }
    if (before !== undefined) this.#sets.release(before);
  }

  #leaveBucket(key: PrefixKey): void {
    const family = familyOfKey(key);
    const want = this.#desired.get(key);
    if (want === undefined) {
      this.#withdrawals[family].delete(key);
      return;
    }
    const bucket = this.#announcements[family].get(want);
    if (bucket?.delete(key) === true && bucket.size === 0) this.#announcements[family].delete(want);
  }

  #enterBucket(key: PrefixKey): void {
    const family = familyOfKey(key);
    const want = this.#desired.get(key);
    const has = this.#advertised.get(key);
    if (want === has) return;
    if (want === undefined) {
      this.#withdrawals[family].add(key);
      return;
    }
    const bucket = this.#announcements[family].get(want);
    if (bucket === undefined) this.#announcements[family].set(want, new Set([key]));
    else bucket.add(key);
  }

  #blockOf(set: AttributeSet, family: Family, outbound: Outbound, classicNextHop: Uint8Array | undefined): Uint8Array {
    const cached = this.#block;
    if (cached?.set === set && cached.family === family && cached.outbound === outbound) return cached.bytes;
    const bytes = encodeAttributes(set, outbound, classicNextHop);
    this.#block = { set, family, outbound, bytes };
    return bytes;
  }
}

/** A copy, because the set changes while its keys are handled. */
function firstOf(keys: Set<PrefixKey>, count: number): PrefixKey[] {
  return keys.values().take(count).toArray();
}
