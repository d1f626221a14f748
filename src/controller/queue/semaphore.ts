import { PriorityQueue } from '../../lang/priority-queue.ts';
import { limits } from '../limits.ts';
import type { Urgency } from '../provider-parts.ts';

/** The most urgent first. */
const order = ['new', 'change', 'repair', 'reread'] as const satisfies readonly Urgency[];

/** The slots that keys of one urgency and less urgent ones may take together. */
const slots = [limits.remoteKeysAtWork, limits.remoteChangesAtWork, limits.remoteRepairsAtWork, limits.remoteRereadsAtWork];

/**
 * The slots for work outside the cluster: keys that wait for one, and those that have one. Less urgent keys get only some of the slots,
 * so that a slot for a more urgent key becomes free however long the others take. Of eight slots that become free, one goes to the key that
 * has waited longest among those that may have one, so that no key waits for ever.
 */
export class Semaphore<K extends string> {
  readonly #waiting = new PriorityQueue<K>();
  /** The rank of each key that has a slot. */
  readonly #atWork = new Map<K, number>();

  get waiting(): number {
    return this.#waiting.size;
  }

  get atWork(): number {
    return this.#atWork.size;
  }

  has(key: K): boolean {
    return this.#waiting.rankOf(key) !== undefined;
  }

  /** Adds a key, or moves a waiting one to the end of a more urgent line. */
  add(key: K, urgency: Urgency): void {
    const rank = order.indexOf(urgency);
    if ((this.#waiting.rankOf(key) ?? Infinity) <= rank) return;
    this.#waiting.delete(key);
    this.#waiting.add(key, rank);
  }

  delete(key: K): void {
    this.#waiting.delete(key);
  }

  clear(): void {
    this.#waiting.clear();
  }

  canStart(): boolean {
    return this.#waiting.next(this.#hasSlot) !== undefined;
  }

  /** Gives the next key a slot and returns it. */
  startNext(): K | undefined {
    const next = this.#waiting.take(this.#hasSlot);
    if (next === undefined) return undefined;
    this.#atWork.set(next.item, next.rank);
    return next.item;
  }

  end(key: K): void {
    this.#atWork.delete(key);
  }

  readonly #hasSlot = (rank: number): boolean => {
    const sharing = [...this.#atWork.values()].filter((other) => other >= rank).length;
    return this.#atWork.size < limits.remoteKeysAtWork && sharing < (slots[rank] ?? 0);
  };
}
