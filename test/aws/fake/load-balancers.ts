import assert from 'node:assert';
import type { AvailabilityZone, SubnetMapping } from '../../../providers/aws/cloud/elbv2.ts';
import type { Operation } from '../../../providers/aws/cloud/operations.ts';
import type { Handlers } from './cloud.ts';
import { delays, refuse, region, vpcId, type FakeLoadBalancer, type World } from './world.ts';

type Own =
  | 'elbv2:DescribeLoadBalancers'
  | 'elbv2:DescribeLoadBalancerAttributes'
  | 'elbv2:DescribeTags'
  | 'elbv2:CreateLoadBalancer'
  | 'elbv2:ModifyLoadBalancerAttributes'
  | 'elbv2:SetSubnets'
  | 'elbv2:SetSecurityGroups'
  | 'elbv2:SetIpAddressType'
  | 'elbv2:DeleteLoadBalancer'
  | 'elbv2:AddTags'
  | 'elbv2:RemoveTags';

const attributeKeys = new Set([
  'access_logs.s3.enabled',
  'access_logs.s3.bucket',
  'access_logs.s3.prefix',
  'deletion_protection.enabled',
  'dns_record.client_routing_policy',
  'load_balancing.cross_zone.enabled',
  'zonal_shift.config.enabled',
]);

/** Refuses what AWS refuses of subnets, and shows them as AWS does. */
function zonesOf(
  operation: Operation,
  world: World,
  mappings: readonly SubnetMapping[],
  scheme: string,
  dualstack: boolean,
): AvailabilityZone[] {
  if (mappings.length === 0) refuse(operation, 'invalid', 'ValidationError', 'no subnets');
  const zones = mappings.map((mapping): AvailabilityZone => {
    const subnet = world.subnets.get(mapping.SubnetId);
    if (subnet === undefined) refuse(operation, 'subnet', 'SubnetNotFound', mapping.SubnetId);
    if (subnet.AvailableIpAddressCount < 8) refuse(operation, 'subnet', 'InvalidSubnet', 'not enough addresses');
    if (dualstack && subnet.Ipv6CidrBlockAssociationSet.length === 0) refuse(operation, 'subnet', 'InvalidSubnet', 'no IPv6 CIDR');
    if (mapping.AllocationId !== undefined && !world.allocations.has(mapping.AllocationId))
      refuse(operation, 'notFound', 'AllocationIdNotFound');
    if (mapping.AllocationId !== undefined && scheme === 'internal') refuse(operation, 'invalid', 'InvalidConfigurationRequest');
    if (mapping.PrivateIPv4Address !== undefined && scheme !== 'internal') refuse(operation, 'invalid', 'InvalidConfigurationRequest');
    return { ZoneName: subnet.AvailabilityZone, SubnetId: mapping.SubnetId };
  });
  if (new Set(zones.map(({ ZoneName }) => ZoneName)).size < zones.length)
    refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'two subnets in a zone');
  return zones;
}

function checkGroups(operation: Operation, world: World, groups: readonly string[]): void {
  if (groups.length > 5) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'more than five security groups');
  for (const id of groups) if (!world.securityGroups.has(id)) refuse(operation, 'notFound', 'InvalidSecurityGroup', id);
}

export function loadBalancer(operation: Operation, world: World, arn: string): FakeLoadBalancer {
  const found = world.loadBalancers.get(arn);
  if (found === undefined || !world.isVisible(arn)) refuse(operation, 'notFound', 'LoadBalancerNotFound', arn);
  return found;
}

function shown(world: World, { value, madeAt }: FakeLoadBalancer): FakeLoadBalancer['value'] {
  const isFailed = value.State.Code === 'failed';
  const Code = isFailed ? 'failed' : world.now() - madeAt >= delays.provisioning ? 'active' : 'provisioning';
  return { ...value, State: { ...value.State, Code } };
}

const tagged = (world: World, arn: string): boolean =>
  world.loadBalancers.has(arn) || world.targetGroups.has(arn) || world.listeners.has(arn);

