import type { DesiredNlb } from '../../model/desired.ts';
import { resources, tagKeys } from '../../model/tags.ts';
import { forwardingOf } from '../../cloud/forwarding.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer, ObservedTargetGroup } from '../../model/observed.ts';

type State = 'healthy' | 'pending';
type StatesByZone = ReadonlyMap<string, ReadonlySet<State>>;

/**
 * Decides which zones may be removed. Unless cross-zone load balancing is on, each zone sends only to its own targets, and AWS takes minutes
 * to check those of a new zone.
 */
export class ZoneReadiness {
  readonly #isActive: boolean;
  /** By port. */
  readonly #ports: readonly StatesByZone[];

  constructor(input: PlanInput<DesiredNlb>, { loadBalancer, listeners }: ObservedLoadBalancer) {
    const { desired, observed } = input;
    this.#isActive = loadBalancer.State.Code === 'active' || loadBalancer.State.Code === 'active_impaired';
    // Includes all existing listeners, also those of Services with errors.
    this.#ports = listeners.flatMap(({ listener }) => {
      const own = desired.listeners.find(({ port }) => port === listener.Port)?.targetGroup;
      const arns = forwardingOf(listener).groups;
      const groups = observed.targetGroups.filter(({ targetGroup }) => (arns.get(targetGroup.TargetGroupArn) ?? 0) > 0);
      return groups.map((group) => {
        const ofTag = desired.targetGroups.find(({ key }) => group.tags[tagKeys.resource] === resources.targetGroup(key));
        const wanted = ofTag ?? desired.targetGroups.find(({ key }) => key === own);
        return statesByZone(input, group, wanted?.targets ?? []);
      });
    });
  }

  /**
   * True if zones can be removed so that at most they stop serving. Every other zone must have healthy targets, or none that may become
   * healthy. A port keeps at least one zone with healthy targets. If no other zone can ever serve a port, the zones may be removed only if
   * they do not come back, because then the Service asks for it. `coming`: zones that are added afterwards.
   */
  canLeave(leaving: readonly string[], staying: readonly string[], coming: readonly string[]): boolean {
    if (!this.#isActive) return false;
    return this.#ports.every((states) => {
      const isServedIn = (zone: string): boolean => states.get(zone)?.has('healthy') === true;
      const isPendingIn = (zone: string): boolean => !isServedIn(zone) && states.get(zone)?.has('pending') === true;
      const isServedInAll = states.get('all')?.has('healthy') === true;
      if (isServedInAll || !leaving.some(isServedIn)) return true;
      if (staying.some(isPendingIn) || isPendingIn('all')) return false;
      return staying.some(isServedIn) || !coming.some((zone) => isServedIn(zone) || isPendingIn(zone));
    });
  }
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
