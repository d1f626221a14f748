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

  /**
   * Groups the routes by what `say` returns for them. Beyond the limit of groups, the remaining routes form a last group without a text.
   */
  groupBy<T>(
    say: (peer: string, route: RouteIntent) => T,
    textOf: (said: T) => string,
  ): { readonly said: T | undefined; readonly pile: RouteGroup }[] {
    const piles = new Map<string, { readonly said: T | undefined; readonly pile: RouteGroup }>();
    const rest = new RouteGroup();
    const texts = new Map<T, string>();
    for (const { peer, prefix, route } of this.#all) {
      const said = say(peer, route);
      const text = texts.get(said) ?? textOf(said);
      texts.set(said, text);
      let found = piles.get(text);
      if (found === undefined && piles.size < limits.entriesOfChange) piles.set(text, (found = { said, pile: new RouteGroup() }));
      (found?.pile ?? rest).addRoute(peer, prefix, route);
    }
    return [...piles.values(), ...(rest.isEmpty ? [] : [{ said: undefined, pile: rest }])];
  }

  /** Returns the routes in the form of a history entry. */
  toHistory(): { readonly routes: readonly HistoryRoute[]; readonly moreRoutes?: number } {
    const routes = this.#all.slice(0, limits.routesOfEntry).map(({ peer, prefix }) => ({ peer, prefix }));
    const more = this.#all.length - routes.length;
    return { routes, ...(more === 0 ? {} : { moreRoutes: more }) };
  }
}
