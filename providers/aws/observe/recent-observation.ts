import { defined } from '../../../src/lang/defined.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { limits } from '../model/limits.ts';
import type { Observed, ObservedLoadBalancer, ObservedTargetGroup } from '../model/observed.ts';
import { unlessMissing } from './tolerate-missing.ts';

/**
 * The last complete observation of a stack for which there is nothing to do but wait. Meanwhile only what AWS changes by itself is read
 * again: the states of load balancers and of capacity that is being reserved, and the health of targets behind those that are active.
 * Nothing is written because of it: a plan with actions is made again from a complete observation.
 */
export class RecentObservation {
  #last: { readonly observed: Observed; readonly at: number } | undefined;

  /** `now`: milliseconds since the epoch. */
  record(observed: Observed, now: number): void {
    this.#last = { observed, at: now };
  }

  forget(): void {
    this.#last = undefined;
  }

  /**
   * Resolves to the observation with what has changed since. Undefined when everything must be read: there is none, it is too old, or a
   * load balancer is missing.
   */
  async refresh(cloud: ReadOnlyCloud, now: number): Promise<Observed | undefined> {
    if (this.#last === undefined || now - this.#last.at >= limits.driftSeconds * 1000) return undefined;
    const { observed } = this.#last;
    // AWS reports no state of a Classic ELB.
    if (observed.loadBalancers.length === 0 || observed.classic.length > 0) return undefined;
    const LoadBalancerArns = observed.loadBalancers.map(({ loadBalancer }) => loadBalancer.LoadBalancerArn);
    const read = await unlessMissing(async () => (await cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns })).LoadBalancers);
    const current = new Map(read.map((one) => [one.LoadBalancerArn, one]));
    const loadBalancers: ObservedLoadBalancer[] = [];
    for (const one of observed.loadBalancers) {
      const loadBalancer = current.get(one.loadBalancer.LoadBalancerArn);
      if (loadBalancer === undefined) return undefined;
      const { LoadBalancerArn } = loadBalancer;
      const isReserving = one.capacity?.CapacityReservationState.some(({ State }) => State.Code === 'pending') === true;
      const capacity = isReserving ? await cloud.call('elbv2:DescribeCapacityReservation', { LoadBalancerArn }) : one.capacity;
      loadBalancers.push({ ...one, loadBalancer, ...defined({ capacity }) });
    }
    const active = new Set(read.filter(({ State }) => State.Code !== 'provisioning').map(({ LoadBalancerArn }) => LoadBalancerArn));
    const targetGroups: ObservedTargetGroup[] = [];
    for (const one of observed.targetGroups) {
      const { TargetGroupArn, LoadBalancerArns: servers } = one.targetGroup;
      if (!servers.some((arn) => active.has(arn))) {
        targetGroups.push(one);
        continue;
      }
      const [answer] = await unlessMissing(async () => [await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn })]);
      if (answer === undefined) return undefined;
      targetGroups.push({ ...one, health: answer.TargetHealthDescriptions });
    }
    return { ...observed, loadBalancers, targetGroups };
  }
}

/** Returns as text the observed state without health and progress, which change by themselves. */
export function lastingState(observed: Observed): string {
  return JSON.stringify(observed, (key, value: unknown) => (key === 'health' || key === 'State' ? undefined : value));
}
