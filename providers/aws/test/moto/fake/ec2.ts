import { defined } from '../../../../../src/lang/defined.ts';
import type { Filter, IpPermission, SecurityGroup } from '../../../cloud/ec2.ts';
import type { Operation } from '../../../cloud/operations.ts';
import { permission, ruleKey, rulesOf } from '../../../plan/steps/ingress-rules.ts';
import type { Handlers } from './cloud.ts';
import { refuse, type Mutable, type World } from './world.ts';

type Own = Exclude<Extract<Operation, `ec2:${string}`>, `ec2:${string}VpcEndpoint${string}`>;

/** The wanted values by tag. */
const tagFilters = (filters: readonly Filter[]): [string, readonly string[]][] =>
  filters.filter(({ Name }) => Name.startsWith('tag:')).map(({ Name, Values }) => [Name.slice('tag:'.length), Values]);

const matchesTags = (wanted: readonly [string, readonly string[]][], tags: ReadonlyMap<string, string> | undefined): boolean =>
  wanted.every(([key, values]) => values.includes(tags?.get(key) ?? '\0'));

const value = (filters: readonly Filter[], name: string): readonly string[] | undefined =>
  filters.find(({ Name }) => Name === name)?.Values;

function securityGroup(operation: Operation, world: World, id: string): Mutable<SecurityGroup> {
  return world.securityGroups.get(id) ?? refuse(operation, 'notFound', 'InvalidGroup.NotFound', id);
}

function check(operation: Operation, world: World, permissions: readonly IpPermission[]): void {
  for (const { IpProtocol, UserIdGroupPairs = [] } of permissions) {
    if (!['tcp', 'udp', 'icmp', 'icmpv6', '-1'].includes(IpProtocol)) refuse(operation, 'invalid', 'InvalidParameterValue', IpProtocol);
    for (const { GroupId } of UserIdGroupPairs)
      if (!world.securityGroups.has(GroupId)) refuse(operation, 'notFound', 'InvalidGroup.NotFound');
  }
}

/** Splits permissions into one per rule, as they were authorized. Descriptions are kept. */
const single = (permissions: readonly IpPermission[]): { key: string; value: IpPermission }[] =>
  permissions.flatMap((one) => rulesOf([one]).map((rule) => ({ key: ruleKey(rule), value: permission(rule, descriptionOf(one)) })));

function descriptionOf({ IpRanges, Ipv6Ranges, PrefixListIds, UserIdGroupPairs }: IpPermission): string | undefined {
  return [...(IpRanges ?? []), ...(Ipv6Ranges ?? []), ...(PrefixListIds ?? []), ...(UserIdGroupPairs ?? [])][0]?.Description;
}

