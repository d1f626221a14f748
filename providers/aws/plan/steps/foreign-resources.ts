import { reason } from '../../../../src/model/reasons.ts';
import { foreignOwner, isOurs, tagKeys } from '../../model/tags.ts';
import type { Desired } from '../../model/desired.ts';
import type { PlanInput } from './input.ts';
import type { Tags } from '../../model/observed.ts';
import type { Steps } from './steps.ts';

/**
 * A load balancer that has the name that ours would get, or that was named for adoption, may be somebody's: then nothing at all is done.
 * One is adopted only where its owner has said in AWS that this cluster may have it: whoever may edit a Service has no say in that.
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
    // One that is neither wanted nor in the way is nobody's business here.
    if (!isAdopted && name !== desired.name) continue;
    steps.addProblem(reason('AwsForeignLoadBalancer', { name, why: why ?? unowned }));
    return true;
  }
  return false;
}
