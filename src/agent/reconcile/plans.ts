import type { DrainView } from '../../decisions/announcement/node-drain.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { livingBackends } from '../../decisions/forwarding/serving-backends.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceForwarding } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { DrainingFrontends } from './draining-frontends.ts';
import type { ForeignFrontends } from './foreign-frontends.ts';
import type { DrainProgress } from './node-draining.ts';
import type { ForwardingChange } from './forwarding-change.ts';
import type { AnnouncedRoutes, WhyWithdrawn } from './announced-routes.ts';
import { emptyPlan, planService, frontendsToDrain, routesOfPlan, type ServicePlan } from './service-plan.ts';

export interface PlansComponents {
  readonly clock: Clock;
  readonly routes: AnnouncedRoutes;
  readonly foreignFrontends: ForeignFrontends;
  /** Told of every plan, also of one that changes nothing. */
  readonly onPlanned?: (service: ServiceKey, change: ForwardingChange) => void;
}

/**
 * What this node should do for each Service, by the latest look at it. A new plan takes away at once the routes that are not in it, and keeps
 * the rules that such routes led to until routers have heard of it.
 */
export class Plans {
  readonly #components: PlansComponents;
  readonly #node: string;
  readonly #plans = new Map<ServiceKey, ServicePlan>();
  readonly #draining: DrainingFrontends;

  /** `again` is called when rules of a Service need not be kept any longer. */
  constructor(components: PlansComponents, node: string, requeue: (service: ServiceKey) => void) {
    this.#components = components;
    this.#node = node;
    this.#draining = new DrainingFrontends(components.clock, requeue);
  }

  get byService(): ReadonlyMap<ServiceKey, ServicePlan> {
    return this.#plans;
  }

  /** Whether rules are kept for routes that are gone. */
  get hasDrainingFrontends(): boolean {
    return !this.#draining.isEmpty;
  }

  /** How far the drain of the node is. */
  drainProgress(): DrainProgress {
    const plans = [...this.#plans.values()];
    return {
      withdrawing: plans.filter(({ routes, drain }) => routes.length > 0 && drain?.kept !== true).length,
      kept: plans.filter(({ drain }) => drain?.kept === true).length,
      unannounced: new Set(plans.flatMap(({ drain }) => drain?.unannounced ?? [])),
    };
  }

  /** Plans a Service anew, withdraws what is not in the plan, and returns what the kernel should do for it. */
  plan(snapshot: Snapshot, key: ServiceKey, drainView: DrainView): ServiceForwarding | undefined {
    const before = this.#plans.get(key);
    const { plan, why } = planService(snapshot, key, this.#node, drainView);
    this.#drainRemoved(key, before, plan, snapshot.config.drainSeconds);
    if (plan.forwarding.frontends.length === 0 && plan.routes.length === 0) this.#plans.delete(key);
    else this.#plans.set(key, plan);
    this.#components.foreignFrontends.expectFrontends(key, plan.foreignFrontends);
    this.withdrawUnplanned(key, why);
    this.#components.onPlanned?.(key, { before: (before ?? emptyPlan).forwarding, after: plan.forwarding });
    const kept = this.#draining.mergeInto(key, plan.forwarding, livingBackends(snapshot, key));
    return kept.frontends.length === 0 ? undefined : kept;
  }

  /** Withdraws what is not in the plan, and what leads to frontends that another program has not. */
  withdrawUnplanned(key: ServiceKey, why: WhyWithdrawn = (peer, route) => this.#whyNotForwarded(key, peer, route)): void {
    const { routes, foreignFrontends } = this.#components;
    const plan = this.#plans.get(key) ?? emptyPlan;
    routes.retainRoutes(
      key,
      routesOfPlan(plan, (frontend) => foreignFrontends.isForwarded(frontend)),
      why,
    );
  }

  /** What a Service has now, others need not keep. Returns those that kept it: they are to be planned anew. */
  cancelDrainsOf(key: ServiceKey): ReadonlySet<ServiceKey> {
    const plan = this.#plans.get(key);
    return plan === undefined ? new Set() : this.#draining.cancelDrainsOf(key, plan.forwarding);
  }

  stop(): void {
    this.#draining.stop();
  }

  #whyNotForwarded(key: ServiceKey, peer: string, { prefix }: RouteIntent): Reason | undefined {
    const text = formatPrefix(prefix);
    const { routes = [] } = this.#plans.get(key) ?? {};
    const [frontend] = routes.find((barred) => barred.peer === peer && formatPrefix(barred.route.prefix) === text)?.needsForeign ?? [];
    return frontend === undefined ? undefined : reason('AwaitsForwarding', { frontend });
  }

  /** Frontends whose address is announced at this moment drain; others (NodePorts, ClusterIPs of this cluster) go at once. */
  #drainRemoved(key: ServiceKey, before: ServicePlan | undefined, plan: ServicePlan, seconds: number): void {
    if (before === undefined || seconds === 0 || this.#components.routes.routesOf(key).size === 0) return;
    const removed = frontendsToDrain(before, plan);
    if (removed.length > 0) this.#draining.startDrain(key, removed, seconds);
  }
}
