import type { DesiredTarget } from '../model/desired.ts';
import { resources, tagKeys } from '../model/tags.ts';
import type { Action } from './steps/action.ts';
import { currentClassic } from './classic/classic.ts';
import type { PlanInput } from './steps/input.ts';
import type { Observed, ObservedTargetGroup } from '../model/observed.ts';
import type { StackPlan } from './plan.ts';
import { planClassicInstances } from './classic/instances.ts';
import { planTargets } from './nlb/targets.ts';
import { Steps } from './steps/steps.ts';

/** What load balancers whose shape must not change, or which are being replaced, send to: groups and Classic ELBs that are there. */
export interface KeptTargets {
  readonly groups: readonly KeptGroup[];
  /** Absent: which instances is not known, or there is none. */
  readonly classic?: { readonly names: readonly string[]; readonly instances: readonly string[]; readonly departing: readonly string[] };
}

export interface KeptGroup {
  readonly arn: string;
  readonly key: string;
  readonly targetType: 'instance' | 'ip';
  readonly targets: readonly DesiredTarget[];
  readonly departing: readonly string[];
}

/** Registers and deregisters as ever, and changes nothing else. `observed`: what is the stack's own. */
export function planKeptTargets({ groups, classic }: KeptTargets, observed: Observed, zoneOf: PlanInput['zoneOf']): StackPlan {
  const steps = new Steps();
  for (const group of groups) {
    const there = observed.targetGroups.find(({ targetGroup }) => targetGroup.TargetGroupArn === group.arn);
    if (there !== undefined) planTargets(steps, group.arn, group, there, undefined, { zoneOf });
  }
  for (const name of classic?.names ?? []) {
    const there = observed.classic.find(({ loadBalancer }) => loadBalancer.LoadBalancerName === name);
    if (classic !== undefined && there !== undefined)
      planClassicInstances(steps, classic, there, name, undefined, zoneOf, `instances of ${name}`);
  }
  return { actions: steps.actions, waits: steps.waits, problems: [] };
}

/** Without what goes by these actions. */
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
 * Of what is the stack's own that which serves and is being replaced, so that the plan for what is desired does not tell it of its targets: Classic ELBs but the
 * wanted one, and groups of another type of targets, of another protocol, or of another kind of load balancer.
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
