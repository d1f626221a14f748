import { limits } from '../limits.ts';
import type { Urgency } from '../provider-parts.ts';

/** The most urgent first. */
const order = ['new', 'change', 'repair', 'reread'] as const satisfies readonly Urgency[];

/** The slots that keys of one urgency and less urgent ones may take together. */
const slots: Readonly<Record<Urgency, number>> = {
  new: limits.remoteKeysAtWork,
  change: limits.remoteChangesAtWork,
  repair: limits.remoteRepairsAtWork,
  reread: limits.remoteRereadsAtWork,
};

/**
 * Keys that wait for one of the slots for work outside the cluster, and those that have one. Less urgent keys get only some of the slots,
 * so that a slot for a more urgent key becomes free however long the others take.
 */
export class RemoteLine<K extends string> {
  readonly #waiting: Readonly<Record<Urgency, Set<K>>> = { new: new Set(), change: new Set(), repair: new Set(), reread: new Set() };
  readonly #atWork = new Map<K, Urgency>();

  get waiting(): number {
    return order.reduce((sum, urgency) => sum + this.#waiting[urgency].size, 0);
  }

  get atWork(): number {
    return this.#atWork.size;
  }

  has(key: K): boolean {
    return this.#urgencyOf(key) !== undefined;
  }

  /** Adds a key, or moves a waiting one to the end of a more urgent line. */
  add(key: K, urgency: Urgency): void {
    const before = this.#urgencyOf(key);
    if (before !== undefined && order.indexOf(before) <= order.indexOf(urgency)) return;
    this.delete(key);
    this.#waiting[urgency].add(key);
  }

  delete(key: K): void {
    for (const urgency of order) this.#waiting[urgency].delete(key);
  }

  clear(): void {
    for (const urgency of order) this.#waiting[urgency].clear();
  }

  canStart(): boolean {
    return this.#next() !== undefined;
  }

  /** Gives the next key a slot and returns it. */
  startNext(): K | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    this.delete(next.key);
    this.#atWork.set(next.key, next.urgency);
    return next.key;
  }

  end(key: K): void {
    this.#atWork.delete(key);
  }

  #next(): { readonly key: K; readonly urgency: Urgency } | undefined {
    for (const [rank, urgency] of order.entries()) {
      const [key] = this.#waiting[urgency];
      if (key === undefined) continue;
      const sharing = [...this.#atWork.values()].filter((other) => order.indexOf(other) >= rank).length;
      if (this.#atWork.size < limits.remoteKeysAtWork && sharing < slots[urgency]) return { key, urgency };
    }
    return undefined;
  }

  #urgencyOf(key: K): Urgency | undefined {
    return order.find((urgency) => this.#waiting[urgency].has(key));
  }
}
