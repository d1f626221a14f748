import { defined } from '../../../../src/lang/defined.ts';
import type { TargetDescription, TargetHealthDescription } from '../../cloud/elbv2.ts';
import { limits } from '../../model/limits.ts';
import type { DesiredTarget, DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedTargetGroup } from '../../model/observed.ts';
import { inBatches, planRegistration, type Registered } from '../steps/registration.ts';
import type { Steps } from '../steps/steps.ts';

/** The zones of targets, and the zones of the load balancer now or in future. */
interface TargetZones {
  /** Returns the zone of a target id. Undefined: unknown, or outside of the VPC. */
  readonly zoneOf: (id: string) => string | undefined;
  /** Zones to which the load balancer sends. Undefined: unknown, so a target outside of its present zones may be served later. */
  readonly served?: ReadonlySet<string>;
}

/**
 * Plans which targets of one group are registered and deregistered. If `arn` is a placeholder, `needs` is the action that creates the
 * group.
 */
export function planTargets(
  steps: Steps,
  arn: string,
  { key, targets, departing }: Pick<DesiredTargetGroup, 'key' | 'targets' | 'departing'>,
  observed: ObservedTargetGroup | undefined,
  needs: string | undefined,
  zones: TargetZones,
): void {
  const leaving = new Set(departing);
  const health = observed?.health ?? [];
  const isAttached = observed !== undefined && observed.targetGroup.LoadBalancerArns.length > 0;
  const quota = limits.targetsPerTargetGroup;
  const { register, deregister, othersServe, waiting, withoutRoom } = planRegistration<DesiredTarget>({
    desired: targets,
    registered: health.flatMap((one) => registered(one, isAttached, zones)),
    draining: health.flatMap(({ Target, TargetHealth }) => (TargetHealth.State === 'draining' ? [targetOf(Target)] : [])),
    keyOf: ({ id, port }) => `${id} ${port}`,
    zoneOf: ({ id }) => zones.zoneOf(id),
    isDeparting: ({ id }) => leaving.has(id),
    quota,
  });
  // A replaced group keeps its key until it is deleted. Its name tells the two apart.
  const what = `targets ${key}${observed === undefined ? '' : ` ${observed.targetGroup.TargetGroupName}`}`;
  const registering = inBatches(register).map((batch, index) =>
    steps.addAction(`${what}: register ${index + 1}`, 'elbv2:RegisterTargets', {
      input: { TargetGroupArn: arn, Targets: batch.map(description) },
      reason: `${batch.length} targets are not registered`,
      needs: [needs],
    }),
  );
  for (const [index, batch] of inBatches(deregister).entries())
    steps.addAction(`${what}: deregister ${index + 1}`, 'elbv2:DeregisterTargets', {
      input: { TargetGroupArn: arn, Targets: batch.map(description) },
      reason: `${batch.length} targets ${withoutRoom > 0 ? 'make room for new ones' : 'are no longer wanted'}`,
      needs: othersServe ? [] : registering,
    });
  if (withoutRoom > 0) steps.wait(`room for all targets of ${key}: AWS takes ${quota} in a target group, including draining ones`);
  if (waiting) steps.wait(`new targets of ${key} to take over from old ones`);
  else if (health.some(({ TargetHealth }) => TargetHealth.State === 'initial')) steps.wait(`targets of ${key} to become healthy`);
}

function registered(
  { Target, TargetHealth }: TargetHealthDescription,
  isAttached: boolean,
  zones: TargetZones,
): Registered<DesiredTarget>[] {
  const target = targetOf(Target);
  switch (TargetHealth.State) {
    case 'draining':
      return [];
    case 'healthy':
    case 'initial':
      return [{ target, state: TargetHealth.State }];
    case 'unhealthy':
    case 'unavailable':
      return [{ target, state: 'unhealthy' }];
    // AWS does not check such a target: no listener forwards to the group, or the load balancer is not in the target's zone.
    case 'unused': {
      const mayBeServed = isAttached && TargetHealth.Reason === 'Target.NotInUse' && isServed(zones.zoneOf(target.id), zones);
      return [{ target, state: mayBeServed ? 'initial' : 'unhealthy' }];
    }
  }
}

function isServed(zone: string | undefined, { served }: TargetZones): boolean {
  return served === undefined || (zone !== undefined && served.has(zone));
}

function targetOf({ Id, Port, AvailabilityZone }: TargetDescription): DesiredTarget {
  return { id: Id, port: Port, ...(AvailabilityZone === 'all' ? { availabilityZone: 'all' as const } : {}) };
}

function description({ id, port, availabilityZone }: DesiredTarget): { Id: string; Port: number; AvailabilityZone?: string } {
  return { Id: id, Port: port, ...defined({ AvailabilityZone: availabilityZone }) };
}
