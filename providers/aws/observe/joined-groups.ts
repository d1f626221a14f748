import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import type { ObservedTargetGroup } from '../model/observed.ts';
import { tagMap } from '../model/tags.ts';
import { unlessMissing, unlessUnknown } from './tolerate-missing.ts';

/** Reads target groups of other owners with their targets. Those that do not exist are left out. */
export async function observeJoinedGroups(cloud: ReadOnlyCloud, arns: readonly string[]): Promise<ObservedTargetGroup[]> {
  const observed: ObservedTargetGroup[] = [];
  for (const TargetGroupArn of new Set(arns)) {
    const targetGroup = await unlessUnknown(
      async () => (await cloud.call('elbv2:DescribeTargetGroups', { TargetGroupArns: [TargetGroupArn] })).TargetGroups[0],
    );
    if (targetGroup === undefined) continue;
    const [tags] = await unlessMissing(
      async () => (await cloud.call('elbv2:DescribeTags', { ResourceArns: [TargetGroupArn] })).TagDescriptions,
    );
    const [answer] = await unlessMissing(async () => [await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn })]);
    observed.push({ targetGroup, tags: tagMap(tags?.Tags ?? []), attributes: [], health: answer?.TargetHealthDescriptions ?? [] });
  }
  return observed;
}

/** Returns the name of the load balancer that sends to the groups. Undefined: none does. */
export async function hostnameOfGroups(cloud: ReadOnlyCloud, groups: readonly ObservedTargetGroup[]): Promise<string | undefined> {
  const [arn] = groups.flatMap(({ targetGroup }) => targetGroup.LoadBalancerArns);
  if (arn === undefined) return undefined;
  const [found] = await unlessMissing(
    async () => (await cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns: [arn] })).LoadBalancers,
  );
  return found?.DNSName.toLowerCase();
}
