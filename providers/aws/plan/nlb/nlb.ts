import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { isKnownAttribute } from '../../annotations/attribute-names.ts';
import { isOurs, resources, tagKeys } from '../../model/tags.ts';
import type { Action } from '../steps/action.ts';
import { reportForeignResource } from '../steps/foreign-resources.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import { planEndpointService } from './endpoint-service.ts';
import { forwardingOf } from '../../cloud/forwarding.ts';
import { planListeners } from './listeners.ts';
import { planLoadBalancer } from './load-balancer.ts';
import type { ObservedLoadBalancer } from '../../model/observed.ts';
import { planRetirement } from '../steps/retirement.ts';
import { planSecurityGroups } from '../steps/security-groups.ts';
import type { Steps } from '../steps/steps.ts';
import { planTargetGroups } from './target-groups.ts';

/** Returns the NLB that serves the stack now or will serve it. Undefined: it must be created. */
export function currentNlb({ desired, observed, cluster }: PlanInput<DesiredNlb>): ObservedLoadBalancer | undefined {
  if (desired.adopted !== undefined)
    return observed.loadBalancers.find(({ loadBalancer }) => loadBalancer.LoadBalancerArn === desired.adopted);
  const candidates = observed.loadBalancers.filter(
    ({ loadBalancer, tags }) =>
      isOurs(tags, cluster) &&
      tags[tagKeys.stack] === desired.stack &&
      tags[tagKeys.adopted] === undefined &&
      loadBalancer.Scheme === desired.scheme,
  );
  return candidates.toSorted((a, b) => (a.loadBalancer.LoadBalancerArn < b.loadBalancer.LoadBalancerArn ? -1 : 1))[0];
}

/** True for attributes that AWS may refuse. They are set before a load balancer is created, which costs money. */
function isUncertain({ operation, input }: Action): boolean {
  return operation === 'elbv2:ModifyTargetGroupAttributes' && input.Attributes.some(({ Key }) => !isKnownAttribute('targetGroup', Key));
}

/**
 * Plans in an order in which nothing refers to a resource that does not exist yet, and nothing is deleted that is still referred to:
 * security groups, target groups with targets, the load balancer, its listeners, then replaced resources.
 */
export function planNlb(steps: Steps, input: PlanInput<DesiredNlb>): void {
  if (reportForeignResource(steps, input)) return;
  const { observed, desired } = input;
  const current = currentNlb(input);
  const securityGroups = planSecurityGroups(steps, input);
  const { usable: groups, register } = planTargetGroups(steps, input, current?.loadBalancer.LoadBalancerArn);
  const uncertain = steps.actions.filter(isUncertain).map(({ id }) => id);
  const needs = [...securityGroups.needs, ...(current === undefined ? uncertain : [])];
  const loadBalancer = planLoadBalancer(steps, input, current, { ...securityGroups, needs });
  const { detached, serving } = planListeners(steps, input, loadBalancer, groups);
  register();
  const arn = current?.loadBalancer.LoadBalancerArn;
  const used = new Set([...[...groups.values()].map((group) => group.arn), ...serving]);
  for (const { targetGroup, tags } of observed.targetGroups) {
    const elsewhere = targetGroup.LoadBalancerArns.some((server) => server !== arn);
    if (used.has(targetGroup.TargetGroupArn) || elsewhere || desired.untouched.includes(tags[tagKeys.service] as ServiceKey)) continue;
    steps.addAction(`target group ${targetGroup.TargetGroupName}: delete`, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn: targetGroup.TargetGroupArn },
      reason: 'no listener uses it any more',
      needs: targetGroup.LoadBalancerArns.length > 0 ? detached : [],
      mayBeInUse: true,
    });
  }
  const serves = servesAlready(input, current);
  planEndpointService(steps, input, current, loadBalancer.tagged, serves);
  planRetirement(steps, input, { nlb: current, serves });
  securityGroups.narrow();
}

/** True if the load balancer is active and each listener with targets has a healthy one. Then its predecessor may be retired. */
export function servesAlready({ desired, observed }: PlanInput<DesiredNlb>, current: ObservedLoadBalancer | undefined): boolean {
  if (current?.loadBalancer.State.Code !== 'active') return false;
  return desired.listeners.every(({ port, targetGroup, weighted }) => {
    const listener = current.listeners.find((one) => one.listener.Port === port)?.listener;
    const arns = listener === undefined ? new Map<string, number>() : forwardingOf(listener).groups;
    const groups = observed.targetGroups.filter((one) => (arns.get(one.targetGroup.TargetGroupArn) ?? 0) > 0);
    // The health of target groups that Herald did not make is unknown.
    if (groups.length === 0) return weighted?.own === 0 && arns.size > 0;
    return groups.every(({ tags, health }) => {
      const ofTag = desired.targetGroups.find(({ key }) => tags[tagKeys.resource] === resources.targetGroup(key));
      const wanted = ofTag ?? desired.targetGroups.find(({ key }) => key === targetGroup);
      return wanted?.targets.length === 0 || health.some(({ TargetHealth }) => TargetHealth.State === 'healthy');
    });
  });
}
