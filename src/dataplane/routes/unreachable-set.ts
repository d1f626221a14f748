import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { maximumUnreachable, repairDelay, repairInterval, routeCheckInterval } from '../limits.ts';
import { planRoutes, type UnreachableRouteTable } from './unreachable-routes.ts';
import { SerialQueue } from '../../system/serial-queue.ts';

interface UnreachablePorts {
  readonly routes: UnreachableRouteTable;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps exactly the last requested unreachable routes in the kernel, and the rules that consult them. Routes that other programs remove are
 * found by events, or by a check every `routeCheckInterval` where the table has no events.
 */
export class UnreachableSet {
  readonly #ports: UnreachablePorts;
  readonly #repaired: (what: string) => void;
  #wanted: readonly Prefix[] = [];
  /** The routes that the kernel has, as far as known. */
  #present: readonly Prefix[] | undefined;
  readonly #serial = new SerialQueue();
  #cancelCheck: Cancel | undefined;
  /** The time of the next check, on the clock. */
  #checkAt = Number.POSITIVE_INFINITY;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #stopWatching: (() => void) | undefined;
  #closed = false;

  constructor(ports: UnreachablePorts, repaired: (what: string) => void) {
    this.#ports = ports;
    this.#repaired = repaired;
  }

  /**
   * Sets the routes. Resolves to the prefixes that have no route in the kernel, with the error of each. Rejects (DataplaneError) when the
   * state of none is known.
   */
  setPrefixes(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#serial.run(async () => {
      this.#wanted = prefixes.slice(0, maximumUnreachable);
      const why = `a node has at most ${maximumUnreachable} unreachable routes`;
      const missing = new Map(prefixes.slice(maximumUnreachable).map((prefix) => [formatPrefix(prefix), why]));
      try {
        for (const [prefix, error] of await this.#apply()) missing.set(prefix, error);
      } finally {
        if (this.#wanted.length > 0 && !this.#closed)
          this.#stopWatching ??= this.#ports.routes.watch?.(() => this.#scheduleCheck(Math.max(repairDelay, this.#untilNextRepair())));
        this.#scheduleNextCheck();
      }
      return missing;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck?.();
    this.#stopWatching?.();
    await this.#serial.idle();
  }

  /** Removes all our routes. Called after `close`. */
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
    // The state is unknown until the kernel has replied.
    this.#present = undefined;
    try {
      await routes.change(add, remove);
    } catch (error) {
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      log.warn({ error: error.message }, 'some unreachable routes could not be set');
      // A faulty route does not stop the others. The kernel reports which ones exist.
      const found = planRoutes(await routes.list(), this.#wanted);
      return new Map(found.add.map((prefix) => [formatPrefix(prefix), error.message]));
    }
    this.#present = this.#wanted;
    return new Map();
  }

  /** Schedules a check if there are routes but no events for them, or if a change failed. */
  #scheduleNextCheck(): void {
    if (this.#wanted.length === 0 && this.#present !== undefined) {
      this.#cancelCheck?.();
      this.#checkAt = Number.POSITIVE_INFINITY;
    } else if (this.#stopWatching === undefined || this.#present === undefined) this.#scheduleCheck(routeCheckInterval);
  }

  /** Limits the rate of repairs: a program that fights for our routes must not keep a core busy. */
  #untilNextRepair(): number {
    return this.#checkedAt + repairInterval - this.#ports.clock.now();
  }

  /** Keeps one scheduled check: the earlier one. */
  #scheduleCheck(delay: number): void {
    const { clock, log } = this.#ports;
    const at = clock.now() + delay;
    if (this.#closed || at >= this.#checkAt) return;
    this.#cancelCheck?.();
    this.#checkAt = at;
    this.#cancelCheck = clock.after(delay, () => {
      this.#checkAt = Number.POSITIVE_INFINITY;
      this.#checkedAt = clock.now();
      this.#serial
        .run(() => this.#check())
        .catch((error: unknown) => log.error({ error: String(error) }, 'unreachable routes could not be checked'))
        .finally(() => this.#scheduleNextCheck());
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
}
