import type { RouteIntent } from '../../decisions/announcement/route.ts';
import type { HistoryRoute } from '../../live/contract.ts';
import { limits } from '../../live/limits.ts';

/** Routes of a Service to which the same thing happened. */
export class RouteGroup {
  readonly #all: { readonly peer: string; readonly prefix: string; readonly route: RouteIntent }[] = [];

  addRoute(peer: string, prefix: string, route: RouteIntent): void {
    this.#all.push({ peer, prefix, route });
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Groups the routes by the text of their key. Beyond the limit of groups, the remaining routes form a last group without a key. */
  groupBy<T>(
    keyOf: (peer: string, route: RouteIntent) => T,
    format: (key: T) => string,
  ): { readonly key: T | undefined; readonly group: RouteGroup }[] {
    const groups = new Map<string, { readonly key: T | undefined; readonly group: RouteGroup }>();
    const rest = new RouteGroup();
    const texts = new Map<T, string>();
    for (const { peer, prefix, route } of this.#all) {
      const key = keyOf(peer, route);
      const text = texts.get(key) ?? format(key);
      texts.set(key, text);
      let found = groups.get(text);
      if (found === undefined && groups.size < limits.entriesOfChange) groups.set(text, (found = { key, group: new RouteGroup() }));
      (found?.group ?? rest).addRoute(peer, prefix, route);
    }
    return [...groups.values(), ...(rest.isEmpty ? [] : [{ key: undefined, group: rest }])];
  }

  /** Returns the routes in the form of a history entry. */
  toHistory(): { readonly routes: readonly HistoryRoute[]; readonly moreRoutes?: number } {
    const routes = this.#all.slice(0, limits.routesOfEntry).map(({ peer, prefix }) => ({ peer, prefix }));
    const more = this.#all.length - routes.length;
    return { routes, ...(more === 0 ? {} : { moreRoutes: more }) };
  }
}
