import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { AggregateRoutes, type AggregateRoutesComponents } from './aggregate-routes.ts';
import type { RoutesByPeer, AnnouncedRoutes } from './announced-routes.ts';
import { routesPassingBarrier, type ServicePlan } from './service-plan.ts';

/** What an Announcer asks and tells. */
interface AnnouncerOptions {
  readonly plan: (service: ServiceKey) => ServicePlan | undefined;
  /** What the kernel refused. */
  readonly quarantined: () => ReadonlyMap<string, QuarantinedFrontend>;
  /** Whether another program has a frontend. */
  readonly isForwarded: (frontend: string) => boolean;
  /** Sends the changes of the route table to the peers. */
  readonly flushRoutes: () => void;
  /** It is time to announce Services anew. */
  readonly requeue: (services: ReadonlySet<ServiceKey>) => void;
}

/** Routes that may go out: those of plans that the kernel has committed, and whose aggregates have an unreachable route. */
export class Announcer {
  readonly #routes: AnnouncedRoutes;
  readonly #options: AnnouncerOptions;
  readonly #aggregates: AggregateRoutes;
  /** Services whose routes may differ from what their plan and the data plane's latest answer allow. */
  readonly #waiting = new Set<ServiceKey>();
  readonly #held = new Map<ServiceKey, readonly Reason[]>();

  constructor(components: AggregateRoutesComponents, routes: AnnouncedRoutes, options: AnnouncerOptions) {
    this.#routes = routes;
    this.#options = options;
    this.#aggregates = new AggregateRoutes(components, options.requeue);
  }

  /** Why routes are held back. */
  get held(): ReadonlyMap<ServiceKey, readonly Reason[]> {
    return this.#held;
  }

  /** The Services are to be announced after the next commit. */
  queue(services: Iterable<ServiceKey>): void {
    for (const service of services) this.#waiting.add(service);
  }

  /** Takes every route of the Services back; they are announced anew after the next commit. */
  withdraw(services: Iterable<ServiceKey>, why: Reason): void {
    for (const service of services) {
      this.#routes.replaceRoutes(service, new Map(), () => why);
      this.#waiting.add(service);
    }
    this.#options.flushRoutes();
  }

  /**
   * Announces what has passed the commit barrier, unless `isIntact` says meanwhile that the commit is void. What fails here is done again in
   * the next pass; until then nothing is in the route table that is not out.
   */
  async announce(isIntact: () => boolean): Promise<void> {
    const passed = new Map([...this.#waiting].map((key) => [key, this.#routesPassingBarrier(key)]));
    // Routes whose frontends the kernel refused go first, whatever becomes of the rest.
    for (const [key, routes] of passed) this.#routes.retainRoutes(key, routes, () => this.#held.get(key)?.[0]);
    this.#options.flushRoutes();
    const aggregates = [...passed.values()].flatMap((routes) => [...routes.values()].flat()).filter(({ aggregate }) => aggregate);
    await this.#aggregates.addUnreachable(aggregates.map(({ prefix }) => prefix));
    if (!isIntact()) return;
    const announced = new Set(this.#routes.aggregates().map(formatPrefix));
    for (const [key, wanted] of passed) {
      const { routes, held } = this.#aggregates.permittedRoutes(key, wanted, announced);
      if (held.length > 0) this.#held.set(key, [...(this.#held.get(key) ?? []), ...held]);
      this.#routes.replaceRoutes(key, routes, () => this.#held.get(key)?.[0]);
    }
    this.#options.flushRoutes();
    this.#waiting.clear();
    await this.#aggregates.removeUnannounced(this.#routes.aggregates());
  }

  stop(): void {
    this.#aggregates.stop();
  }

  #routesPassingBarrier(key: ServiceKey): RoutesByPeer {
    const { plan: planOf, quarantined, isForwarded } = this.#options;
    const plan = planOf(key);
    const { routes, held } = plan === undefined ? { routes: new Map(), held: [] } : routesPassingBarrier(key, plan, quarantined(), isForwarded);
    if (held.length === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    return routes;
  }
}
