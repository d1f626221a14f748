import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { tagKeys } from '../model/tags.ts';
import type { PlanInput } from './steps/input.ts';
import type { ObservedListener } from '../model/observed.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { StackPlan } from './plan.ts';
import { Steps } from './steps/steps.ts';

/**
 * Plans the removal of one Service's part from a load balancer and changes nothing else. It is used when the desired state of the rest is
 * unknown, or when other Services still need the load balancer.
 */
export function planRelease({ observed, cluster, stack }: PlanInput, service: ServiceKey): StackPlan {
  const steps = new Steps();
  const { loadBalancers, targetGroups, strayListeners = [] } = ownObserved(observed, cluster, stack);
  const belongsToService = ({ tags }: { readonly tags: Readonly<Record<string, string>> }): boolean => tags[tagKeys.service] === service;
  const remove = (what: string, { listener: { ListenerArn } }: Pick<ObservedListener, 'listener'>): string =>
    steps.addAction(`${what}: delete`, 'elbv2:DeleteListener', { input: { ListenerArn }, reason: `${service} no longer uses it` });
  const gone = [
    ...loadBalancers.flatMap(({ listeners, loadBalancer }) =>
      listeners.filter(belongsToService).map((one) => remove(`${loadBalancer.LoadBalancerName} listener ${one.listener.Port}`, one)),
    ),
    ...strayListeners.filter(belongsToService).map((one) => remove(one.listener.ListenerArn, one)),
  ];
  for (const { targetGroup } of targetGroups.filter(belongsToService)) {
    const { TargetGroupArn, TargetGroupName } = targetGroup;
    steps.addAction(`target group ${TargetGroupName}: delete`, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn },
      reason: `${service} no longer uses it`,
      needs: targetGroup.LoadBalancerArns.length > 0 ? gone : [],
      mayBeInUse: true,
    });
  }
  return { actions: steps.actions, waits: steps.waits, problems: steps.problems };
}
