import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import type { ObservedClassic } from '../model/observed.ts';
import { isOurs, tagKeys, tagMap } from '../model/tags.ts';
import { isClassicName } from './known-resources.ts';
import type { ObserveInput } from './input.ts';
import { allButMissing, unlessMissing } from './tolerate-missing.ts';

/** Reads the Classic ELBs of the stack, and any other one that has the name that the stack would use. */
export async function observeClassic(
  cloud: ReadOnlyCloud,
  { known, wantedClassic, cluster, stack }: ObserveInput,
): Promise<ObservedClassic[]> {
  const ask = async (LoadBalancerNames: readonly string[]): Promise<readonly ObservedClassic['loadBalancer'][]> =>
    (await cloud.call('elb:DescribeLoadBalancers', { LoadBalancerNames })).LoadBalancerDescriptions;
  const found = await allButMissing(known.ids.filter(isClassicName), ask);
  for (const name of wantedClassic) {
    if (!found.some((one) => one.LoadBalancerName === name)) found.push(...(await unlessMissing(() => ask([name]))));
  }
  if (found.length === 0) return [];
  const { TagDescriptions } = await cloud.call('elb:DescribeTags', { LoadBalancerNames: found.map((one) => one.LoadBalancerName) });
  const tagsOf = new Map(TagDescriptions.map(({ LoadBalancerName, Tags }) => [LoadBalancerName, tagMap(Tags)]));
  const result: ObservedClassic[] = [];
  for (const loadBalancer of found) {
    const { LoadBalancerName } = loadBalancer;
    const tags = tagsOf.get(LoadBalancerName) ?? {};
    if (!isOurs(tags, cluster) || tags[tagKeys.stack] !== stack) {
      result.push({ loadBalancer, tags, attributes: {}, policies: [], health: new Map() });
      continue;
    }
    known.recordFound(LoadBalancerName);
    const { LoadBalancerAttributes: attributes } = await cloud.call('elb:DescribeLoadBalancerAttributes', { LoadBalancerName });
    const { PolicyDescriptions: policies } = await cloud.call('elb:DescribeLoadBalancerPolicies', { LoadBalancerName });
    const { InstanceStates } = await cloud.call('elb:DescribeInstanceHealth', { LoadBalancerName });
    result.push({
      loadBalancer,
      tags,
      attributes,
      policies,
      health: new Map(InstanceStates.map(({ InstanceId, State }) => [InstanceId, State])),
    });
  }
  return result;
}
