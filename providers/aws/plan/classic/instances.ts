import { limits } from '../../model/limits.ts';
import type { DesiredClassic } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedClassic } from '../../model/observed.ts';
import { isStaying, lastTargetsOf, waitForLastTargets, type LastTargets } from '../steps/last-targets.ts';
import { inBatches, planRegistration } from '../steps/registration.ts';
import type { Steps } from '../steps/steps.ts';

const states: Readonly<Record<string, 'healthy' | 'initial' | 'unhealthy'>> = {
  InService: 'healthy',
  OutOfService: 'unhealthy',
  Unknown: 'initial',
};

/** A Classic ELB that exists or that the plan creates. */
export interface ClassicInPlan {
  readonly name: string;
  /** Undefined: it does not exist yet. */
  readonly observed: ObservedClassic | undefined;
  /** The id of the action that creates it. */
  readonly needs?: string | undefined;
  /** Absent: all instances leave when none is wanted. */
  readonly last?: LastTargets | undefined;
  /** The name of its instances in ids of actions. */
  readonly what?: string;
}

export function lastTargetsOfClassic(
  { instances, refused = 0 }: Pick<DesiredClassic, 'instances' | 'refused'>,
  { loadBalancer, tags }: ObservedClassic,
  { lastTargets, now }: Pick<PlanInput, 'lastTargets' | 'now'>,
): LastTargets {
  return lastTargetsOf({ tags, wanted: instances.length + refused, registered: loadBalancer.Instances.length }, { ...lastTargets, now });
}

export function planClassicInstances(
  steps: Steps,
  { instances, departing }: Pick<DesiredClassic, 'instances' | 'departing'>,
  { name: LoadBalancerName, observed: current, needs, last, what = 'instances' }: ClassicInPlan,
  zoneOf: PlanInput['zoneOf'],
): void {
  const leaving = new Set(departing);
  const { register, deregister, othersServe, waiting, withoutRoom } = planRegistration<string>({
    desired: instances,
    registered: (current?.loadBalancer.Instances ?? []).map(({ InstanceId }) => ({
      target: InstanceId,
      state: states[current?.health.get(InstanceId) ?? 'Unknown'] ?? 'unhealthy',
    })),
    // AWS does not show draining instances of a Classic ELB.
    draining: [],
    keyOf: (id) => id,
    zoneOf,
    isDeparting: (id) => leaving.has(id),
    ...(last === undefined ? {} : { stays: (id: string) => isStaying(last, id) }),
    quota: limits.instancesPerClassic,
  });
  const list = (ids: readonly string[]): { InstanceId: string }[] => ids.map((InstanceId) => ({ InstanceId }));
  const deregistering = (after: readonly string[]): void => {
    for (const [index, batch] of inBatches(deregister).entries())
      steps.addAction(`${what}: deregister ${index + 1}`, 'elb:DeregisterInstancesFromLoadBalancer', {
        input: { LoadBalancerName, Instances: list(batch) },
        reason: `${batch.length} instances ${withoutRoom > 0 ? 'make room for new ones' : 'are no longer wanted'}`,
        needs: after,
      });
  };
  // A Classic ELB sends nothing to an instance that is out of service: it makes room first.
  const isFirst = deregister.every((id) => current?.health.get(id) === 'OutOfService');
  if (isFirst) deregistering([]);
  const registering = inBatches(register).map((batch, index) =>
    steps.addAction(`${what}: register ${index + 1}`, 'elb:RegisterInstancesWithLoadBalancer', {
      input: { LoadBalancerName, Instances: list(batch) },
      reason: `${batch.length} instances are not registered`,
      needs: [needs],
    }),
  );
  if (!isFirst) deregistering(othersServe ? [] : registering);
  if (withoutRoom > 0) steps.wait(`room for all instances: AWS takes ${limits.instancesPerClassic} on a Classic ELB`);
  if (waiting && instances.length === 0 && last !== undefined) waitForLastTargets(steps, LoadBalancerName, last);
  else if (waiting) steps.wait('new instances to take over from old ones');
}
