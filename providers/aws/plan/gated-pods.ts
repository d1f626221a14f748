import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { CheckedTargets } from '../model/circumstances.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { PlanInput } from './steps/input.ts';
import type { GatedPod } from '../model/pods.ts';
import { tagKeys } from '../model/tags.ts';
import type { Action, Wait } from './steps/action.ts';
import { limits } from '../model/limits.ts';

/** Pods that wait for the load balancer of one Service, and those of them that it sends to. */
export interface GatedPods {
  readonly service: ServiceKey;
  readonly waiting: readonly GatedPod[];
  readonly healthy: readonly GatedPod[];
}

/**
 * Finds the Pods that wait for their load balancer. A Pod has waited long enough when it is registered in a target group of the Service and
 * healthy in all in which it is, and no group is left in which it must be registered. `actions`: what is
 * planned now.
 */
export function gatedPods(
  services: readonly ServiceKey[],
  { gatedPods: gatedOf }: Pick<CheckedTargets, 'gatedPods'>,
  { observed, cluster, stack }: PlanInput,
  actions: readonly Action[],
): GatedPods[] {
  const arriving = new Set(
    actions.flatMap(({ operation, input }) => (operation === 'elbv2:RegisterTargets' ? input.Targets.map(({ Id }) => Id) : [])),
  );
  const own = ownObserved(observed, cluster, stack);
  return services.flatMap((service) => {
    const waiting = gatedOf?.(service) ?? [];
    const groups = own.targetGroups.filter(
      ({ tags, targetGroup }) => tags[tagKeys.service] === service && targetGroup.LoadBalancerArns.length > 0,
    );
    const isHealthy = ({ address }: GatedPod): boolean => {
      const states = groups.flatMap(({ health }) =>
        health.flatMap(({ Target, TargetHealth }) => (Target.Id === address ? [TargetHealth.State] : [])),
      );
      return states.length > 0 && states.every((state) => state === 'healthy') && !arriving.has(address);
    };
    return waiting.length === 0 ? [] : [{ service, waiting, healthy: waiting.filter(isHealthy) }];
  });
}

/** The Pods change without a notice to Herald, so they are polled. */
export function waitsForPods(pods: readonly GatedPods[]): Wait[] {
  return pods.flatMap(({ waiting, healthy }) =>
    waiting.map((pod) => ({ for: waitFor(pod, healthy.includes(pod)), seconds: limits.pollSeconds })),
  );
}

function waitFor({ namespace, name, areContainersReady }: GatedPod, isHealthy: boolean): string {
  if (isHealthy) return `the readiness gate of Pod ${namespace}/${name} to open`;
  if (!areContainersReady) return `the containers of Pod ${namespace}/${name} to be ready`;
  return `Pod ${namespace}/${name} to become healthy behind the load balancer`;
}
