import type { Reason } from '../../../src/model/reasons.ts';
import type { Cloud, ReadOnlyCloud } from '../cloud/cloud.ts';
import type { Filter, SecurityGroup } from '../cloud/ec2.ts';
import { execute, type Execution, type Outcome } from '../stacks/execution/execute.ts';
import type { RepeatedWrites } from '../stacks/execution/repeated-writes.ts';
import type { Plan } from '../plan/steps/action.ts';
import type { PodHosts, StackTargets } from '../model/stack-targets.ts';
import { groupToOpen, planNodeRules, type TargetAccess } from './plan-node-rules.ts';
import type { AwsSettings } from '../model/settings.ts';
import { resources, tagKeys } from '../model/tags.ts';

interface NodeRulesInput {
  readonly stacks: readonly StackTargets[];
  readonly hosts: PodHosts;
  /** These stacks are the only ones, so all other rules are removed. */
  readonly mayRevoke: boolean;
  /** The placeholder of the shared security group, when it does not exist yet. */
  readonly futureBackend?: string | undefined;
}

interface NodeRulesResult {
  readonly execution: Execution;
  readonly problems: readonly Reason[];
}

/** Reconciles the rules of nodes and pods once, for all load balancers of the cluster. */
export async function reconcileNodeRules(
  cloud: Cloud,
  settings: AwsSettings,
  input: NodeRulesInput,
  repeated: RepeatedWrites,
  onOutcome?: (outcome: Outcome) => void,
): Promise<NodeRulesResult> {
  const { plan, problems } = await decideNodeRules(cloud, settings, input);
  const { actions, reasons } = repeated.admit(plan.actions, '');
  const execution = await execute(cloud, actions, onOutcome);
  repeated.record(execution.outcomes, '');
  return { execution, problems: [...problems, ...reasons] };
}

export interface NodeRulesDecision {
  readonly plan: Plan;
  readonly problems: readonly Reason[];
}

/** Plans the rules that these stacks need, and changes nothing: `herald plan` stops here. */
export async function decideNodeRules(
  cloud: ReadOnlyCloud,
  { clusterName: cluster, vpcId }: AwsSettings,
  { stacks, hosts, mayRevoke, futureBackend }: NodeRulesInput,
): Promise<NodeRulesDecision> {
  const inVpc = { Name: 'vpc-id', Values: [vpcId] };
  const { SecurityGroups: all } = await cloud.call('ec2:DescribeSecurityGroups', { Filters: [inVpc] });
  const byId = new Map(all.map((group) => [group.GroupId, group]));
  const present = all.find(
    ({ Tags }) => hasTag(Tags, tagKeys.cluster, cluster) && hasTag(Tags, tagKeys.resource, resources.backendSecurityGroup),
  );
  const backend = present?.GroupId ?? futureBackend;
  const attached = await attachedGroups(cloud, inVpc, stacks, hosts);
  const problems: Reason[] = [];
  const accesses = stacks.map(({ ports, instances, addresses }): TargetAccess => {
    const groups = new Set<string>();
    for (const target of [...instances, ...addresses]) {
      const found = attached.get(target);
      if (found === undefined) continue;
      const isOurs = found.isNode || hosts.isPod(target);
      const chosen = groupToOpen(target, found.groups, byId, cluster, isOurs);
      if ('group' in chosen) groups.add(chosen.group);
      // A target that is neither is being deregistered.
      else if (isOurs || hosts.isAllowed(target)) problems.push(chosen.problem);
    }
    return { ports, groups: [...groups] };
  });
  const wanted = new Set(accesses.flatMap(({ groups }) => groups));
  const groups = all.filter(
    ({ GroupId, IpPermissions }) => wanted.has(GroupId) || (backend !== undefined && admits(IpPermissions, backend)),
  );
  return { plan: planNodeRules({ cluster, backend, accesses, groups, mayRevoke }), problems };
}

interface Attached {
  readonly groups: readonly string[];
  /** They are those of a node, not of an interface with the address. */
  readonly isNode: boolean;
}

/**
 * Returns the security groups of each target. A pod has those of the network interface with its address, or those of its node when no
 * interface has it: the node has a delegated prefix, or the addresses of pods are not from AWS.
 */
async function attachedGroups(
  cloud: ReadOnlyCloud,
  inVpc: Filter,
  stacks: readonly StackTargets[],
  hosts: PodHosts,
): Promise<ReadonlyMap<string, Attached>> {
  const addresses = new Set(stacks.flatMap((stack) => stack.addresses));
  const result = new Map<string, Attached>();
  const byFamily = Object.groupBy(addresses, (text) => (text.includes(':') ? 'six' : 'four'));
  for (const [Name, Values = []] of [
    ['addresses.private-ip-address', byFamily.four],
    ['ipv6-addresses.ipv6-address', byFamily.six],
  ] as const) {
    if (Values.length === 0) continue;
    // Another VPC may have the same addresses.
    const { NetworkInterfaces } = await cloud.call('ec2:DescribeNetworkInterfaces', { Filters: [inVpc, { Name, Values }] });
    for (const { Groups, PrivateIpAddresses, Ipv6Addresses } of NetworkInterfaces) {
      const attached = { groups: Groups.map(({ GroupId }) => GroupId), isNode: false };
      for (const { PrivateIpAddress } of PrivateIpAddresses) if (addresses.has(PrivateIpAddress)) result.set(PrivateIpAddress, attached);
      for (const { Ipv6Address } of Ipv6Addresses) if (addresses.has(Ipv6Address)) result.set(Ipv6Address, attached);
    }
  }
  const withoutInterface = [...addresses].filter((address) => !result.has(address) && hosts.instances.has(address));
  const instances = stacks
    .flatMap((stack) => stack.instances)
    .concat(withoutInterface.flatMap((address) => hosts.instances.get(address) ?? []));
  for (const [instance, groups] of await groupsOfInstances(cloud, [...new Set(instances)])) result.set(instance, { groups, isNode: true });
  for (const address of withoutInterface) {
    const node = result.get(hosts.instances.get(address) ?? '');
    if (node !== undefined) result.set(address, node);
  }
  return result;
}

async function groupsOfInstances(cloud: ReadOnlyCloud, InstanceIds: readonly string[]): Promise<[string, readonly string[]][]> {
  if (InstanceIds.length === 0) return [];
  const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds });
  return Instances.map(({ InstanceId, SecurityGroups }) => [InstanceId, SecurityGroups.map(({ GroupId }) => GroupId)]);
}

function hasTag(tags: SecurityGroup['Tags'], key: string, value: string): boolean {
  return tags.some((tag) => tag.Key === key && tag.Value === value);
}

function admits(permissions: SecurityGroup['IpPermissions'], groupId: string): boolean {
  return permissions.some(({ UserIdGroupPairs = [] }) => UserIdGroupPairs.some(({ GroupId }) => GroupId === groupId));
}
