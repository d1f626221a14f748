import type { DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedTargetGroup } from '../../model/observed.ts';
import { registeredTargets } from '../../observe/registered-targets.ts';
import type { PlanInput } from '../steps/input.ts';
import { lastTargetsOf, planLastTargetsTag, type LastTargets } from '../steps/last-targets.ts';
import type { Steps } from '../steps/steps.ts';
import { planTargets, type TargetsOfGroup } from './targets.ts';

/** The planner reads these, beside the group itself, to decide on the targets of an existing group. */
export type TargetsInput = Pick<PlanInput, 'zoneOf' | 'lastTargets' | 'now'>;

/** Undefined for a group in which others have targets: they may serve. */
export function lastTargetsOfGroup(
  { targets, refused = 0, shared }: Pick<DesiredTargetGroup, 'targets' | 'refused' | 'shared'>,
  observed: ObservedTargetGroup,
  { lastTargets, now }: TargetsInput,
): LastTargets | undefined {
  if (shared !== undefined) return undefined;
  const group = { tags: observed.tags, wanted: targets.length + refused, registered: registeredTargets(observed).length };
  return lastTargetsOf(group, { ...lastTargets, now });
}

/** Plans the targets of a group that otherwise stays as it is. */
export function planKeptGroup(steps: Steps, group: TargetsOfGroup, observed: ObservedTargetGroup, input: TargetsInput): void {
  const { zoneOf } = input;
  const last = lastTargetsOfGroup(group, observed, input);
  if (last === undefined) return planTargets(steps, group, observed, { zoneOf });
  planTargets(steps, group, observed, { zoneOf, last });
  const { TargetGroupArn, TargetGroupName } = observed.targetGroup;
  planLastTargetsTag(steps, `target group ${TargetGroupName}`, { ResourceArns: [TargetGroupArn] }, observed.tags, last);
}
