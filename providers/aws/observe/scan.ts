import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { limits } from '../model/limits.ts';
import { isOurs, resources, tagKeys, tagMap } from '../model/tags.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Tags } from '../model/observed.ts';
import { allButMissing } from './tolerate-missing.ts';

/** Something of ours, wherever it belongs. */
export interface Owned {
  /** ARN, name of a Classic ELB, or id of a security group. */
  readonly id: string;
  readonly tags: Tags;
}

/**
 * Everything of ours in the VPC, by stacks: the only reads that look at the whole account, made at start and when orphans are looked
 * for. The security group that the cluster shares is not among them.
 */
export async function scanOwned(
  cloud: ReadOnlyCloud,
  { clusterName, vpcId }: Pick<AwsSettings, 'clusterName' | 'vpcId'>,
): Promise<ReadonlyMap<string, readonly Owned[]>> {
  const { LoadBalancers } = await cloud.call('elbv2:DescribeLoadBalancers', {});
  const { TargetGroups } = await cloud.call('elbv2:DescribeTargetGroups', {});
  const { LoadBalancerDescriptions } = await cloud.call('elb:DescribeLoadBalancers', {});
  const Filters = [
    { Name: 'vpc-id', Values: [vpcId] },
    { Name: `tag:${tagKeys.cluster}`, Values: [clusterName] },
  ];
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters });
  const ResourceArns = [
    ...LoadBalancers.filter((one) => one.VpcId === vpcId).map((one) => one.LoadBalancerArn),
    ...TargetGroups.filter((one) => one.VpcId === vpcId).map((one) => one.TargetGroupArn),
  ];
  const LoadBalancerNames = LoadBalancerDescriptions.filter((one) => one.VPCId === vpcId).map((one) => one.LoadBalancerName);
  // Between a list and a look at its tags others delete what is theirs, and AWS refuses to say anything about a list with one that is gone.
  const v2 = await inBatches(
    ResourceArns,
    async (ResourceArns) => (await cloud.call('elbv2:DescribeTags', { ResourceArns })).TagDescriptions,
  );
  const v1 = await inBatches(
    LoadBalancerNames,
    async (LoadBalancerNames) => (await cloud.call('elb:DescribeTags', { LoadBalancerNames })).TagDescriptions,
  );
  const all: Owned[] = [
    ...v2.map(({ ResourceArn, Tags }) => ({ id: ResourceArn, tags: tagMap(Tags) })),
    ...v1.map(({ LoadBalancerName, Tags }) => ({ id: LoadBalancerName, tags: tagMap(Tags) })),
    ...SecurityGroups.map(({ GroupId, Tags }) => ({ id: GroupId, tags: tagMap(Tags) })),
  ];
  const owned = all.filter(
    ({ tags }) =>
      isOurs(tags, clusterName) && tags[tagKeys.stack] !== undefined && tags[tagKeys.resource] !== resources.backendSecurityGroup,
  );
  return Map.groupBy(owned, ({ tags }) => tags[tagKeys.stack] ?? '');
}

/** As many as AWS answers for at once: where one is missing, no more than those are asked for again. */
async function inBatches<T>(ids: readonly string[], ask: (ids: readonly string[]) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < ids.length; at += limits.tagBatch) all.push(...(await allButMissing(ids.slice(at, at + limits.tagBatch), ask)));
  return all;
}
