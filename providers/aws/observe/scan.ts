import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { isOurs, resources, tagKeys, tagMap } from '../model/tags.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Tags } from '../model/observed.ts';
import { inBatches } from './tolerate-missing.ts';

/** A resource that Herald owns, in any stack. */
export interface Owned {
  /** An ARN, the name of a Classic ELB, or the id of a security group. */
  readonly id: string;
  readonly tags: Tags;
}

/**
 * Finds all resources in the VPC that Herald owns, grouped by stack. Only this function reads the whole account. It runs at start and when
 * the controller looks for orphans. The shared security group of the cluster is left out.
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
  // Another program may delete a resource after it was listed. AWS then refuses to return the tags of the whole batch.
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
