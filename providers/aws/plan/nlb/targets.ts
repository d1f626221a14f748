import { defined } from '../../../../src/lang/defined.ts';
import type { TargetDescription, TargetHealthDescription } from '../../cloud/elbv2.ts';
import { limits } from '../../model/limits.ts';
import type { DesiredTarget, DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedTargetGroup } from '../../model/observed.ts';
import { isMineIn, recordKeyOf } from '../../model/targets/target-record.ts';
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
  { key, targets, departing, shared }: Pick<DesiredTargetGroup, 'key' | 'targets' | 'departing' | 'shared'>,
  observed: ObservedTargetGroup | undefined,
  needs: string | undefined,
  zones: TargetZones,
): void {
  const leaving = new Set(departing);
  const ids = new Map(targets.map(({ id, port, quicServerId }) => [`${id} ${port}`, quicServerId]));
  const isMine = shared === undefined ? () => true : isMineIn({ shared, targets });
  // A server id that AWS does not show counts as the right one.
  const own = (observed?.health ?? []).filter(({ Target: { Id, Port } }) => isMine(recordKeyOf({ id: Id, port: Port })));
  const health = own.map((one) => {
    const { Id, Port, QuicServerId = ids.get(`${Id} ${Port}`) } = one.Target;
    return { ...one, Target: { ...one.Target, ...defined({ QuicServerId }) } };
  });
  const isAttached = observed !== undefined && observed.targetGroup.LoadBalancerArns.length > 0;
  const quota = limits.targetsPerTargetGroup;
  const wanted = new Set(targets.flatMap(exclusiveKeys));
  const isInTheWay = (target: DesiredTarget): boolean => exclusiveKeys(target).some((key) => wanted.has(key));
  const { register, deregister, othersServe, waiting, withoutRoom } = planRegistration<DesiredTarget>({
    desired: targets,
    registered: health.flatMap((one) => registered(one, isAttached, zones)),
    draining: health.flatMap(({ Target, TargetHealth }) => (TargetHealth.State === 'draining' ? [targetOf(Target)] : [])),
    keyOf: ({ id, port, quicServerId = '' }) => `${id} ${port} ${quicServerId}`,
    zoneOf: ({ id }) => zones.zoneOf(id),
    isDeparting: ({ id }) => leaving.has(id),
    isInTheWay,
    quota,
  });
  // A replaced group keeps its key until it is deleted. Its name tells the two apart.
  const what = `targets ${key}${observed === undefined ? '' : ` ${observed.targetGroup.TargetGroupName}`}`;
  const addRegistration = (name: string, batch: readonly DesiredTarget[], after: readonly (string | undefined)[]): string =>
    steps.addAction(`${what}: register ${name}`, 'elbv2:RegisterTargets', {
      input: { TargetGroupArn: arn, Targets: batch.map(description) },
      reason: `${batch.length} targets are not registered`,
      needs: after,
    });
  const addDeregistration = (name: string, batch: readonly DesiredTarget[], why: string, after: readonly string[]): string =>
    steps.addAction(`${what}: deregister ${name}`, 'elbv2:DeregisterTargets', {
      input: { TargetGroupArn: arn, Targets: batch.map(description) },
      reason: `${batch.length} targets ${why}`,
      needs: after,
    });
  const inTheWay = deregister.filter(isInTheWay);
  const taken = new Set(health.flatMap(({ Target }) => exclusiveKeys(targetOf(Target))));
  const isTaken = (target: DesiredTarget): boolean => exclusiveKeys(target).some((key) => taken.has(key));
  const why = 'have a server id or an address that a new target needs';
  const cleared = inBatches(inTheWay).map((batch, index) => addDeregistration(`replaced ${index + 1}`, batch, why, []));
  const registering = inBatches(register.filter((one) => !isTaken(one))).map((batch, index) =>
    addRegistration(`${index + 1}`, batch, [needs]),
  );
  // Apart from the others: while a target drains, AWS may refuse its successor.
  for (const [index, batch] of inBatches(register.filter(isTaken)).entries()) addRegistration(`replacing ${index + 1}`, batch, cleared);
  const surplus = withoutRoom > 0 ? 'make room for new ones' : 'are no longer wanted';
  for (const [index, batch] of inBatches(deregister.filter((one) => !inTheWay.includes(one))).entries())
    addDeregistration(`${index + 1}`, batch, surplus, othersServe ? [] : registering);
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

function targetOf({ Id, Port, AvailabilityZone, QuicServerId }: TargetDescription): DesiredTarget {
  const zone = AvailabilityZone === 'all' ? { availabilityZone: 'all' as const } : {};
  return { id: Id, port: Port, ...zone, ...defined({ quicServerId: QuicServerId }) };
}

function description({ id, port, availabilityZone, quicServerId }: DesiredTarget): TargetDescription {
  return { Id: id, Port: port, ...defined({ AvailabilityZone: availabilityZone, QuicServerId: quicServerId }) };
}

/** Returns the keys of a target with a server id that AWS allows only once: address and port, and the server id in its listener. */
function exclusiveKeys({ id, port, quicServerId }: DesiredTarget): string[] {
  return quicServerId === undefined ? [] : [`${id} ${port}`, quicServerId];
}
