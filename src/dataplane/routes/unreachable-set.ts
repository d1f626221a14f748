import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import { DataplaneError } from '../dataplane.ts';
import { KernelSet, type KernelSetPorts } from '../kernel-set.ts';
import { maximumUnreachable, routeCheckInterval } from '../limits.ts';
import { planRoutes, type RoutesFound, type UnreachableRouteTable } from './unreachable-routes.ts';

interface UnreachablePorts extends KernelSetPorts {
  readonly routes: UnreachableRouteTable;
}

/**
 * Keeps exactly the last requested unreachable routes in the kernel, and the rules that consult them. Routes that other programs remove are
 * found by events, or by a check every `routeCheckInterval` where the table has no events.
 */
export class UnreachableSet extends KernelSet<UnreachablePorts> {
  readonly #repaired: (what: string) => void;
  #wanted: readonly Prefix[] = [];
  /** The routes that the kernel has, as far as known. */
  #present: readonly Prefix[] | undefined;

  constructor(ports: UnreachablePorts, repaired: (what: string) => void) {
    super(ports, { what: 'unreachable routes', interval: routeCheckInterval, level: 'error' });
    this.#repaired = repaired;
  }

  /**
   * Sets the routes. Resolves to the prefixes that have no route in the kernel, with the error of each. Rejects (DataplaneError) when the
   * state of none is known.
   */
  setPrefixes(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.run(async () => {
      const { routes } = this.ports;
      this.#wanted = prefixes.slice(0, maximumUnreachable);
      const why = `a node has at most ${maximumUnreachable} unreachable routes`;
      const missing = new Map(prefixes.slice(maximumUnreachable).map((prefix) => [formatPrefix(prefix), why]));
      try {
        const found = this.#present === undefined ? await routes.list() : { prefixes: this.#present };
        for (const [prefix, error] of (await this.#apply(found)).missing) missing.set(prefix, error);
      } finally {
        if (this.#wanted.length > 0) this.watch(routes.watch);
        this.scheduleNextCheck();
      }
      return missing;
    });
  }

  /** Removes all our routes. Called after `close`. */
  async remove(): Promise<void> {
    const { routes } = this.ports;
    await routes.change([], (await routes.list()).prefixes);
    this.#present = undefined;
  }

  async #apply(found: RoutesFound): Promise<{ readonly changed: boolean; readonly missing: ReadonlyMap<string, string> }> {
    const { routes, log } = this.ports;
    const { add, remove } = planRoutes(found, this.#wanted);
    const changed = add.length + remove.length > 0;
    // The state is unknown until the kernel has replied.
    this.#present = undefined;
    try {
      if (changed) await routes.change(add, remove);
    } catch (error) {
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      log.warn({ error: error.message }, 'some unreachable routes could not be set');
      // A faulty route does not stop the others. The kernel reports which ones exist.
      const left = planRoutes(await routes.list(), this.#wanted);
      return { changed, missing: new Map(left.add.map((prefix) => [formatPrefix(prefix), error.message])) };
    }
    this.#present = this.#wanted;
    return { changed, missing: new Map() };
  }

  /** A check is needed if there are routes but no events for them, or if a change failed. */
  protected override scheduleNextCheck(): void {
    if (this.#wanted.length === 0 && this.#present !== undefined) this.cancelCheck();
    else if (!this.isWatched || this.#present === undefined) this.scheduleCheck();
  }

  protected override async check(): Promise<void> {
    const found = await this.ports.routes.list();
    const asKnown = this.#present !== undefined;
    const { changed, missing } = await this.#apply(found);
    if (asKnown && changed && missing.size === 0) this.#repaired('unreachable routes');
  }
}
