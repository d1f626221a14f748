import type { Reason } from '../../../src/model/reasons.ts';
import { isOurKey } from '../model/tags.ts';
import type { Plan } from './steps/action.ts';
import { planClassic } from './classic/classic.ts';
import type { PlanInput } from './steps/input.ts';
import { planNlb } from './nlb/nlb.ts';
import { planRemovalOfClassic, planRemovalOfNlb } from './steps/retirement.ts';
import { Steps } from './steps/steps.ts';
import { ownObserved } from '../model/own-resources.ts';

export interface StackPlan extends Plan {
  /** What is not as it should be, and will not become so by these actions alone. */
  readonly problems: readonly Reason[];
}

/**
 * The actions that bring one stack from what it is to what it shall be, in order. From the result of a plan that was carried out in
 * full, and with time for what it waits for, the next plans come to an end: then there is no action and no wait.
 */
export function planStack(given: PlanInput): StackPlan {
  const steps = new Steps();
  const { desired, observed, cluster, stack } = given;
  const own = ownObserved(observed, cluster, stack);
  if (desired === undefined) {
    planDeletion(steps, { ...given, observed: own });
    return { actions: steps.actions, waits: steps.waits, problems: steps.problems };
  }
  // What has the name that ours would have is looked at, but target groups of others are of no interest.
  const input = { ...given, observed: { ...observed, targetGroups: own.targetGroups } };
  if (desired.kind === 'nlb') planNlb(steps, { ...input, desired });
  else planClassic(steps, { ...input, desired });
  return { actions: steps.actions, waits: steps.waits, problems: steps.problems };
}

/** Load balancers first, then what they use. What is given to us is let go. */
function planDeletion(steps: Steps, input: PlanInput): void {
  const { observed } = input;
  const gone = [
    ...observed.loadBalancers.flatMap((one) => planRemovalOfNlb(steps, input, one)),
    ...observed.classic.flatMap((one) => planRemovalOfClassic(steps, one)),
    ...(observed.strayListeners ?? []).map(({ listener: { ListenerArn } }) =>
      steps.addAction(`${ListenerArn}: delete`, 'elbv2:DeleteListener', {
        input: { ListenerArn },
        reason: 'it was left on a load balancer that is not ours any more',
      }),
    ),
  ];
  const kept = steps.problems.length > 0;
  const planned = new Set(steps.actions.map(({ id }) => id));
  for (const { targetGroup } of observed.targetGroups) {
    const id = `target group ${targetGroup.TargetGroupName}: delete`;
    if (planned.has(id) || (kept && targetGroup.LoadBalancerArns.length > 0)) continue;
    const TargetGroupArn = targetGroup.TargetGroupArn;
    steps.addAction(id, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn },
      reason: 'no Service uses it',
      needs: gone,
      mayBeInUse: true,
    });
  }
  for (const { GroupId } of kept ? [] : observed.securityGroups) {
    steps.addAction(`security group ${GroupId}: delete`, 'ec2:DeleteSecurityGroup', {
      input: { GroupId },
      reason: 'no load balancer uses it',
      needs: gone,
      mayBeInUse: true,
    });
  }
  if (steps.actions.length > 0) steps.wait('AWS to delete what is left');
}

/** Takes our tags off everything: from then on it is not ours. */
export function planDisown({ observed, cluster, stack }: PlanInput): StackPlan {
  const steps = new Steps();
  const { loadBalancers, targetGroups, classic, securityGroups } = ownObserved(observed, cluster, stack);
  const tagged = [
    ...loadBalancers.flatMap(({ loadBalancer, tags, listeners }) => [
      ...listeners.map(({ listener, tags }) => ({ arn: listener.ListenerArn, tags })),
      { arn: loadBalancer.LoadBalancerArn, tags },
    ]),
    ...targetGroups.map(({ targetGroup, tags }) => ({ arn: targetGroup.TargetGroupArn, tags })),
  ];
  const why = { reason: 'the Service disowns it' };
  for (const { arn, tags } of tagged) {
    const TagKeys = Object.keys(tags).filter(isOurKey);
    if (TagKeys.length > 0) steps.addAction(`${arn}: let go`, 'elbv2:RemoveTags', { input: { ResourceArns: [arn], TagKeys }, ...why });
  }
  for (const { loadBalancer, tags } of classic) {
    const Tags = Object.keys(tags)
      .filter(isOurKey)
      .map((Key) => ({ Key }));
    const name = loadBalancer.LoadBalancerName;
    if (Tags.length > 0) steps.addAction(`${name}: let go`, 'elb:RemoveTags', { input: { LoadBalancerNames: [name], Tags }, ...why });
  }
  for (const { GroupId, Tags } of securityGroups) {
    const ours = Tags.filter(({ Key }) => isOurKey(Key)).map(({ Key }) => ({ Key }));
    if (ours.length > 0) steps.addAction(`${GroupId}: let go`, 'ec2:DeleteTags', { input: { Resources: [GroupId], Tags: ours }, ...why });
  }
  return { actions: steps.actions, waits: steps.waits, problems: [] };
}
