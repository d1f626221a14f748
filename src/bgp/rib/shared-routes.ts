import type { Prefix } from '../../net/prefix.ts';
import type { Route } from '../route.ts';
import { replaceRoutes } from './replace-routes.ts';
import type { RibStore } from './rib-store.ts';

/** Routes for all peers of a speaker, including peers that are added later. A peer's own route of a prefix takes precedence. */
export class SharedRoutes {
  readonly #tables: RibStore['shared'];
  #complete = false;

  constructor({ shared }: RibStore) {
    this.#tables = shared;
  }

  /** True once the full list of routes was given. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Makes these the routes, exactly, with pauses for other work. If a prefix comes twice, the last route counts. */
  *replaceGradually(routes: Iterable<Route>, perTurn?: number): Generator<void, void> {
    yield* replaceRoutes(this.#tables, routes, perTurn);
    this.#complete = true;
  }

  announce(route: Route): void {
    this.#tables[route.prefix.address.family].announce(route);
  }

  withdraw(prefix: Prefix, pathId?: number): void {
    this.#tables[prefix.address.family].withdraw(prefix, pathId);
  }

  /** Tells whether the prefix has the path, or may get it. */
  hasRoomFor(prefix: Prefix, pathId: number): boolean {
    return this.#tables[prefix.address.family].hasRoomFor(prefix, pathId);
  }
}