export const ec2Handlers: Pick<Handlers, Own> = {
  'ec2:DescribeVpcs': (world, { VpcIds }) => ({
    Vpcs: VpcIds.map((id) => world.vpcs.get(id) ?? refuse('ec2:DescribeVpcs', 'notFound', 'InvalidVpcID.NotFound', id)),
  }),
  'ec2:DescribeSubnets': (world) => ({ Subnets: [...world.subnets.values()] }),
  'ec2:DescribeRouteTables': (world) => ({ RouteTables: world.routeTables }),
  'ec2:DescribeSecurityGroups': (world, { GroupIds, Filters = [] }) => {
    const names = value(Filters, 'group-name');
    const tags = tagFilters(Filters);
    const found = [...world.securityGroups.values()].filter(
      ({ GroupId, GroupName }) =>
        (GroupIds === undefined || GroupIds.includes(GroupId)) &&
        (names === undefined || names.includes(GroupName)) &&
        matchesTags(tags, world.shownTags(GroupId)) &&
        world.isVisible(GroupId),
    );
    if (GroupIds !== undefined && found.length < GroupIds.length) refuse('ec2:DescribeSecurityGroups', 'notFound', 'InvalidGroup.NotFound');
    return { SecurityGroups: found.map((group) => ({ ...group, Tags: world.tagsOf(group.GroupId) })) };
  },
  'ec2:DescribeInstances': (world, { InstanceIds }) => ({ Instances: InstanceIds.flatMap((id) => world.instances.get(id) ?? []) }),
  'ec2:DescribeNetworkInterfaces': ({ podInterfaces }, { Filters }) => {
    const known = new Set(['vpc-id', 'network-interface-id', 'addresses.private-ip-address', 'ipv6-addresses.ipv6-address']);
    for (const { Name } of Filters) if (!known.has(Name)) refuse('ec2:DescribeNetworkInterfaces', 'invalid', 'InvalidParameterValue', Name);
    const has = (name: string, values: readonly string[]): boolean => {
      const wanted = value(Filters, name);
      return wanted === undefined || values.some((one) => wanted.includes(one));
    };
    const fits = ({ NetworkInterfaceId, VpcId, PrivateIpAddresses, Ipv6Addresses }: (typeof podInterfaces)[number]): boolean =>
      has('vpc-id', [VpcId]) &&
      has('network-interface-id', [NetworkInterfaceId]) &&
      has(
        'addresses.private-ip-address',
        PrivateIpAddresses.map(({ PrivateIpAddress }) => PrivateIpAddress),
      ) &&
      has(
        'ipv6-addresses.ipv6-address',
        Ipv6Addresses.map(({ Ipv6Address }) => Ipv6Address),
      );
    return { NetworkInterfaces: podInterfaces.filter(fits) };
  },
  'ec2:DescribeAddresses': ({ allocations, associated }, { Filters }) => {
    for (const { Name } of Filters) if (Name !== 'allocation-id') refuse('ec2:DescribeAddresses', 'invalid', 'InvalidParameterValue', Name);
    const wanted = value(Filters, 'allocation-id') ?? [];
    return {
      Addresses: [...allocations]
        .filter((id) => wanted.includes(id))
        .map((AllocationId) => ({ AllocationId, ...defined({ NetworkInterfaceId: associated.get(AllocationId) }) })),
    };
  },
  'ec2:CreateSecurityGroup': (world, { GroupName, Description, VpcId, TagSpecifications }) => {
    const operation = 'ec2:CreateSecurityGroup';
    if (GroupName.length > 255 || GroupName.startsWith('sg-')) refuse(operation, 'invalid', 'InvalidParameterValue', GroupName);
    if (!/^[a-zA-Z0-9 ._:/()#,@[\]+=&;{}!$*-]{1,255}$/.test(Description))
      refuse(operation, 'invalid', 'InvalidParameterValue', Description);
    const twin = [...world.securityGroups.values()].some((group) => group.GroupName === GroupName && group.VpcId === VpcId);
    if (twin) refuse(operation, 'duplicate', 'InvalidGroup.Duplicate', GroupName);
    const GroupId = world.id('sg-');
    world.securityGroups.set(GroupId, { GroupId, GroupName, Description, VpcId, IpPermissions: [], Tags: [] });
    world.recordCreated(
      GroupId,
      TagSpecifications.flatMap(({ Tags }) => Tags),
    );
    return { GroupId };
  },
  'ec2:DeleteSecurityGroup': (world, { GroupId }) => {
    securityGroup('ec2:DeleteSecurityGroup', world, GroupId);
    if (world.groupInUse(GroupId)) refuse('ec2:DeleteSecurityGroup', 'inUse', 'DependencyViolation', GroupId);
    world.securityGroups.delete(GroupId);
    return {};
  },
  'ec2:AuthorizeSecurityGroupIngress': (world, { GroupId, IpPermissions }) => {
    const operation = 'ec2:AuthorizeSecurityGroupIngress';
    const group = securityGroup(operation, world, GroupId);
    check(operation, world, IpPermissions);
    const present = new Set(rulesOf(group.IpPermissions).map(ruleKey));
    const added = single(IpPermissions);
    for (const { key } of added) {
      if (present.has(key)) refuse(operation, 'duplicate', 'InvalidPermission.Duplicate', key);
      present.add(key);
    }
    if (present.size > world.quotas.rules) refuse(operation, 'quota', 'RulesPerSecurityGroupLimitExceeded');
    group.IpPermissions = [...group.IpPermissions, ...added.map((one) => one.value)];
    return {};
  },
  'ec2:RevokeSecurityGroupIngress': (world, { GroupId, IpPermissions }) => {
    const operation = 'ec2:RevokeSecurityGroupIngress';
    const group = securityGroup(operation, world, GroupId);
    const gone = new Set(rulesOf(IpPermissions).map(ruleKey));
    const present = single(group.IpPermissions);
    for (const key of gone) if (!present.some((one) => one.key === key)) refuse(operation, 'notFound', 'InvalidPermission.NotFound', key);
    group.IpPermissions = present.filter(({ key }) => !gone.has(key)).map((one) => one.value);
    return {};
  },
  'ec2:CreateTags': (world, { Resources, Tags }) => {
    for (const id of Resources) {
      if (!world.endpointServices.has(id)) securityGroup('ec2:CreateTags', world, id);
      world.setTags(id, Tags);
    }
    return {};
  },
  'ec2:DeleteTags': (world, { Resources, Tags }) => {
    for (const id of Resources) for (const { Key } of Tags) world.tags.get(id)?.delete(Key);
    return {};
  },
};
