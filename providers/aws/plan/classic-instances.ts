import { limits } from '../limits.ts';
import type { DesiredClassic } from './desired.ts';
import type { ObservedClassic } from './observed.ts';
import { inBatches, planRegistration } from './register.ts';
import type { Steps } from './steps.ts';

const states: Readonly<Record<string, 'healthy' | 'initial' | 'unhealthy'>> = {
  InService: 'healthy',
  OutOfService: 'unhealthy',
  Unknown: 'initial',
};

export function planClassicInstances(
  steps: Steps,
  { instances, departing }: Pick<DesiredClassic, 'instances' | 'departing'>,
  current: ObservedClassic | undefined,
  LoadBalancerName: string,
  needs: string | undefined,
  what = 'instances',
): void {
  const leaving = new Set(departing);
  const { register, deregister, deregisterFirst, waiting } = planRegistration<string>({
    desired: instances,
    registered: (current?.loadBalancer.Instances ?? []).map(({ InstanceId }) => ({
      target: InstanceId,
      state: states[current?.health.get(InstanceId) ?? 'Unknown'] ?? 'unhealthy',
    })),
    keyOf: (id) => id,
    isDeparting: (id) => leaving.has(id),
    quota: limits.instancesPerClassic,
  });
  const list = (ids: readonly string[]): { InstanceId: string }[] => ids.map((InstanceId) => ({ InstanceId }));
  const registering = (after: readonly string[]): string[] =>
    inBatches(register).map((batch, index) =>
      steps.add(`${what}: register ${index + 1}`, 'elb:RegisterInstancesWithLoadBalancer', {
        input: { LoadBalancerName, Instances: list(batch) },
        reason: `${batch.length} instances are not registered`,
        needs: [needs, ...after],
      }),
    );
  const deregistering = (after: readonly string[], why: string): string[] =>
    inBatches(deregister).map((batch, index) =>
      steps.add(`${what}: deregister ${index + 1}`, 'elb:DeregisterInstancesFromLoadBalancer', {
        input: { LoadBalancerName, Instances: list(batch) },
        reason: `${batch.length} instances ${why}`,
        needs: after,
      }),
    );
  if (deregisterFirst) registering(deregistering([], 'leave first, there is no room for all'));
  else deregistering(registering([]), 'are no longer wanted');
  if (waiting) steps.wait('new instances to take over from old ones');
}
