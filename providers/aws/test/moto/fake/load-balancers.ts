import assert from 'node:assert';
import type { AvailabilityZone, SubnetMapping } from '../../../cloud/elbv2.ts';
import type { Operation } from '../../../cloud/operations.ts';
import type { Handlers } from './cloud.ts';
import { delays, refuse, region, vpcId, type FakeLoadBalancer, type World } from './world.ts';

type Own =
  | 'elbv2:DescribeLoadBalancers'
  | 'elbv2:DescribeLoadBalancerAttributes'
  | 'elbv2:DescribeCapacityReservation'
  | 'elbv2:ModifyCapacityReservation'
  | 'elbv2:DescribeTags'
  | 'elbv2:CreateLoadBalancer'
  | 'elbv2:ModifyLoadBalancerAttributes'
  | 'elbv2:SetSubnets'
  | 'elbv2:SetSecurityGroups'
  | 'elbv2:SetIpAddressType'
  | 'elbv2:DeleteLoadBalancer'
  | 'elbv2:AddTags'
  | 'elbv2:RemoveTags';

/** AWS' documented default attributes of an NLB. */
const attributesOfNew: Readonly<Record<string, string>> = {
  'access_logs.s3.bucket': '',
  'access_logs.s3.enabled': 'false',
  'access_logs.s3.prefix': '',
  'deletion_protection.enabled': 'false',
  'dns_record.client_routing_policy': 'any_availability_zone',
  'load_balancing.cross_zone.enabled': 'false',
  'zonal_shift.config.enabled': 'false',
};

/** Checks subnets as AWS does, and returns the zones that AWS shows. */
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
    if (mapping.IPv6Address !== undefined && !dualstack) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'not dual stack');
    const { AllocationId, PrivateIPv4Address, IPv6Address } = mapping;
    const own = Object.fromEntries(
      Object.entries({ AllocationId, PrivateIPv4Address, IPv6Address }).filter(([, value]) => value !== undefined),
    );
    const LoadBalancerAddresses = Object.keys(own).length === 0 ? [] : [own];
    return { ZoneName: subnet.AvailabilityZone, SubnetId: mapping.SubnetId, LoadBalancerAddresses, ...prefixes(mapping) };
  });
  if (new Set(zones.map(({ ZoneName }) => ZoneName)).size < zones.length)
    refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'two subnets in a zone');
  return zones;
}

function without<T extends object>(value: T, key: keyof T): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key)) as T;
}

function prefixes({ SourceNatIpv6Prefix: prefix }: SubnetMapping): { SourceNatIpv6Prefixes?: readonly string[] } {
  return prefix === undefined ? {} : { SourceNatIpv6Prefixes: [prefix === 'auto_assigned' ? '2001:db8:0:1:2::/80' : prefix] };
}

