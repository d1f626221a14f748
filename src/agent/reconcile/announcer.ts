import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { AggregateRoutes, type AggregateRoutesComponents } from './aggregate-routes.ts';
import type { RoutesByPeer, AnnouncedRoutes } from './announced-routes.ts';
import { routesPassingBarrier, type ServicePlan } from './service-plan.ts';

interface AnnouncerOptions {
  readonly plan: (service: ServiceKey) => ServicePlan | undefined;
  /** The frontends that the kernel does not have in their latest form, by frontendKey. */
  readonly quarantined: () => ReadonlyMap<string, QuarantinedFrontend>;
  /** True if another program forwards the frontend. */
  readonly isForwarded: (frontend: string) => boolean;
  /** Sends the changes of `AnnouncedRoutes` to the peers, and those of addresses that are announced on a link. */
  readonly flushRoutes: () => void;
  /** Called with whether the kernel has the rules for addresses of the Service that are announced on a link. */
  readonly linkForwarded: (service: ServiceKey, isForwarded: boolean) => void;
  /** Called when Services should be announced again. */
  readonly requeue: (services: ReadonlySet<ServiceKey>) => void;
}

/** Announces the routes that may go out: the kernel has committed their plans and has the unreachable routes of their aggregates. */
export class Announcer {
  readonly #routes: AnnouncedRoutes;
  readonly #options: AnnouncerOptions;
  readonly #aggregates: AggregateRoutes;
  /** Services whose announced routes may differ from those that their plan and the data plane's latest answer allow. */
  readonly #waiting = new Set<ServiceKey>();
  readonly #held = new Map<ServiceKey, readonly Reason[]>();

  constructor(components: AggregateRoutesComponents, routes: AnnouncedRoutes, options: AnnouncerOptions) {
    this.#routes = routes;
    this.#options = options;
    this.#aggregates = new AggregateRoutes(components, options.requeue);
  }

  /** Why routes of a Service are held back. */
  get held(): ReadonlyMap<ServiceKey, readonly Reason[]> {
    return this.#held;
  }

  /** Queues Services for announcement after the next commit. */
  queue(services: Iterable<ServiceKey>): void {
    for (const service of services) this.#waiting.add(service);
  }

  /** Withdraws all routes of the Services. They are announced again after the next commit. */
  withdraw(services: Iterable<ServiceKey>, why: Reason): void {
    for (const service of services) {
      this.#routes.replaceRoutes(service, new Map(), () => why);
      this.#options.linkForwarded(service, false);
      this.#waiting.add(service);
    }
    this.#options.flushRoutes();
  }

  /**
   * Announces the routes that pass the commit barrier, unless `isIntact` says that the commit became void. The next pass repeats an
   * announcement that failed; until then `AnnouncedRoutes` has no route that was not sent.
   */
  async announce(isIntact: () => boolean): Promise<void> {
    const passed = new Map([...this.#waiting].map((key) => [key, this.#passingBarrier(key)]));
    // First withdraw the routes whose frontends the kernel refused, even if the steps below fail.
    for (const [key, { routes, onLink }] of passed) {
      this.#routes.retainRoutes(key, routes, () => this.#held.get(key)?.[0]);
      if (!onLink) this.#options.linkForwarded(key, false);
    }
    this.#options.flushRoutes();
    const aggregates = [...passed.values()].flatMap(({ routes }) => [...routes.values()].flat()).filter(({ aggregate }) => aggregate);
    await this.#aggregates.addUnreachable(aggregates.map(({ prefix }) => prefix));
    if (!isIntact()) return;
    const announced = new Set(this.#routes.aggregates().map(formatPrefix));
    for (const [key, { routes: wanted, onLink }] of passed) {
      if (onLink) this.#options.linkForwarded(key, true);
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

  #passingBarrier(key: ServiceKey): { readonly routes: RoutesByPeer; readonly onLink: boolean } {
    const { plan: planOf, quarantined, isForwarded } = this.#options;
    const plan = planOf(key);
    const { routes, l2, held } =
      plan === undefined ? { routes: new Map(), l2: [], held: [] } : routesPassingBarrier(key, plan, quarantined(), isForwarded);
    if (held.length === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    return { routes, onLink: l2.length > 0 };
  }
}
