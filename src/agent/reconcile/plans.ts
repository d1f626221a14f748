import type { DrainView } from '../../decisions/announcement/node-drain.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { livingBackends } from '../../decisions/forwarding/living.ts';
import type { ServiceKey } from '../../model/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import type { ServiceForwarding } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { Drain } from './draining-frontends.ts';
import type { Elsewhere } from './foreign-frontends.ts';
import type { DrainProgress } from './node-draining.ts';
import type { ForwardingChange } from './forwarding-change.ts';
import type { RouteTable, WhyWithdrawn } from './announced-routes.ts';
import { nothing, planService, removedRouted, routesOfPlan, type ServicePlan } from './service-plan.ts';

export interface PlansComponents {
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly elsewhere: Elsewhere;
  readonly view: () => DrainView;
  /** Told of every plan, also of one that changes nothing. */
  readonly planned?: (service: ServiceKey, change: ForwardingChange) => void;
}

/**
 * What this node should do for each Service, by the latest look at it. A new plan takes away at once the routes that are not in it, and keeps
 * the rules that such routes led to until routers have heard of it.
 */
export class Plans {
  readonly #components: PlansComponents;
  readonly #node: string;
  readonly #plans = new Map<ServiceKey, ServicePlan>();
  readonly #drain: Drain;

  /** `again` is called when rules of a Service need not be kept any longer. */
  constructor(components: PlansComponents, node: string, again: (service: ServiceKey) => void) {
    this.#components = components;
    this.#node = node;
    this.#drain = new Drain(components.clock, again);
  }

  get byService(): ReadonlyMap<ServiceKey, ServicePlan> {
    return this.#plans;
  }

  /** Whether rules are kept for routes that are gone. */
  get drains(): boolean {
    return !this.#drain.empty;
  }

  /** How far the drain of the node is. */
  drainProgress(): DrainProgress {
    const plans = [...this.#plans.values()];
    return {
      leaving: plans.filter(({ routes, drain }) => routes.length > 0 && drain?.kept !== true).length,
      kept: plans.filter(({ drain }) => drain?.kept === true).length,
      left: new Set(plans.flatMap(({ drain }) => drain?.left ?? [])),
    };
  }

  /** Plans a Service anew, withdraws what is not in the plan, and returns what the kernel should do for it. */
  plan(snapshot: Snapshot, key: ServiceKey): ServiceForwarding | undefined {
    const before = this.#plans.get(key);
    const { plan, why } = planService(snapshot, key, this.#node, this.#components.view());
    this.#drainRemoved(key, before, plan, snapshot.config.drainSeconds);
    if (plan.forwarding.frontends.length === 0 && plan.routes.length === 0) this.#plans.delete(key);
    else this.#plans.set(key, plan);
    this.#components.elsewhere.plan(key, plan.elsewhere);
    this.narrow(key, why);
    this.#components.planned?.(key, { before: (before ?? nothing).forwarding, after: plan.forwarding });
    const kept = this.#drain.keep(key, plan.forwarding, livingBackends(snapshot, key));
    return kept.frontends.length === 0 ? undefined : kept;
  }

  /** Withdraws what is not in the plan, and what leads to frontends that another program has not. */
  narrow(key: ServiceKey, why: WhyWithdrawn = (peer, route) => this.#whyNotElsewhere(key, peer, route)): void {
    const { routes, elsewhere } = this.#components;
    const plan = this.#plans.get(key) ?? nothing;
    routes.narrow(
      key,
      routesOfPlan(plan, (frontend) => elsewhere.permits(frontend)),
      why,
    );
  }

  /** What a Service has now, others need not keep. Returns those that kept it: they are to be planned anew. */
  giveWay(key: ServiceKey): ReadonlySet<ServiceKey> {
    const plan = this.#plans.get(key);
    return plan === undefined ? new Set() : this.#drain.giveWay(key, plan.forwarding);
  }

  stop(): void {
    this.#drain.stop();
  }

  #whyNotElsewhere(key: ServiceKey, peer: string, { prefix }: RouteIntent): Reason | undefined {
    const text = formatPrefix(prefix);
    const { routes = [] } = this.#plans.get(key) ?? {};
    const [frontend] = routes.find((gated) => gated.peer === peer && formatPrefix(gated.route.prefix) === text)?.needsElsewhere ?? [];
    return frontend === undefined ? undefined : reason('AwaitsForwarding', { frontend });
  }

  /** Frontends whose address is announced at this moment drain; others (NodePorts, ClusterIPs of this cluster) go at once. */
  #drainRemoved(key: ServiceKey, before: ServicePlan | undefined, plan: ServicePlan, seconds: number): void {
    if (before === undefined || seconds === 0 || this.#components.routes.routesOf(key).size === 0) return;
    const removed = removedRouted(before, plan);
    if (removed.length > 0) this.#drain.leave(key, removed, seconds);
  }
}
