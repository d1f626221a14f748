import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { ownObserved } from '../../model/own-resources.ts';
import { foreignOwner, isOurs, managerTag, tagKeys } from '../../model/tags.ts';
import type { Desired } from '../../model/desired.ts';
import type { PlanInput } from './input.ts';
import type { Tags } from '../../model/observed.ts';
import type { Steps } from './steps.ts';

/** Returns why nothing of the stack may be touched: another controller manages one of its load balancers as well. Undefined: none does. */
export function whyManagedByOther({ observed, cluster, stack }: Pick<PlanInput, 'observed' | 'cluster' | 'stack'>): Reason | undefined {
  const { loadBalancers, classic } = ownObserved(observed, cluster, stack);
  for (const { loadBalancer, tags } of [...loadBalancers, ...classic]) {
    const key = managerTag(tags);
    if (key !== undefined)
      return reason('AwsForeignLoadBalancer', { name: loadBalancer.LoadBalancerName, why: `it carries the tag ${key}` });
  }
  return undefined;
}

/**
 * Reports a foreign load balancer that has our desired name, or that was named for adoption. Returns true if there is one; then nothing at
 * all may be done. A load balancer is adopted only if its owner has tagged it in AWS for this cluster, because permission to edit a Service
 * must not be enough.
 */
export function reportForeignResource(steps: Steps, { desired, observed, cluster }: PlanInput<Desired>): boolean {
  const adopted = desired.kind === 'nlb' ? desired.adopted : undefined;
  const candidates: { name: string; arn?: string; tags: Tags }[] =
    desired.kind === 'nlb'
      ? observed.loadBalancers.map(({ loadBalancer, tags }) => ({
          name: loadBalancer.LoadBalancerName,
          arn: loadBalancer.LoadBalancerArn,
          tags,
        }))
      : observed.classic.map(({ loadBalancer, tags }) => ({ name: loadBalancer.LoadBalancerName, tags }));
  for (const { name, arn, tags } of candidates) {
    const other = tags[tagKeys.stack];
    const ours = isOurs(tags, cluster) && other === desired.stack;
    const isAdopted = adopted !== undefined && arn === adopted;
    const why = foreignOwner(tags, cluster) ?? (other !== undefined && other !== desired.stack ? `it belongs to ${other}` : undefined);
    const isGiven = isAdopted && isOurs(tags, cluster);
    const unowned = isAdopted ? `its owner has not tagged it ${tagKeys.cluster}: ${cluster}` : 'it has no tag of ours';
    if (ours || (isGiven && why === undefined)) continue;
    // A load balancer that is neither wanted nor in the way is ignored.
    if (!isAdopted && name !== desired.name) continue;
    steps.addProblem(reason('AwsForeignLoadBalancer', { name, why: why ?? unowned }));
    return true;
  }
  return false;
}
