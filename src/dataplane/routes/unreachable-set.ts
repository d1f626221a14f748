import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { maximumUnreachable, routeCheckInterval } from '../nftables/limits.ts';
import { planRoutes, type RouteTable } from './unreachable-routes.ts';

export interface UnreachablePorts {
  readonly routes: RouteTable;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps exactly the unreachable routes that were asked for last in the kernel, and the rules that make them count. What
 * others remove is found by looking every `routeCheckInterval`: it changes too rarely to be worth a monitor.
 */
export class UnreachableSet {
  readonly #ports: UnreachablePorts;
  readonly #repaired: (what: string) => void;
  #wanted: readonly Prefix[] = [];
  /** What the kernel has, as far as known. */
  #present: readonly Prefix[] | undefined;
  /** The work before this has ended, well or not. */
  #tail: Promise<unknown> = Promise.resolve();
  #cancelCheck: Cancel | undefined;
  #closed = false;

  constructor(ports: UnreachablePorts, repaired: (what: string) => void) {
    this.#ports = ports;
    this.#repaired = repaired;
  }

  /** Resolves to the prefixes that have no route in the kernel, and why. Rejects (DataplaneError) when nothing is known of any. */
  set(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#enqueue(async () => {
      this.#wanted = prefixes.slice(0, maximumUnreachable);
      const why = `a node has at most ${maximumUnreachable} unreachable routes`;
      const missing = new Map(prefixes.slice(maximumUnreachable).map((prefix) => [formatPrefix(prefix), why]));
      try {
        for (const [prefix, error] of await this.#apply()) missing.set(prefix, error);
      } finally {
        this.#scheduleCheck();
      }
      return missing;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck?.();
    await this.#tail.catch(() => undefined);
  }

  /** After `close`. */
  async remove(): Promise<void> {
    const { routes } = this.#ports;
    await routes.change([], (await routes.list()).prefixes);
    this.#present = undefined;
  }

  async #apply(): Promise<Map<string, string>> {
    const { routes, log } = this.#ports;
    const present = this.#present;
    const { add, remove } = planRoutes(present === undefined ? await routes.list() : { prefixes: present }, this.#wanted);
    if (add.length === 0 && remove.length === 0) {
      this.#present = this.#wanted;
      return new Map();
    }
    // Until the kernel has answered, nothing is known.
    this.#present = undefined;
    try {
      await routes.change(add, remove);
    } catch (error) {
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      log.warn({ error: error.message }, 'unreachable routes could not be set as a whole');
      // One at fault does not keep out the others: the kernel says which it has.
      const found = planRoutes(await routes.list(), this.#wanted);
      return new Map(found.add.map((prefix) => [formatPrefix(prefix), error.message]));
    }
    this.#present = this.#wanted;
    return new Map();
  }

  #scheduleCheck(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    if (this.#closed || (this.#wanted.length === 0 && this.#present !== undefined)) return;
    const { clock, log } = this.#ports;
    this.#cancelCheck = clock.after(routeCheckInterval, () => {
      this.#enqueue(() => this.#check())
        .catch((error: unknown) => log.error({ error: String(error) }, 'unreachable routes could not be checked'))
        .finally(() => this.#scheduleCheck());
    });
  }

  async #check(): Promise<void> {
    if (this.#closed) return;
    const { add, remove } = planRoutes(await this.#ports.routes.list(), this.#wanted);
    const asKnown = this.#present !== undefined;
    this.#present = undefined;
    if (add.length === 0 && remove.length === 0) {
      this.#present = this.#wanted;
      return;
    }
    const missing = await this.#apply();
    if (asKnown && missing.size === 0) this.#repaired('unreachable routes');
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work, work);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
