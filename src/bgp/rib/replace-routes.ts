import type { Clock } from '../../system/clock.ts';
import type { Family } from '../../net/address.ts';
import { routesPerTurn } from '../limits.ts';
import { noSlot } from './interned/additional-paths.ts';
import type { Route } from '../route.ts';
import type { RouteTable } from './route-table.ts';

const families = [4, 6] as const;

type Tables = Readonly<Record<Family, RouteTable>>;

/**
 * Makes these the own routes of the tables, exactly. If a prefix comes twice, the last route counts. Yields after a number of routes, so
 * that the caller can let the sessions work. Iterates over the routes a second time if some of them are new.
 */
export function* replaceRoutes(tables: Tables, routes: Iterable<Route>, perTurn = routesPerTurn): Generator<void, void> {
  for (const family of families) tables[family].beginReplacement();
  try {
    let count = 0;
    const isTurnOver = (): boolean => ++count % perTurn === 0;
    let hasNew = tables[4].ownSize + tables[6].ownSize === 0;
    if (!hasNew) {
      for (const route of routes) {
        if (!tables[route.prefix.address.family].change(route)) hasNew = true;
        if (isTurnOver()) yield;
      }
      for (const family of families) {
        for (let next = 0; next !== noSlot;) {
          next = tables[family].withdrawOthers(next, perTurn);
          if (next !== noSlot) yield;
        }
      }
    }
    if (!hasNew) return;
    for (const route of routes) {
      tables[route.prefix.address.family].add(route);
      if (isTurnOver()) yield;
    }
  } finally {
    for (const family of families) tables[family].endReplacement();
  }
}

/** Runs a replacement, a part in each turn of the event loop. The next one ends it. */
export class ReplacementRunner {
  readonly #clock: Clock;
  #current: Generator<void, void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins in this turn, and ends in it if the routes are few. */
  run(steps: Generator<void, void>, done: () => void): void {
    this.stop();
    this.#current = steps;
    this.#step(steps, done);
  }

  stop(): void {
    this.#current?.return();
    this.#current = undefined;
  }

  #step(steps: Generator<void, void>, done: () => void): void {
    if (this.#current !== steps) return;
    if (steps.next().done !== true) {
      this.#clock.after(0, () => this.#step(steps, done));
      return;
    }
    this.#current = undefined;
    done();
  }
}