/** An Elastic IP is in one place only, also while its zone is being removed. */
function checkFree(operation: Operation, world: World, mappings: readonly SubnetMapping[], arn?: string): void {
  for (const { AllocationId = '', PrivateIPv4Address, IPv6Address } of mappings) {
    const isHeld = world.podInterfaces.some(
      ({ PrivateIpAddresses, Ipv6Addresses }) =>
        PrivateIpAddresses.some((one) => one.PrivateIpAddress === PrivateIPv4Address) ||
        Ipv6Addresses.some((one) => one.Ipv6Address === IPv6Address),
    );
    if (world.associated.has(AllocationId) || isHeld) refuse(operation, 'inUse', 'ResourceInUse', AllocationId);
  }
  for (const { value } of world.loadBalancers.values())
    for (const { SubnetId, LoadBalancerAddresses = [] } of value.AvailabilityZones)
      for (const { AllocationId } of LoadBalancerAddresses) {
        const elsewhere = mappings.some(
          (one) => one.AllocationId === AllocationId && (value.LoadBalancerArn !== arn || one.SubnetId !== SubnetId),
        );
        if (AllocationId !== undefined && elsewhere) refuse(operation, 'inUse', 'ResourceInUse', AllocationId);
      }
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

function shown(world: World, { value, createdAt: madeAt }: FakeLoadBalancer): FakeLoadBalancer['value'] {
  const isFailed = value.State.Code === 'failed';
  const Code = isFailed ? 'failed' : world.now() - madeAt >= world.provisioningSeconds ? 'active' : 'provisioning';
  return { ...value, State: { ...value.State, Code } };
}

function capacityState(world: World, { units, since }: FakeLoadBalancer['capacity']) {
  if (world.now() - since < delays.capacity) return { Code: 'pending' } as const;
  return units > world.capacityUnits ? ({ Code: 'failed', Reason: 'InsufficientCapacity' } as const) : ({ Code: 'provisioned' } as const);
}

const tagged = (world: World, arn: string): boolean =>
  world.loadBalancers.has(arn) || world.targetGroups.has(arn) || world.listeners.has(arn);

export const loadBalancerHandlers: Pick<Handlers, Own> = {
  'elbv2:DescribeLoadBalancers': (world, { LoadBalancerArns, Names }) => {
    const isVisible = ({ value }: FakeLoadBalancer): boolean => world.isVisible(value.LoadBalancerArn);
    const find = (text: string): FakeLoadBalancer => {
      const found =
        LoadBalancerArns === undefined
          ? world.loadBalancers.values().find((one) => one.value.LoadBalancerName === text && isVisible(one))
          : world.loadBalancers.get(text);
      if (found !== undefined && isVisible(found)) return found;
      return refuse('elbv2:DescribeLoadBalancers', 'notFound', 'LoadBalancerNotFound', text);
    };
    const wanted = LoadBalancerArns ?? Names;
    const found = wanted === undefined ? world.loadBalancers.values().filter(isVisible).toArray() : wanted.map(find);
    return { LoadBalancers: found.map((one) => shown(world, one)) };
  },
  'elbv2:DescribeLoadBalancerAttributes': (world, { LoadBalancerArn }) => ({
    Attributes: [...loadBalancer('elbv2:DescribeLoadBalancerAttributes', world, LoadBalancerArn).attributes].map(([Key, Value]) => ({
      Key,
      Value,
    })),
  }),
  'elbv2:DescribeCapacityReservation': (world, { LoadBalancerArn }) => {
    const { value, capacity } = loadBalancer('elbv2:DescribeCapacityReservation', world, LoadBalancerArn);
    if (capacity.units === 0) return { CapacityReservationState: [] };
    const State = capacityState(world, capacity);
    return {
      MinimumLoadBalancerCapacity: { CapacityUnits: capacity.units },
      CapacityReservationState: value.AvailabilityZones.map(({ ZoneName }) => ({ AvailabilityZone: ZoneName, State })),
    };
  },
  'elbv2:ModifyCapacityReservation': (world, { LoadBalancerArn, MinimumLoadBalancerCapacity, ResetCapacityReservation }) => {
    const operation = 'elbv2:ModifyCapacityReservation';
    const one = loadBalancer(operation, world, LoadBalancerArn);
    const units = MinimumLoadBalancerCapacity?.CapacityUnits;
    if ((units === undefined) === (ResetCapacityReservation !== true) || units === 0) refuse(operation, 'invalid', 'ValidationError');
    if (shown(world, one).State.Code !== 'active') refuse(operation, 'invalid', 'OperationNotPermitted', 'not active');
    if (capacityState(world, one.capacity).Code === 'pending') refuse(operation, 'inUse', 'CapacityReservationPending');
    one.capacity = { units: units ?? 0, since: world.now() };
    return {};
  },
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
    checkFree(operation, world, input.SubnetMappings);
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
        EnablePrefixForIpv6SourceNat: input.EnablePrefixForIpv6SourceNat ?? 'off',
        ...((input.SecurityGroups ?? []).length === 0 ? {} : { EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: 'on' }),
      },
      input: JSON.stringify(input),
      createdAt: world.now(),
      zonesSince: new Map(),
      attributes: new Map(Object.entries(attributesOfNew)),
      capacity: { units: 0, since: -Infinity },
    };
    world.loadBalancers.set(LoadBalancerArn, made);
    world.recordCreated(LoadBalancerArn, input.Tags);
    return { LoadBalancers: [shown(world, made)] };
  },
  'elbv2:ModifyLoadBalancerAttributes': (world, { LoadBalancerArn, Attributes }) => {
    const operation = 'elbv2:ModifyLoadBalancerAttributes';
    const { attributes } = loadBalancer(operation, world, LoadBalancerArn);
    for (const { Key, Value } of Attributes) {
      const isNone = Key === 'access_logs.s3.bucket' && Value === '';
      if (attributesOfNew[Key] === undefined || isNone) refuse(operation, 'invalid', 'InvalidConfigurationRequest', Key);
    }
    for (const { Key, Value } of Attributes) attributes.set(Key, Value);
    return {};
  },
  'elbv2:SetSubnets': (world, { LoadBalancerArn, SubnetMappings, IpAddressType, EnablePrefixForIpv6SourceNat }) => {
    const operation = 'elbv2:SetSubnets';
    const { value, zonesSince } = loadBalancer(operation, world, LoadBalancerArn);
    const type = IpAddressType ?? value.IpAddressType;
    const zones = zonesOf(operation, world, SubnetMappings, value.Scheme, type === 'dualstack');
    checkFree(operation, world, SubnetMappings, LoadBalancerArn);
    value.AvailabilityZones = zones.map((zone) => {
      const before = value.AvailabilityZones.find(({ ZoneName }) => ZoneName === zone.ZoneName);
      if (before === undefined) {
        zonesSince.set(zone.ZoneName, world.now());
        return zone;
      }
      if (before.SubnetId !== zone.SubnetId) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'another subnet of the zone');
      const [had = {}] = before.LoadBalancerAddresses ?? [];
      const [wanted = {}] = zone.LoadBalancerAddresses ?? [];
      for (const key of ['AllocationId', 'PrivateIPv4Address', 'IPv6Address'] as const) {
        // The first IPv6 address may be added when the load balancer becomes dual stack.
        const comes = key === 'IPv6Address' && value.IpAddressType === 'ipv4';
        if (wanted[key] !== undefined && wanted[key] !== had[key] && !comes)
          refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'another address of the zone');
      }
      const addresses = { ...had, ...wanted };
      return { ...before, ...zone, LoadBalancerAddresses: Object.keys(addresses).length === 0 ? [] : [addresses] };
    });
    value.IpAddressType = type;
    if (EnablePrefixForIpv6SourceNat === 'on' && type !== 'dualstack') refuse(operation, 'invalid', 'InvalidConfigurationRequest');
    if (EnablePrefixForIpv6SourceNat !== undefined) value.EnablePrefixForIpv6SourceNat = EnablePrefixForIpv6SourceNat;
    if (EnablePrefixForIpv6SourceNat === 'off')
      value.AvailabilityZones = value.AvailabilityZones.map((zone) => without(zone, 'SourceNatIpv6Prefixes'));
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
    if (IpAddressType === 'ipv4') {
      if (value.EnablePrefixForIpv6SourceNat === 'on') refuse('elbv2:SetIpAddressType', 'invalid', 'InvalidConfigurationRequest');
      value.AvailabilityZones = value.AvailabilityZones.map(({ LoadBalancerAddresses = [], ...zone }) => ({
        ...zone,
        LoadBalancerAddresses: LoadBalancerAddresses.map((one) => without(one, 'IPv6Address')).filter((one) => Object.keys(one).length > 0),
      }));
    }
    value.IpAddressType = IpAddressType;
    return {};
  },
  'elbv2:DeleteLoadBalancer': (world, { LoadBalancerArn }) => {
    const found = world.loadBalancers.get(LoadBalancerArn);
    if (found === undefined) return {};
    if (found.attributes.get('deletion_protection.enabled') === 'true')
      refuse('elbv2:DeleteLoadBalancer', 'protected', 'OperationNotPermitted');
    if ([...world.endpointServices.values()].some(({ value }) => value.NetworkLoadBalancerArns.includes(LoadBalancerArn)))
      refuse('elbv2:DeleteLoadBalancer', 'inUse', 'ResourceInUse', 'an endpoint service has it');
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
