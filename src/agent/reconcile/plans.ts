import type { L2Decisions } from '../../decisions/l2/candidates.ts';
import type { OwnState } from '../../decisions/announcement/node-drain.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { servingBackends } from '../../decisions/forwarding/endpoints.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceForwarding } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import type { L2Announcer } from '../l2/l2-announcer.ts';
import { DrainingFrontends } from './draining-frontends.ts';
import type { ForeignFrontends } from './foreign-frontends.ts';
import type { DrainProgress } from './node-draining.ts';
import type { ForwardingChange } from './forwarding-change.ts';
import type { AnnouncedRoutes, WhyWithdrawn } from './announced-routes.ts';
import { emptyPlan, planService, frontendsToDrain, routesOfPlan, type ServicePlan } from './service-plan.ts';

interface PlansComponents {
  readonly clock: Clock;
  readonly routes: AnnouncedRoutes;
  readonly foreignFrontends: ForeignFrontends;
  /** Called for every plan, even if nothing changes. */
  readonly onPlanned?: (service: ServiceKey, change: ForwardingChange) => void;
  /** Absent: this node announces nothing by ARP and NDP. */
  readonly l2?: { readonly decisions: () => L2Decisions | undefined; readonly announcer: Pick<L2Announcer, 'plan' | 'announces'> };
}

/** The plan of each Service. A new one withdraws routes at once; the rules behind them stay until routers have followed. */
export class Plans {
  readonly #components: PlansComponents;
  readonly #node: string;
  readonly #plans = new Map<ServiceKey, ServicePlan>();
  readonly #draining: DrainingFrontends;

  /** `requeue` is called when a Service has frontends that have drained. */
  constructor(components: PlansComponents, node: string, requeue: (service: ServiceKey) => void) {
    this.#components = components;
    this.#node = node;
    this.#draining = new DrainingFrontends(components.clock, requeue);
  }

  get byService(): ReadonlyMap<ServiceKey, ServicePlan> {
    return this.#plans;
  }

  /** True while rules are kept for withdrawn routes. */
  get hasDrainingFrontends(): boolean {
    return !this.#draining.isEmpty;
  }

  /** Returns the progress of the node drain. */
  drainProgress(): DrainProgress {
    const plans = [...this.#plans.values()];
    return {
      withdrawing: plans.filter(({ routes, drain }) => routes.length > 0 && drain?.kept !== true).length,
      kept: plans.filter(({ drain }) => drain?.kept === true).length,
      unannounced: new Set(plans.flatMap(({ drain }) => drain?.unannounced ?? [])),
    };
  }

  /** Number of Services with an address that this node announces although it cannot forward, because no node that can does. */
  heldBackLastNextHops(): number {
    return [...this.#plans.values()].filter((plan) => plan.isHeldBackLastNextHop === true).length;
  }

  /** Plans a Service again and withdraws routes that are not in the plan. Returns the forwarding for the kernel, if it has any. */
  plan(snapshot: Snapshot, key: ServiceKey, view: OwnState): ServiceForwarding | undefined {
    const before = this.#plans.get(key);
    const { l2 } = this.#components;
    const { plan, why } = planService(snapshot, key, this.#node, view, l2?.decisions());
    this.#drainRemoved(key, before, plan, snapshot.config.drainSeconds);
    l2?.announcer.plan(key, plan.l2);
    if (plan.forwarding.frontends.length === 0 && plan.routes.length === 0 && plan.l2.length === 0 && plan.asked === undefined)
      this.#plans.delete(key);
    else this.#plans.set(key, plan);
    this.#components.foreignFrontends.expectFrontends(key, plan.foreignFrontends);
    this.withdrawUnplanned(key, why);
    this.#components.onPlanned?.(key, { before: (before ?? emptyPlan).forwarding, after: plan.forwarding });
    const kept = this.#draining.mergeInto(key, plan.forwarding, servingBackends(snapshot, key));
    return kept.frontends.length === 0 ? undefined : kept;
  }

  /** Withdraws routes that are not in the plan, and routes to frontends that another program should forward and does not. */
  withdrawUnplanned(key: ServiceKey, why: WhyWithdrawn = (peer, route) => this.#whyNotForwarded(key, peer, route)): void {
    const { routes, foreignFrontends } = this.#components;
    const plan = this.#plans.get(key) ?? emptyPlan;
    const wanted = routesOfPlan(plan, (frontend) => foreignFrontends.isForwarded(frontend));
    routes.retainRoutes(key, wanted, why);
  }

  /** Ends the draining, by other Services, of frontends that this Service now has. Returns those Services: they must be planned again. */
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
    const [frontend] = routes.find((planned) => planned.peer === peer && formatPrefix(planned.route.prefix) === text)?.needsForeign ?? [];
    return frontend === undefined ? undefined : reason('AwaitsForwarding', { frontend });
  }

  /** Drains only frontends of addresses that are announced now. Others (NodePorts, ClusterIPs of this cluster) end at once. */
  #drainRemoved(key: ServiceKey, before: ServicePlan | undefined, plan: ServicePlan, seconds: number): void {
    const { routes, l2 } = this.#components;
    const isAnnounced = routes.routesOf(key).size > 0 || l2?.announcer.announces(key) === true;
    if (before === undefined || seconds === 0 || !isAnnounced) return;
    const removed = frontendsToDrain(before, plan);
    if (removed.length > 0) this.#draining.startDrain(key, removed, seconds);
  }
}
