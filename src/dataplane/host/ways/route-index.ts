import { maskedPrefix } from '../../../net/prefix.ts';
import type { Address } from '../../../net/address.ts';
import type { ListedRoute } from './way-messages.ts';

/** Routes of several tables, by table, length and prefix. A table may have several of one prefix, with different metrics. */
export class RouteIndex {
  readonly #tables = new Map<number, Map<number, Map<bigint, ListedRoute[]>>>();

  constructor(routes: readonly ListedRoute[]) {
    for (const route of routes) {
      const { table, prefix } = route;
      const lengths = this.#tables.get(table) ?? new Map<number, Map<bigint, ListedRoute[]>>();
      this.#tables.set(table, lengths);
      const values = lengths.get(prefix.length) ?? new Map<bigint, ListedRoute[]>();
      lengths.set(prefix.length, values);
      const alike = values.get(prefix.address.value);
      if (alike === undefined) values.set(prefix.address.value, [route]);
      else alike.push(route);
    }
    for (const [table, lengths] of this.#tables) this.#tables.set(table, new Map([...lengths].toSorted(([a], [b]) => b - a)));
  }

  get isEmpty(): boolean {
    return this.#tables.size === 0;
  }

  /** Returns the routes with the longest prefix of each table that contains the address. */
  longest(address: Address): ListedRoute[] {
    return [...this.#tables.values()].flatMap((lengths) => {
      for (const [length, values] of lengths) {
        const routes = values.get(maskedPrefix(address, length).address.value);
        if (routes !== undefined) return routes;
      }
      return [];
    });
  }
}
