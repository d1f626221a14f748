import { defined } from '../../../../src/lang/defined.ts';
import type { TargetDescription, TargetHealthDescription } from '../../cloud/elbv2.ts';
import { limits } from '../../model/limits.ts';
import type { DesiredTarget, DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedTargetGroup } from '../../model/observed.ts';
import { isMineIn, recordKeyOf } from '../../model/targets/target-record.ts';
import { acrossZones, inBatches, planRegistration, type Registered } from '../steps/registration.ts';
import type { Action } from '../steps/action.ts';
import { isStaying, waitForLastTargets, type LastTargets } from '../steps/last-targets.ts';
import type { Steps } from '../steps/steps.ts';

/** The zones of targets, and the zones of the load balancer now or in future. */
export interface TargetZones {
  /** Returns the zone of a target id. Undefined: unknown, or outside of the VPC. */
  readonly zoneOf: (id: string) => string | undefined;
  /** Zones to which the load balancer sends. Undefined: unknown, so a target outside of its present zones may be served later. */
  readonly served?: ReadonlySet<string>;
  /** Absent: all targets leave when none is wanted. */
  readonly last?: LastTargets;
  /** Targets in one call. Absent: as many as AWS takes. */
  readonly batch?: number;
}

export interface TargetsOfGroup extends Pick<DesiredTargetGroup, 'key' | 'targets' | 'refused' | 'departing' | 'shared'> {
  /** May be a placeholder. */
  readonly arn: string;
}

/**
 * Plans which targets of one group are registered and deregistered. `needs`: the action that creates the group. Absent: the group exists.
 */
export function planTargets(
  steps: Steps,
  group: TargetsOfGroup,
  observed: ObservedTargetGroup | undefined,
  zones: TargetZones,
  needs?: string,
): void {
  const { arn, key, targets, departing } = group;
  const leaving = new Set(departing);
  const health = ownHealth(group, observed);
  const isAttached = observed !== undefined && observed.targetGroup.LoadBalancerArns.length > 0;
  const { last } = zones;
  const quota = limits.targetsPerTargetGroup;
  const wanted = new Set(targets.flatMap(exclusiveKeys));
  const isInTheWay = (target: DesiredTarget): boolean => exclusiveKeys(target).some((key) => wanted.has(key));
  const registration = planRegistration<DesiredTarget>({
    desired: targets,
    registered: health.flatMap((one) => registered(one, isAttached, zones)),
    draining: health.flatMap(({ Target, TargetHealth }) => (TargetHealth.State === 'draining' ? [targetOf(Target)] : [])),
    keyOf: ({ id, port, quicServerId = '' }) => `${id} ${port} ${quicServerId}`,
    zoneOf: ({ id }) => zones.zoneOf(id),
    isDeparting: ({ id }) => leaving.has(id),
    isInTheWay,
    ...(last === undefined ? {} : { stays: ({ id }) => isStaying(last, id) }),
    quota,
  });
  // A replaced group keeps its key until it is deleted. Its name tells the two apart.
  const what = `targets ${key}${observed === undefined ? '' : ` ${observed.targetGroup.TargetGroupName}`}`;
  addChanges(new TargetChanges(steps, what, arn), registration, { zones, health, isInTheWay, needs });
  const { waiting, withoutRoom } = registration;
  if (withoutRoom > 0) steps.wait(`room for all targets of ${key}: AWS takes ${quota} in a target group, including draining ones`);
  if (waiting && targets.length === 0 && last !== undefined) waitForLastTargets(steps, key, last);
  else if (waiting) steps.wait(`new targets of ${key} to take over from old ones`);
  else if (health.some(({ TargetHealth }) => TargetHealth.State === 'initial')) steps.wait(`targets of ${key} to become healthy`);
}

interface Situation {
  readonly zones: TargetZones;
  readonly health: readonly TargetHealthDescription[];
  readonly isInTheWay: (target: DesiredTarget) => boolean;
  readonly needs: string | undefined;
}

