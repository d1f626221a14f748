import type { Prefix } from '../../net/prefix.ts';
import type { AdvertisedPrefix } from './advertised-route.ts';
import { tooLong, type AttributeSet, type AttributeSets } from './attribute-set.ts';
import { maximumAttributeLength } from '../limits.ts';
import { noSlot, type PrefixTable } from './prefix-table.ts';

/** A desired route that is not announced, and why. */
export interface NotPossible {
  readonly prefix: Prefix;
  readonly why: string;
}

/**
 * A queue of prefixes with the same pending change. It is a doubly linked list of slots; the links are in the arrays of its
 * FamilyAdjRibOut.
 */
export interface Bucket {
  /** The attribute set to announce. `none`: the prefixes are to be withdrawn. */
  readonly id: number;
  first: number;
  last: number;
  size: number;
}

/** Limits of the session for the routes of one family. */
interface SessionLimits {
  /** Why there is no next hop. Undefined when there is one. */
  readonly impossible: string | undefined;
  /** The largest length of the path attributes, in octets. */
  readonly attributeLimit: number;
}

const none = 0;
/** The peer has the route but asked for it again. Differs from the number of every attribute set, so the route is sent again. */
const stale = -1;
const noLimits: SessionLimits = { impossible: undefined, attributeLimit: maximumAttributeLength };

/**
 * One family of an Adj-RIB-Out: the desired routes, the routes sent, and the difference. The difference is kept in buckets, one for
 * withdrawals and one for each attribute set to announce. A change moves its prefix to another bucket. Changes of one prefix therefore
 * coalesce, and the cost of a change does not depend on the size of the table.
 *
 * All state is indexed by the slots of the shared prefix table. The RIB holds a slot as long as its prefix is desired or sent. It holds an
 * attribute set once for each prefix that desires it, and once for each prefix sent with it.
 */
export class FamilyAdjRibOut {
  readonly table: PrefixTable;
  /** Prefixes sent and not withdrawn in this session. */
  advertised = 0;
  readonly withdrawals: Bucket = { id: none, first: noSlot, last: noSlot, size: 0 };
  readonly announcements = new Map<number, Bucket>();
  readonly #sets: AttributeSets;
  #desired = new Int32Array(0);
  #sent = new Int32Array(0);
  #next = new Int32Array(0);
  #previous = new Int32Array(0);
  /** Routes that no UPDATE can carry, with the reason, by slot. The RIB holds these slots. */
  readonly #refused = new Map<number, string>();
  #limits = noLimits;
  /** Number of desired prefixes that this session cannot carry. */
  #blocked = 0;
  /** First slot of the chain of prefixes whose withdrawal was sent. */
  #unswept = noSlot;
  #unsweptCount = 0;
  /** Marks the slots that were announced or refused since `beginSet`. */
  #named: Uint8Array | undefined;

  constructor(table: PrefixTable, sets: AttributeSets) {
    this.table = table;
    this.#sets = sets;
  }

  get notPossibleCount(): number {
    return this.#refused.size + this.#blocked;
  }

  /** Begins a replacement. Routes that are not announced before `endSet` are no longer desired. */
  beginSet(): void {
    this.sweep();
    this.#named = new Uint8Array(this.table.capacity);
  }

