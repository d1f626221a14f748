import type { Reason } from '../../src/model/reasons.ts';
import type { Cloud } from './cloud.ts';
import type { SecurityGroup } from './cloud/ec2.ts';
import { execute, type Execution, type Outcome } from './execute.ts';
import type { TargetPort } from './plan/desired.ts';
import { groupToOpen, planNodeRules, type Reach } from './plan/node-rules.ts';
import type { AwsSettings } from './settings.ts';
import { resources, tagKeys } from './tags.ts';

/** Where the load balancer of one stack wants to reach its targets. */
export interface StackTargets {
  readonly ports: readonly TargetPort[];
  readonly instances: readonly string[];
  /** Of pods. */
  readonly addresses: readonly string[];
}

export interface NodeRulesResult {
  readonly execution: Execution;
  readonly problems: readonly Reason[];
}

/** One pass over the rules of nodes and pods for all load balancers of the cluster. */
export async function passNodeRules(
  cloud: Cloud,
  { clusterName: cluster, vpcId }: AwsSettings,
  stacks: readonly StackTargets[],
  complete: boolean,
  ended?: (outcome: Outcome) => void,
): Promise<NodeRulesResult> {
  const inVpc = { Name: 'vpc-id', Values: [vpcId] };
  const { SecurityGroups: all } = await cloud.call('ec2:DescribeSecurityGroups', { Filters: [inVpc] });
  const byId = new Map(all.map((group) => [group.GroupId, group]));
  const backend = all.find(
    ({ Tags }) => hasTag(Tags, tagKeys.cluster, cluster) && hasTag(Tags, tagKeys.resource, resources.backendSecurityGroup),
  );
  const attached = await attachedGroups(cloud, stacks);
  const problems: Reason[] = [];
  const reaches = stacks.map(({ ports, instances, addresses }): Reach => {
    const groups = new Set<string>();
    for (const target of [...instances, ...addresses]) {
      const groupsOfTarget = attached.get(target);
      if (groupsOfTarget === undefined) continue;
      const chosen = groupToOpen(target, groupsOfTarget, byId, cluster);
      if ('group' in chosen) groups.add(chosen.group);
      else problems.push(chosen.problem);
    }
    return { ports, groups: [...groups] };
  });
  const wanted = new Set(reaches.flatMap(({ groups }) => groups));
  const groups = all.filter(
    ({ GroupId, IpPermissions }) => wanted.has(GroupId) || (backend !== undefined && admits(IpPermissions, backend.GroupId)),
  );
  const plan = planNodeRules({ cluster, backend, reaches, groups, complete });
  return { execution: await execute(cloud, plan.actions, ended), problems };
}

async function attachedGroups(cloud: Cloud, stacks: readonly StackTargets[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const InstanceIds = [...new Set(stacks.flatMap(({ instances }) => instances))];
  const addresses = new Set(stacks.flatMap((stack) => stack.addresses));
  const result = new Map<string, readonly string[]>();
  if (InstanceIds.length > 0) {
    const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds });
    for (const { InstanceId, SecurityGroups } of Instances)
      result.set(
        InstanceId,
        SecurityGroups.map(({ GroupId }) => GroupId),
      );
  }
  const byFamily = Object.groupBy(addresses, (text) => (text.includes(':') ? 'six' : 'four'));
  for (const [Name, Values = []] of [
    ['addresses.private-ip-address', byFamily.four],
    ['ipv6-addresses.ipv6-address', byFamily.six],
  ] as const) {
    if (Values.length === 0) continue;
    const { NetworkInterfaces } = await cloud.call('ec2:DescribeNetworkInterfaces', { Filters: [{ Name, Values }] });
    for (const { Groups, PrivateIpAddresses, Ipv6Addresses } of NetworkInterfaces) {
      const ids = Groups.map(({ GroupId }) => GroupId);
      for (const { PrivateIpAddress } of PrivateIpAddresses) if (addresses.has(PrivateIpAddress)) result.set(PrivateIpAddress, ids);
      for (const { Ipv6Address } of Ipv6Addresses) if (addresses.has(Ipv6Address)) result.set(Ipv6Address, ids);
    }
  }
  return result;
}

function hasTag(tags: SecurityGroup['Tags'], key: string, value: string): boolean {
  return tags.some((tag) => tag.Key === key && tag.Value === value);
}

function admits(permissions: SecurityGroup['IpPermissions'], groupId: string): boolean {
  return permissions.some(({ UserIdGroupPairs = [] }) => UserIdGroupPairs.some(({ GroupId }) => GroupId === groupId));
}