function addChanges(
  changes: TargetChanges,
  { register, deregister, othersServe, withoutRoom }: ReturnType<typeof planRegistration<DesiredTarget>>,
  { zones, health, isInTheWay, needs }: Situation,
): void {
  const inTheWay = deregister.filter(isInTheWay);
  const taken = new Set(health.flatMap(({ Target }) => exclusiveKeys(targetOf(Target))));
  const isTaken = (target: DesiredTarget): boolean => exclusiveKeys(target).some((key) => taken.has(key));
  const cleared = changes.deregister('replaced', inTheWay, 'have a server id or an address that a new target needs');
  const surplus = withoutRoom > 0 ? 'make room for new ones' : 'are no longer wanted';
  const idle = new Set(health.filter((one) => isIdle(one, zones)).map(({ Target }) => `${Target.Id} ${Target.Port}`));
  const others = deregister.filter((one) => !inTheWay.includes(one));
  // AWS sends nothing to them, or others serve, and all new targets may exceed a quota: they make room first.
  const first = others.filter(({ id, port }) => idle.has(`${id} ${port}`) || (othersServe && zones.batch !== undefined));
  changes.deregister('first', first, surplus);
  const spread = zones.batch === undefined ? register : acrossZones(register, ({ id }) => zones.zoneOf(id));
  const fresh = spread.filter((one) => !isTaken(one));
  const registering = changes.register('', fresh, [needs], zones.batch);
  // Apart from the others: while a target drains, AWS may refuse its successor.
  changes.register('replacing ', register.filter(isTaken), cleared);
  const last = others.filter((one) => !first.includes(one));
  changes.deregister('', last, surplus, { needs: othersServe ? [] : registering });
  const isDraining = health.some(({ TargetHealth }) => TargetHealth.State === 'draining');
  if (othersServe || registering.length === 0 || isDraining) return;
  // When no target is healthy, AWS sends to all of them: most stay until a new one has come.
  const few = last.slice(0, Math.ceil(last.length / 5));
  changes.deregister('to make room', few, 'make room for new ones', { instead: { of: registering, codes: ['quota'] } });
}

/** Adds the calls that change the targets of one group, and returns the ids of the actions. */
class TargetChanges {
  readonly #steps: Steps;
  readonly #what: string;
  readonly #arn: string;

  constructor(steps: Steps, what: string, arn: string) {
    this.#steps = steps;
    this.#what = what;
    this.#arn = arn;
  }

  register(name: string, targets: readonly DesiredTarget[], needs: readonly (string | undefined)[], size?: number): string[] {
    return inBatches(targets, size).map((batch, index) =>
      this.#steps.addAction(`${this.#what}: register ${name}${index + 1}`, 'elbv2:RegisterTargets', {
        input: { TargetGroupArn: this.#arn, Targets: batch.map(description) },
        reason: `${batch.length} targets are not registered`,
        needs,
      }),
    );
  }

  deregister(
    name: string,
    targets: readonly DesiredTarget[],
    why: string,
    order: Pick<Partial<Action>, 'needs' | 'instead'> = {},
  ): string[] {
    return inBatches(targets).map((batch, index) =>
      this.#steps.addAction(`${this.#what}: deregister ${name}${name === '' ? '' : ' '}${index + 1}`, 'elbv2:DeregisterTargets', {
        input: { TargetGroupArn: this.#arn, Targets: batch.map(description) },
        reason: `${batch.length} targets ${why}`,
        ...order,
      }),
    );
  }
}

/** The health of the targets that Herald may deregister. A server id that AWS does not show counts as the right one. */
function ownHealth({ targets, shared }: TargetsOfGroup, observed: ObservedTargetGroup | undefined): TargetHealthDescription[] {
  const ids = new Map(targets.map(({ id, port, quicServerId }) => [`${id} ${port}`, quicServerId]));
  const isMine = shared === undefined ? () => true : isMineIn({ shared, targets });
  const own = (observed?.health ?? []).filter(({ Target: { Id, Port } }) => isMine(recordKeyOf({ id: Id, port: Port })));
  return own.map((one) => {
    const { Id, Port, QuicServerId = ids.get(`${Id} ${Port}`) } = one.Target;
    return { ...one, Target: { ...one.Target, ...defined({ QuicServerId }) } };
  });
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

/** True if AWS does not send to the target, whatever the health of others is. */
function isIdle({ Target, TargetHealth: { State, Reason } }: TargetHealthDescription, zones: TargetZones): boolean {
  return State === 'unused' && !(Reason === 'Target.NotInUse' && isServed(zones.zoneOf(Target.Id), zones));
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

/** Returns the properties that AWS allows only one target with a server id at a time: its address with its port, and the server id. */
function exclusiveKeys({ id, port, quicServerId }: DesiredTarget): string[] {
  return quicServerId === undefined ? [] : [`${id} ${port}`, quicServerId];
}
