import type { TargetHealthDescription } from '../cloud/elbv2.ts';
import { limits } from '../limits.ts';
import type { DesiredTarget, DesiredTargetGroup } from './desired.ts';
import type { ObservedTargetGroup } from './observed.ts';
import { inBatches, planRegistration, type Registered } from './register.ts';
import type { Steps } from './steps.ts';

/** Registers and deregisters targets of one group. `arn` may be a placeholder; `needs` is then what creates it. */
export function planTargets(
  steps: Steps,
  arn: string,
  { key, targets, departing }: Pick<DesiredTargetGroup, 'key' | 'targets' | 'departing'>,
  observed: ObservedTargetGroup | undefined,
  needs: string | undefined,
): void {
  const leaving = new Set(departing);
  const { register, deregister, deregisterFirst, waiting } = planRegistration<DesiredTarget>({
    desired: targets,
    registered: (observed?.health ?? []).flatMap(registered),
    keyOf: ({ id, port }) => `${id} ${port}`,
    isDeparting: ({ id }) => leaving.has(id),
    quota: limits.targetsPerTargetGroup,
  });
  // A replaced group keeps its key until it is gone: the ARN tells them apart.
  const what = `targets ${key}${observed === undefined ? '' : ` ${observed.targetGroup.TargetGroupName}`}`;
  const registering = (after: readonly string[]): string[] =>
    inBatches(register).map((batch, index) =>
      steps.add(`${what}: register ${index + 1}`, 'elbv2:RegisterTargets', {
        input: { TargetGroupArn: arn, Targets: batch.map(description) },
        reason: `${batch.length} targets are not registered`,
        needs: [needs, ...after],
      }),
    );
  const deregistering = (after: readonly string[], reason: string): string[] =>
    inBatches(deregister).map((batch, index) =>
      steps.add(`${what}: deregister ${index + 1}`, 'elbv2:DeregisterTargets', {
        input: { TargetGroupArn: arn, Targets: batch.map(description) },
        reason: `${batch.length} targets ${reason}`,
        needs: after,
      }),
    );
  if (deregisterFirst) registering(deregistering([], 'leave first, there is no room for all'));
  else deregistering(registering([]), 'are no longer wanted');
  if (waiting) steps.wait(`new targets of ${key} to take over from old ones`);
  else if ((observed?.health ?? []).some(({ TargetHealth }) => TargetHealth.State === 'initial'))
    steps.wait(`targets of ${key} to become healthy`);
}

/** A target without a load balancer is registered, but nobody looks at its health. */
function registered({ Target, TargetHealth }: TargetHealthDescription): Registered<DesiredTarget>[] {
  const target = { id: Target.Id, port: Target.Port, ...(Target.AvailabilityZone === 'all' ? { availabilityZone: 'all' as const } : {}) };
  switch (TargetHealth.State) {
    case 'draining':
      return [];
    case 'healthy':
    case 'initial':
      return [{ target, state: TargetHealth.State }];
    // unused: not attached, so that nothing can be lost.
    case 'unhealthy':
    case 'unavailable':
    case 'unused':
      return [{ target, state: 'unhealthy' }];
  }
}

function description({ id, port, availabilityZone }: DesiredTarget): { Id: string; Port: number; AvailabilityZone?: string } {
  return { Id: id, Port: port, ...(availabilityZone === undefined ? {} : { AvailabilityZone: availabilityZone }) };
}
