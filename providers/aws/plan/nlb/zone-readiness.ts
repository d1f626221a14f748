import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer, ObservedTargetGroup } from '../../model/observed.ts';

/** A change of zones, by zone names. */
export interface ZoneChange {
  readonly leaving: readonly string[];
  readonly staying: readonly string[];
  /** New zones, and zones that return with another subnet or address. */
  readonly coming: readonly string[];
}

type State = 'healthy' | 'pending';

/**
 * True if zones can be removed without leaving a port without healthy targets. Unless cross-zone load balancing is on, each zone sends only
 * to its own targets, and AWS takes minutes to check those of a new zone. A port waits as long as a target in the remaining zones may still
 * become healthy.
 */
export function canLeaveZones(input: PlanInput<DesiredNlb>, { listeners }: ObservedLoadBalancer, change: ZoneChange): boolean {
  const { desired } = input;
  // Checks all existing listeners, including those of Services with errors.
  return listeners.every(({ listener: { Port, DefaultActions } }) => {
    const arn = DefaultActions[0]?.TargetGroupArn;
    const group = input.observed.targetGroups.find(({ targetGroup }) => targetGroup.TargetGroupArn === arn);
    if (group === undefined) return true;
    const key = desired.listeners.find(({ port }) => port === Port)?.targetGroup;
    const wanted = desired.targetGroups.find((one) => one.key === key)?.targets ?? [];
    const states = statesByZone(input, group, wanted);
    const has = (zones: readonly string[], state: State): boolean =>
      zones.some((zone) => states.get(zone)?.has(state) === true) || states.get('all')?.has(state) === true;
    if (!has(change.leaving, 'healthy') || has(change.staying, 'healthy')) return true;
    return !has([...change.staying, ...change.coming], 'pending') && !has(change.coming, 'healthy');
  });
}

/** Groups target states by zone. A target is pending if its health is unknown, also if it is not registered yet. */
function statesByZone(
  { zoneOf }: PlanInput,
  { health }: ObservedTargetGroup,
  wanted: DesiredNlb['targetGroups'][number]['targets'],
): ReadonlyMap<string, ReadonlySet<State>> {
  const states = new Map<string, Set<State>>();
  const note = (zone: string | undefined, state: State): void => {
    if (zone !== undefined) states.set(zone, (states.get(zone) ?? new Set()).add(state));
  };
  for (const { Target, TargetHealth } of health) {
    const zone = Target.AvailabilityZone === 'all' ? 'all' : zoneOf(Target.Id);
    if (TargetHealth.State === 'healthy') note(zone, 'healthy');
    else if (TargetHealth.State === 'initial' || TargetHealth.Reason === 'Target.NotInUse') note(zone, 'pending');
  }
  // A draining target that is still wanted will be registered again, so it counts as pending.
  const known = new Set(
    health.filter(({ TargetHealth }) => TargetHealth.State !== 'draining').map(({ Target }) => `${Target.Id} ${Target.Port}`),
  );
  for (const { id, port, availabilityZone } of wanted)
    if (!known.has(`${id} ${port}`)) note(availabilityZone === 'all' ? 'all' : zoneOf(id), 'pending');
  return states;
}
