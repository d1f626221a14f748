import { DataplaneError, type Dataplane } from '../../dataplane/dataplane.ts';
import { withoutNodeAddresses } from '../../decisions/forwarding/own-addresses.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { comparePrefixes, formatPrefix, prefix as parsePrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { Source } from '../../sources/source.ts';
import { RetryTimer } from './retry-timer.ts';
import type { RoutesByPeer } from './announced-routes.ts';
import type { RandomSurroundings } from '../../system/random.ts';

export interface AggregateRoutesComponents extends RandomSurroundings {
  readonly dataplane: Dataplane;
  readonly source: Pick<Source, 'snapshot'>;
}

/**
 * Keeps the unreachable routes of aggregates in the kernel: each is there before its aggregate is announced, and until the aggregate is
 * withdrawn. A route that the kernel does not take holds back only the announcements that need it, and is retried.
 */
export class AggregateRoutes {
  readonly #components: AggregateRoutesComponents;
  readonly #retry: RetryTimer;
  /** The unreachable routes in the kernel. Undefined before the first call: an earlier process may have left some. */
  #present: readonly Prefix[] | undefined;
  #missing: ReadonlyMap<string, string> = new Map();
  /** Services with routes that are held back. */
  readonly #held = new Set<ServiceKey>();

  /** `requeue` is called with Services whose routes are held back, when it is time to announce them again. */
  constructor(components: AggregateRoutesComponents, requeue: (services: ReadonlySet<ServiceKey>) => void) {
    this.#components = components;
    this.#retry = new RetryTimer(components, () => requeue(this.#held));
  }

  /** Adds unreachable routes. `permittedRoutes` holds back the announcements whose route could not be added. */
  async addUnreachable(prefixes: readonly Prefix[]): Promise<void> {
    this.#missing = await this.#set([...(this.#present ?? []), ...prefixes]);
  }

  /** Returns the routes of a Service without those that must wait. An aggregate that is announced already stays announced. */
  permittedRoutes(
    service: ServiceKey,
    routes: RoutesByPeer,
    announced: ReadonlySet<string>,
  ): { readonly routes: RoutesByPeer; readonly held: readonly Reason[] } {
    const held = new Map<string, Reason>();
    const may = ({ prefix, aggregate }: RouteIntent): boolean => {
      const text = formatPrefix(prefix);
      const error = aggregate && !announced.has(text) ? this.#missing.get(text) : undefined;
      if (error !== undefined) held.set(text, reason('UnreachableRouteMissing', { prefix: text, error }));
      return error === undefined;
    };
    const permitted = new Map([...routes].map(([peer, list]) => [peer, list.filter(may)] as const).filter(([, list]) => list.length > 0));
    if (held.size === 0) this.#held.delete(service);
    else this.#held.add(service);
    return { routes: permitted, held: [...held.values()] };
  }

  /** Removes the unreachable routes of aggregates that are no longer announced. Call it after their withdrawal. */
  async removeUnannounced(announced: readonly Prefix[]): Promise<void> {
    await this.#set(announced);
    if (this.#held.size === 0) this.#retry.succeeded();
    else if (!this.#retry.waiting) {
      const retryInMilliseconds = this.#retry.failed();
      this.#components.log.error({ services: this.#held.size, retryInMilliseconds }, 'aggregates wait for their unreachable routes');
    }
  }

  stop(): void {
    this.#retry.stop();
  }

  /** Sets the unreachable routes. Resolves to the wanted prefixes of which a route is missing, with the error. */
  async #set(wanted: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    const missing = [...(await this.#setRoutes(withoutNodeAddresses(this.#components.source.snapshot, distinct(wanted))))];
    return new Map(
      wanted.flatMap((prefix) => {
        const error = missing.find(([text]) => prefixContains(prefix, parsePrefix(text).address))?.[1];
        return error === undefined ? [] : [[formatPrefix(prefix), error] as const];
      }),
    );
  }

  async #setRoutes(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    const texts = prefixes.map(formatPrefix);
    if (this.#present?.map(formatPrefix).join() === texts.join()) return new Map();
    try {
      const missing = await this.#components.dataplane.setUnreachable(prefixes);
      this.#present = prefixes.filter((prefix) => !missing.has(formatPrefix(prefix)));
      return missing;
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      // The data plane keeps trying to reach the last set, so the earlier routes are still there or come back.
      const before = new Set(this.#present?.map(formatPrefix));
      this.#components.log.warn({ error }, 'unreachable routes could not be set');
      return new Map(texts.filter((text) => !before.has(text)).map((text) => [text, error.message]));
    }
  }
}

/** Returns the prefixes in order, each once. */
function distinct(prefixes: readonly Prefix[]): Prefix[] {
  return [...new Map(prefixes.map((prefix) => [formatPrefix(prefix), prefix])).values()].toSorted(comparePrefixes);
}
