import type { Reason } from '../../../src/model/reasons.ts';
import type { Tags } from '../model/observed.ts';
import { isOurKey, tagMap } from '../model/tags.ts';
import type { Plan } from './steps/action.ts';
import { planClassic } from './classic/classic.ts';
import type { PlanInput } from './steps/input.ts';
import { planNlb } from './nlb/nlb.ts';
import { planRemovalOfClassic, planRemovalOfNlb } from './steps/retirement.ts';
import { removeTags, Steps, type TaggedResource } from './steps/steps.ts';
import { ownObserved } from '../model/own-resources.ts';

export interface StackPlan extends Plan {
  /** Problems that these actions alone do not solve. */
  readonly problems: readonly Reason[];
}

/**
 * Plans the actions that bring one stack from its observed to its desired state, in order. Repeated planning converges: after all actions
 * succeeded and all waits have passed, a plan has neither actions nor waits.
 */
export function planStack(given: PlanInput): StackPlan {
  const steps = new Steps();
  const { desired, observed, cluster, stack } = given;
  const own = ownObserved(observed, cluster, stack);
  if (desired === undefined) {
    planDeletion(steps, { ...given, observed: own });
    return { actions: steps.actions, waits: steps.waits, problems: steps.problems };
  }
  // A foreign load balancer with our desired name stays in the input. Foreign target groups are left out.
  const input = { ...given, observed: { ...observed, targetGroups: own.targetGroups } };
  if (desired.kind === 'nlb') planNlb(steps, { ...input, desired });
  else planClassic(steps, { ...input, desired });
  return { actions: steps.actions, waits: steps.waits, problems: steps.problems };
}

/** Plans the deletion of load balancers, then of the resources that they used. An adopted load balancer is disowned instead. */
function planDeletion(steps: Steps, input: PlanInput): void {
  const { observed } = input;
  const gone = [
    ...observed.loadBalancers.flatMap((one) => planRemovalOfNlb(steps, input, one)),
    ...observed.classic.flatMap((one) => planRemovalOfClassic(steps, one)),
    ...(observed.strayListeners ?? []).map(({ listener: { ListenerArn } }) =>
      steps.addAction(`${ListenerArn}: delete`, 'elbv2:DeleteListener', {
        input: { ListenerArn },
        reason: 'it remained on a load balancer that is no longer ours',
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
  if (steps.actions.length > 0) steps.wait('AWS to delete the remaining resources');
}

/** Removes our tags from all resources of the stack, so Herald no longer manages them. */
export function planDisown({ observed, cluster, stack }: PlanInput): StackPlan {
  const steps = new Steps();
  const { loadBalancers, targetGroups, classic, securityGroups, endpointServices = [] } = ownObserved(observed, cluster, stack);
  const disown = (what: string, resource: TaggedResource, tags: Tags): void => {
    const ours = Object.keys(tags).filter(isOurKey);
    if (ours.length > 0) removeTags(steps, `${what}: disown`, resource, ours, { reason: 'the Service disowns it' });
  };
  const disownArn = (arn: string, tags: Tags): void => disown(arn, { ResourceArns: [arn] }, tags);
  // First, because they are found only as long as the NLB has its mark.
  for (const { service, tags } of endpointServices)
    disown(`endpoint service ${service.ServiceName}`, { Resources: [service.ServiceId] }, tags);
  for (const { loadBalancer, tags, listeners } of loadBalancers) {
    for (const { listener, tags } of listeners) disownArn(listener.ListenerArn, tags);
    disownArn(loadBalancer.LoadBalancerArn, tags);
  }
  for (const { targetGroup, tags } of targetGroups) disownArn(targetGroup.TargetGroupArn, tags);
  for (const { loadBalancer, tags } of classic)
    disown(loadBalancer.LoadBalancerName, { LoadBalancerNames: [loadBalancer.LoadBalancerName] }, tags);
  for (const { GroupId, Tags } of securityGroups) disown(GroupId, { Resources: [GroupId] }, tagMap(Tags));
  return { actions: steps.actions, waits: steps.waits, problems: [] };
}