export const loadBalancerHandlers: Pick<Handlers, Own> = {
  'elbv2:DescribeLoadBalancers': (world, { LoadBalancerArns, Names }) => {
    const all = [...world.loadBalancers.values()].filter(({ value }) => world.isVisible(value.LoadBalancerArn));
    const wanted = LoadBalancerArns ?? Names;
    if (wanted === undefined) return { LoadBalancers: all.map((one) => shown(world, one)) };
    const found = wanted.map((text) => {
      const one = all.find(({ value }) => (LoadBalancerArns === undefined ? value.LoadBalancerName : value.LoadBalancerArn) === text);
      return one ?? refuse('elbv2:DescribeLoadBalancers', 'notFound', 'LoadBalancerNotFound', text);
    });
    return { LoadBalancers: found.map((one) => shown(world, one)) };
  },
  'elbv2:DescribeLoadBalancerAttributes': (world, { LoadBalancerArn }) => ({
    Attributes: [...loadBalancer('elbv2:DescribeLoadBalancerAttributes', world, LoadBalancerArn).attributes].map(([Key, Value]) => ({
      Key,
      Value,
    })),
  }),
  'elbv2:DescribeTags': (world, { ResourceArns }) => ({
    TagDescriptions: ResourceArns.map((ResourceArn) => {
      if (!tagged(world, ResourceArn)) refuse('elbv2:DescribeTags', 'notFound', 'LoadBalancerNotFound', ResourceArn);
      return { ResourceArn, Tags: world.tagsOf(ResourceArn) };
    }),
  }),
  'elbv2:CreateLoadBalancer': (world, input) => {
    const operation = 'elbv2:CreateLoadBalancer';
    if (!/^(?!internal-)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$/.test(input.Name))
      refuse(operation, 'invalid', 'ValidationError', 'name');
    const same = [...world.loadBalancers.values()].find(({ value }) => value.LoadBalancerName === input.Name);
    if (same !== undefined) {
      if (same.input !== JSON.stringify(input)) refuse(operation, 'duplicate', 'DuplicateLoadBalancerName', input.Name);
      return { LoadBalancers: [shown(world, same)] };
    }
    if (world.loadBalancers.size >= world.quotas.loadBalancers) refuse(operation, 'quota', 'TooManyLoadBalancers');
    const AvailabilityZones = zonesOf(operation, world, input.SubnetMappings, input.Scheme, input.IpAddressType === 'dualstack');
    checkGroups(operation, world, input.SecurityGroups ?? []);
    const LoadBalancerArn = world.arn('loadbalancer/net', input.Name);
    const made: FakeLoadBalancer = {
      value: {
        LoadBalancerArn,
        LoadBalancerName: input.Name,
        DNSName: `${input.Name}-0123456789abcdef.elb.${region}.amazonaws.com`,
        Type: 'network',
        Scheme: input.Scheme,
        VpcId: vpcId,
        State: { Code: 'provisioning' },
        IpAddressType: input.IpAddressType,
        AvailabilityZones,
        SecurityGroups: input.SecurityGroups ?? [],
      },
      input: JSON.stringify(input),
      madeAt: world.now(),
      attributes: new Map([
        ['deletion_protection.enabled', 'false'],
        ['load_balancing.cross_zone.enabled', 'false'],
        ['access_logs.s3.enabled', 'false'],
      ]),
    };
    world.loadBalancers.set(LoadBalancerArn, made);
    world.made(LoadBalancerArn, input.Tags);
    return { LoadBalancers: [shown(world, made)] };
  },
  'elbv2:ModifyLoadBalancerAttributes': (world, { LoadBalancerArn, Attributes }) => {
    const operation = 'elbv2:ModifyLoadBalancerAttributes';
    const { attributes } = loadBalancer(operation, world, LoadBalancerArn);
    for (const { Key } of Attributes) if (!attributeKeys.has(Key)) refuse(operation, 'invalid', 'InvalidConfigurationRequest', Key);
    for (const { Key, Value } of Attributes) attributes.set(Key, Value);
    return {};
  },
  'elbv2:SetSubnets': (world, { LoadBalancerArn, SubnetMappings }) => {
    const { value } = loadBalancer('elbv2:SetSubnets', world, LoadBalancerArn);
    const zones = zonesOf('elbv2:SetSubnets', world, SubnetMappings, value.Scheme, value.IpAddressType === 'dualstack');
    for (const { ZoneName, SubnetId } of zones) {
      const before = value.AvailabilityZones.find((zone) => zone.ZoneName === ZoneName);
      if (before !== undefined && before.SubnetId !== SubnetId)
        refuse('elbv2:SetSubnets', 'invalid', 'InvalidConfigurationRequest', 'another subnet of the zone');
    }
    value.AvailabilityZones = zones;
    return {};
  },
  'elbv2:SetSecurityGroups': (
    world,
    { LoadBalancerArn, SecurityGroups, EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: enforce },
  ) => {
    const operation = 'elbv2:SetSecurityGroups';
    const { value } = loadBalancer(operation, world, LoadBalancerArn);
    if ((value.SecurityGroups ?? []).length === 0)
      refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'made without security groups');
    if (SecurityGroups.length === 0) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'no security groups');
    checkGroups(operation, world, SecurityGroups);
    value.SecurityGroups = SecurityGroups;
    if (enforce !== undefined) value.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic = enforce;
    return {};
  },
  'elbv2:SetIpAddressType': (world, { LoadBalancerArn, IpAddressType }) => {
    const { value } = loadBalancer('elbv2:SetIpAddressType', world, LoadBalancerArn);
    const mappings = value.AvailabilityZones.map(({ SubnetId }) => ({ SubnetId }));
    zonesOf('elbv2:SetIpAddressType', world, mappings, value.Scheme, IpAddressType === 'dualstack');
    value.IpAddressType = IpAddressType;
    return {};
  },
  'elbv2:DeleteLoadBalancer': (world, { LoadBalancerArn }) => {
    const found = world.loadBalancers.get(LoadBalancerArn);
    if (found === undefined) return {};
    if (found.attributes.get('deletion_protection.enabled') === 'true')
      refuse('elbv2:DeleteLoadBalancer', 'protected', 'OperationNotPermitted');
    world.loadBalancers.delete(LoadBalancerArn);
    world.interfaces.push({ groups: found.value.SecurityGroups ?? [], until: world.now() + delays.interfaces });
    for (const [arn, { value }] of world.listeners) if (value.LoadBalancerArn === LoadBalancerArn) world.listeners.delete(arn);
    return {};
  },
  'elbv2:AddTags': (world, { ResourceArns, Tags }) => {
    for (const arn of ResourceArns) {
      if (!tagged(world, arn)) refuse('elbv2:AddTags', 'notFound', 'LoadBalancerNotFound', arn);
      world.setTags(arn, Tags);
    }
    return {};
  },
  'elbv2:RemoveTags': (world, { ResourceArns, TagKeys }) => {
    for (const arn of ResourceArns) {
      if (!tagged(world, arn)) refuse('elbv2:RemoveTags', 'notFound', 'LoadBalancerNotFound', arn);
      const tags = world.tags.get(arn);
      assert(tags);
      for (const key of TagKeys) tags.delete(key);
    }
    return {};
  },
};