  endSet(): void {
    const named = this.#named;
    this.#named = undefined;
    if (named === undefined) return;
    for (let slot = 0; slot < this.#desired.length; slot++) {
      if (this.#desired[slot] !== none && named[slot] !== 1) this.#change(slot, none, this.#sent[slot] ?? none);
    }
    for (const slot of this.#refused.keys()) if (named[slot] !== 1) this.#accept(slot);
  }

  announce(prefix: Prefix, set: AttributeSet): void {
    this.sweep();
    const slot = this.#acquire(prefix);
    this.#accept(slot);
    this.#change(slot, set.id, this.#sent[slot] ?? none);
    this.table.release(slot);
  }

  /** Records that the route cannot be sent, and withdraws an earlier version of it. */
  refuse(prefix: Prefix, why: string): void {
    this.sweep();
    const slot = this.#acquire(prefix);
    this.#change(slot, none, this.#sent[slot] ?? none);
    if (!this.#refused.has(slot)) this.table.retain(slot);
    this.#refused.set(slot, why);
    this.table.release(slot);
  }

  /** Withdrawing a route that is not desired is no error. */
  withdraw(prefix: Prefix): void {
    this.sweep();
    const slot = this.table.find(prefix);
    if (slot === noSlot || slot >= this.#desired.length) return;
    this.table.retain(slot);
    this.#accept(slot);
    this.#change(slot, none, this.#sent[slot] ?? none);
    this.table.release(slot);
  }

  /** Tells whether a route of the prefix is desired, also when it cannot be sent. */
  desires(prefix: Prefix): boolean {
    const slot = this.table.find(prefix);
    return slot !== noSlot && ((this.#desired[slot] ?? none) !== none || this.#refused.has(slot));
  }

  /** Forgets everything that was sent, because the session ended. */
  reset(): void {
    this.sweep();
    if (this.advertised === 0) return;
    for (let slot = 0; slot < this.#sent.length; slot++) {
      if (this.#sent[slot] !== none) this.#change(slot, this.#desired[slot] ?? none, none);
    }
  }

  /** Releases all slots and attribute sets without sending anything, because the peer was removed. */
  release(): void {
    this.reset();
    this.beginSet();
    this.endSet();
  }

  /** Sends all routes again, because the peer asked for them (RFC 2918). Pending withdrawals are still sent. */
  readvertise(): void {
    this.sweep();
    for (let slot = 0; slot < this.#sent.length; slot++) {
      const desired = this.#desired[slot] ?? none;
      if (desired !== none && this.#sent[slot] !== none) this.#change(slot, desired, stale);
    }
  }

  /** Applies the limits of a session. Routes that the session cannot carry are withdrawn if they were announced before. */
  applyLimits(limits: SessionLimits): void {
    const before = this.#limits;
    if (before.impossible === limits.impossible && before.attributeLimit === limits.attributeLimit) return;
    this.sweep();
    const blocksNothing = ({ impossible, attributeLimit }: SessionLimits): boolean =>
      impossible === undefined && this.#sets.longest <= attributeLimit;
    if (blocksNothing(before) && blocksNothing(limits)) {
      this.#limits = limits;
      return;
    }
    for (let slot = 0; slot < this.#desired.length; slot++) this.#removeFromBucket(slot);
    this.#limits = limits;
    this.#blocked = 0;
    for (let slot = 0; slot < this.#desired.length; slot++) {
      this.#addToBucket(slot);
      if (this.#isBlocked(this.#desired[slot] ?? none)) this.#blocked++;
    }
  }

  *notPossible(): Generator<NotPossible> {
    for (const [slot, why] of this.#refused) yield { prefix: this.table.prefix(slot), why };
    if (this.#blocked === 0) return;
    for (let slot = 0; slot < this.#desired.length; slot++) {
      const id = this.#desired[slot] ?? none;
      if (this.#isBlocked(id)) yield { prefix: this.table.prefix(slot), why: this.#whyBlocked(id) };
    }
  }

  /** Only the routes that no session can carry. */
  *refused(): Generator<NotPossible> {
    for (const [slot, why] of this.#refused) yield { prefix: this.table.prefix(slot), why };
  }

  get refusedCount(): number {
    return this.#refused.size;
  }

  /**
   * Yields the prefixes that were sent, starting at a slot. If the caller does not read them in one turn, the list may change meanwhile.
   */
  *advertisedPrefixes(from: number): Generator<AdvertisedPrefix> {
    for (let slot = from; slot < this.#sent.length; slot++) {
      const sent = this.#sentAt(slot);
      if (sent !== undefined) yield sent;
    }
  }

  advertisedPrefix(prefix: Prefix): AdvertisedPrefix | undefined {
    return this.#sentAt(this.table.find(prefix));
  }

  /** The next slot in the same bucket, by slot. Read-only, and valid until the next change. */
  get links(): Int32Array {
    return this.#next;
  }

  /** Marks the first `count` prefixes of the bucket as sent. */
  markSent(bucket: Bucket, count: number): void {
    const { id } = bucket;
    // Retain first: the prefixes below may be the last holders of this set.
    if (id !== none) this.#sets.retain(id, count);
    const sent = this.#sent;
    const next = this.#next;
    let slot = bucket.first;
    let run = none;
    let length = 0;
    for (let left = count; left > 0; left--) {
      const before = sent[slot] ?? none;
      sent[slot] = id;
      if (before === run) {
        length++;
      } else {
        this.#releaseSets(run, length);
        run = before;
        length = 1;
      }
      slot = next[slot] ?? noSlot;
    }
    this.#releaseSets(run, length);
    this.advertised += id === none ? 0 : count;
    if (id === none) this.#keepForSweep(bucket.first, count);
    bucket.size -= count;
    bucket.first = slot;
    if (slot === noSlot) bucket.last = noSlot;
    else this.#previous[slot] = noSlot;
    if (bucket.size === 0 && id !== none) this.announcements.delete(id);
  }

  /**
   * Releases the slots of prefixes whose withdrawal was sent. This runs after all withdrawals, so that the peer does not wait for it, and
   * before any other change.
   */
  sweep(): void {
    if (this.#unsweptCount === 0) return;
    // A withdrawn prefix that is still desired keeps its slot: the session could not carry it.
    this.table.releaseChain(this.#unswept, this.#next, this.#unsweptCount, this.#desired);
    this.#unswept = noSlot;
    this.#unsweptCount = 0;
  }

  /** Releases the attribute set of prefixes that the peer no longer has with this set. */
  #releaseSets(id: number, count: number): void {
    if (id !== none) this.advertised -= count;
    if (id > none) this.#sets.release(id, count);
  }

  /** Adds sent withdrawals to the chain. Batches follow each other in the bucket, so their links already form one chain. */
  #keepForSweep(first: number, count: number): void {
    if (this.#unsweptCount === 0) this.#unswept = first;
    this.#unsweptCount += count;
  }

  #acquire(prefix: Prefix): number {
    const slot = this.table.acquire(prefix);
    if (slot >= this.#desired.length) this.#grow();
    const named = this.#named;
    if (named !== undefined) {
      if (slot < named.length) named[slot] = 1;
      else this.#growNamed(named)[slot] = 1;
    }
    return slot;
  }

  #grow(): void {
    const grown = (old: Int32Array): Int32Array<ArrayBuffer> => {
      const larger = new Int32Array(this.table.capacity);
      larger.set(old);
      return larger;
    };
    this.#desired = grown(this.#desired);
    this.#sent = grown(this.#sent);
    this.#next = grown(this.#next);
    this.#previous = grown(this.#previous);
  }

  #growNamed(named: Uint8Array): Uint8Array {
    this.#named = new Uint8Array(this.table.capacity);
    this.#named.set(named);
    return this.#named;
  }

  /** The route was refused before; now it can be sent, or it is no longer desired. */
  #accept(slot: number): void {
    if (this.#refused.size > 0 && this.#refused.delete(slot)) this.table.release(slot);
  }

  #change(slot: number, desired: number, sent: number): void {
    const desiredBefore = this.#desired[slot] ?? none;
    const sentBefore = this.#sent[slot] ?? none;
    if (desired === desiredBefore && sent === sentBefore) return;
    this.#removeFromBucket(slot);
    this.#desired[slot] = desired;
    this.#sent[slot] = sent;
    this.#addToBucket(slot);
    if (desired !== desiredBefore) {
      this.#blocked += Number(this.#isBlocked(desired)) - Number(this.#isBlocked(desiredBefore));
      if (desired !== none) this.#sets.retain(desired);
      if (desiredBefore !== none) this.#sets.release(desiredBefore);
    }
    if (sent !== sentBefore) {
      this.advertised += Number(sent !== none) - Number(sentBefore !== none);
      if (sent > none) this.#sets.retain(sent);
      if (sentBefore > none) this.#sets.release(sentBefore);
    }
    const heldBefore = desiredBefore !== none || sentBefore !== none;
    const held = desired !== none || sent !== none;
    if (held && !heldBefore) this.table.retain(slot);
    if (heldBefore && !held) this.table.release(slot);
  }

  #isBlocked(id: number): boolean {
    const { impossible, attributeLimit } = this.#limits;
    if (impossible === undefined && this.#sets.longest <= attributeLimit) return false;
    return id !== none && (impossible !== undefined || (this.#sets.get(id)?.length ?? 0) > attributeLimit);
  }

  #whyBlocked(id: number): string {
    const { impossible, attributeLimit } = this.#limits;
    return impossible ?? tooLong(this.#sets.get(id)?.length ?? 0, attributeLimit);
  }

  #sentAt(slot: number): AdvertisedPrefix | undefined {
    const sent = this.#sent[slot] ?? none;
    if (sent === none) return undefined;
    // The peer has a stale route with the desired attributes, unless they changed at the same moment.
    const set = this.#sets.get(sent === stale ? (this.#desired[slot] ?? none) : sent);
    if (set === undefined) return undefined;
    return { slot, prefix: this.table.prefix(slot), set, isChanging: this.#target(slot) !== sent };
  }

  /** The attribute set that this session should announce, or `none`. */
  #target(slot: number): number {
    const id = this.#desired[slot] ?? none;
    return this.#isBlocked(id) ? none : id;
  }

  #removeFromBucket(slot: number): void {
    const target = this.#target(slot);
    if (target === this.#sent[slot]) return;
    const bucket = target === none ? this.withdrawals : this.announcements.get(target);
    if (bucket === undefined) return;
    const next = this.#next[slot] ?? noSlot;
    const previous = this.#previous[slot] ?? noSlot;
    if (previous === noSlot) bucket.first = next;
    else this.#next[previous] = next;
    if (next === noSlot) bucket.last = previous;
    else this.#previous[next] = previous;
    if (--bucket.size === 0 && target !== none) this.announcements.delete(target);
  }

  #addToBucket(slot: number): void {
    const target = this.#target(slot);
    if (target === this.#sent[slot]) return;
    const bucket = target === none ? this.withdrawals : this.#bucketOf(target);
    this.#next[slot] = noSlot;
    this.#previous[slot] = bucket.last;
    if (bucket.last === noSlot) bucket.first = slot;
    else this.#next[bucket.last] = slot;
    bucket.last = slot;
    bucket.size++;
  }

  #bucketOf(id: number): Bucket {
    let bucket = this.announcements.get(id);
    if (bucket === undefined) {
      bucket = { id, first: noSlot, last: noSlot, size: 0 };
      this.announcements.set(id, bucket);
    }
    return bucket;
  }
}
