import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer, ObservedTargetGroup } from '../../model/observed.ts';

/** Zones of a load balancer, by their names. */
export interface ZoneChange {
  readonly leaving: readonly string[];
  readonly staying: readonly string[];
  /** Those that come: new ones, and those that come back with another subnet or another address. */
  readonly coming: readonly string[];
}

type State = 'healthy' | 'pending';

/**
 * Whether zones can be left without leaving a port without targets: unless traffic crosses zones, a load balancer sends from each to the targets there alone,
 * and AWS takes minutes to check those of a new zone. A port waits for as long as a target in the zones that remain may become healthy.
 */
export function canLeaveZones(input: PlanInput<DesiredNlb>, { listeners }: ObservedLoadBalancer, change: ZoneChange): boolean {
  const { desired } = input;
  // Those that are there, with the ones of Services about which something is wrong.
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

/** Healthy, or not known to be so or not. What is not registered yet is not known either. */
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
  // One that is draining is registered again.
  const known = new Set(
    health.filter(({ TargetHealth }) => TargetHealth.State !== 'draining').map(({ Target }) => `${Target.Id} ${Target.Port}`),
  );
  for (const { id, port, availabilityZone } of wanted)
    if (!known.has(`${id} ${port}`)) note(availabilityZone === 'all' ? 'all' : zoneOf(id), 'pending');
  return states;
}
