import type { DesiredClassic, DesiredTargetGroup } from '../model/desired.ts';
import { resources, tagKeys } from '../model/tags.ts';
import type { Action } from './steps/action.ts';
import { currentClassic } from './classic/classic.ts';
import type { PlanInput } from './steps/input.ts';
import type { Observed, ObservedTargetGroup } from '../model/observed.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import type { StackPlan } from './plan.ts';
import { lastTargetsOfClassic, planClassicInstances } from './classic/instances.ts';
import { planKeptGroup, type TargetsInput } from './nlb/kept-group.ts';
import { planLastTargetsTag } from './steps/last-targets.ts';
import { Steps } from './steps/steps.ts';

/** The target groups and Classic ELBs whose targets stay current although their load balancers must not change or are being replaced. */
export interface KeptTargets {
  readonly groups: readonly KeptGroup[];
  /** Absent if there is no such Classic ELB, or if its instances are unknown. */
  readonly classic?: Pick<DesiredClassic, 'instances' | 'refused' | 'departing'> & { readonly names: readonly string[] };
}

export interface KeptGroup extends Pick<DesiredTargetGroup, 'key' | 'targets' | 'refused' | 'departing' | 'shared'> {
  readonly arn: string;
  readonly targetType: 'instance' | 'ip';
}

/** Plans only the registration of targets. `observed` contains the resources of this stack. */
export function planKeptTargets({ groups, classic }: KeptTargets, observed: Observed, input: TargetsInput): StackPlan {
  const steps = new Steps();
  for (const group of groups) {
    const there = observed.targetGroups.find(({ targetGroup }) => targetGroup.TargetGroupArn === group.arn);
    if (there !== undefined) planKeptGroup(steps, group, there, input);
  }
  for (const name of classic?.names ?? []) {
    const there = observed.classic.find(({ loadBalancer }) => loadBalancer.LoadBalancerName === name);
    if (classic === undefined || there === undefined) continue;
    const last = lastTargetsOfClassic(classic, there, input);
    planClassicInstances(steps, classic, { name, observed: there, what: `instances of ${name}`, last }, input.zoneOf);
    planLastTargetsTag(steps, name, { LoadBalancerNames: [name] }, there.tags, last);
  }
  return { actions: steps.actions, waits: steps.waits, problems: [] };
}

/** Removes the target groups and Classic ELBs that the actions delete. */
export function exceptRemoved(actions: readonly Action[], { groups, classic }: KeptTargets): KeptTargets {
  const going = new Set(
    actions.flatMap(({ operation, input }) => {
      if (operation === 'elbv2:DeleteTargetGroup') return [input.TargetGroupArn];
      return operation === 'elb:DeleteLoadBalancer' ? [input.LoadBalancerName] : [];
    }),
  );
  return {
    groups: groups.filter(({ arn }) => !going.has(arn)),
    ...(classic === undefined ? {} : { classic: { ...classic, names: classic.names.filter((name) => !going.has(name)) } }),
  };
}

/**
 * Returns the resources of the stack that still serve but are being replaced: Classic ELBs other than the desired one, and target groups
 * with another port, protocol or target type, or of the other kind of load balancer. The plan for the desired state does not update their
 * targets.
 */
export function replacedResources(own: Observed, input: PlanInput): Observed {
  const { desired } = input;
  const current = desired?.kind === 'classic' ? currentClassic({ ...input, desired })?.loadBalancer.LoadBalancerName : undefined;
  const wanted = desired?.kind === 'nlb' ? desired.targetGroups : [];
  const isWanted = ({ targetGroup, tags }: ObservedTargetGroup): boolean =>
    wanted.some(({ key, targetType }) => tags[tagKeys.resource] === resources.targetGroup(key) && targetType === targetGroup.TargetType);
  return {
    ...own,
    targetGroups: own.targetGroups.filter((group) => group.targetGroup.LoadBalancerArns.length > 0 && !isWanted(group)),
    classic: own.classic.filter(({ loadBalancer }) => loadBalancer.LoadBalancerName !== current),
  };
}

/** Returns the ids of the targets. */
export function keptStackTargets({ groups, classic }: KeptTargets): Omit<StackTargets, 'ports'> {
  const idsOf = (type: 'instance' | 'ip'): string[] =>
    groups.filter(({ targetType }) => targetType === type).flatMap(({ targets }) => targets.map(({ id }) => id));
  return { instances: [...new Set([...idsOf('instance'), ...(classic?.instances ?? [])])], addresses: [...new Set(idsOf('ip'))] };
}
