import type * as Sdk from '@aws-sdk/client-ec2';
import type { EndpointConnection, EndpointService } from '../../cloud/endpoint-services.ts';
import type { ElasticIp, Instance, IpPermission, NetworkInterface, RouteTable, SecurityGroup, Subnet, Vpc } from '../../cloud/ec2.ts';
import { guaranteed, list, present, required } from './answer.ts';
import { toTags } from './elbv2.ts';

/** Converts the fields of EC2 answers that Herald reads. */
export function toVpc(one: Sdk.Vpc): Vpc {
  return {
    VpcId: required(one.VpcId, 'VpcId'),
    CidrBlockAssociationSet: list(one.CidrBlockAssociationSet).map(({ CidrBlock }) => ({ CidrBlock: required(CidrBlock, 'CidrBlock') })),
    Ipv6CidrBlockAssociationSet: toIpv6Blocks(one.Ipv6CidrBlockAssociationSet),
  };
}

/** A block that is being disassociated stays in the list for a while, without addresses. */
function toIpv6Blocks(
  blocks: readonly (Sdk.VpcIpv6CidrBlockAssociation | Sdk.SubnetIpv6CidrBlockAssociation)[] | undefined,
): readonly { readonly Ipv6CidrBlock: string }[] {
  return list(blocks).flatMap((block) => {
    const { Ipv6CidrBlock } = block;
    const state = 'Ipv6CidrBlockState' in block ? block.Ipv6CidrBlockState?.State : undefined;
    return Ipv6CidrBlock === undefined || state === 'disassociated' || state === 'failed' ? [] : [{ Ipv6CidrBlock }];
  });
}

export function toSubnet(one: Sdk.Subnet): Subnet {
  return present({
    ...guaranteed(one, 'SubnetId', 'VpcId', 'AvailabilityZone'),
    // Absent for an IPv6-only subnet.
    CidrBlock: one.CidrBlock ?? '',
    Ipv6CidrBlockAssociationSet: toIpv6Blocks(one.Ipv6CidrBlockAssociationSet),
    AvailableIpAddressCount: one.AvailableIpAddressCount ?? 0,
    // moto returns an empty text if there is none.
    OutpostArn: one.OutpostArn === '' ? undefined : one.OutpostArn,
    Tags: toTags(one.Tags),
  });
}

export function toRouteTable(one: Sdk.RouteTable): RouteTable {
  return {
    ...guaranteed(one, 'RouteTableId', 'VpcId'),
    Associations: list(one.Associations).map(({ Main, SubnetId }) => present({ Main: Main ?? false, SubnetId })),
    Routes: list(one.Routes).map(({ GatewayId, DestinationCidrBlock, DestinationIpv6CidrBlock }) =>
      present({ GatewayId, DestinationCidrBlock, DestinationIpv6CidrBlock }),
    ),
  };
}

export function toSecurityGroup(one: Sdk.SecurityGroup): SecurityGroup {
  return {
    ...guaranteed(one, 'GroupId', 'GroupName'),
    Description: one.Description ?? '',
    VpcId: required(one.VpcId, 'VpcId'),
    IpPermissions: list(one.IpPermissions).map(toPermission),
    Tags: toTags(one.Tags),
  };
}

function toPermission(one: Sdk.IpPermission): IpPermission {
  return present({
    IpProtocol: required(one.IpProtocol, 'IpProtocol'),
    FromPort: one.FromPort,
    ToPort: one.ToPort,
    IpRanges: some(one.IpRanges)?.map(({ CidrIp, Description }) => present({ CidrIp: required(CidrIp, 'CidrIp'), Description })),
    Ipv6Ranges: some(one.Ipv6Ranges)?.map(({ CidrIpv6, Description }) =>
      present({ CidrIpv6: required(CidrIpv6, 'CidrIpv6'), Description }),
    ),
    PrefixListIds: some(one.PrefixListIds)?.map(({ PrefixListId, Description }) =>
      present({ PrefixListId: required(PrefixListId, 'PrefixListId'), Description }),
    ),
    UserIdGroupPairs: some(one.UserIdGroupPairs)?.map(({ GroupId, Description }) =>
      present({ GroupId: required(GroupId, 'GroupId'), Description }),
    ),
  });
}

function some<Item>(items: readonly Item[] | undefined): readonly Item[] | undefined {
  return items === undefined || items.length === 0 ? undefined : items;
}

/** A terminated instance stays in the list for about an hour, without a VPC. */
export function toInstance(one: Sdk.Instance): Instance[] {
  if (one.VpcId === undefined || one.VpcId === '') return [];
  return [
    {
      InstanceId: required(one.InstanceId, 'InstanceId'),
      VpcId: one.VpcId,
      State: { Name: required(one.State?.Name, 'State') },
      Placement: { AvailabilityZone: required(one.Placement?.AvailabilityZone, 'AvailabilityZone') },
      SecurityGroups: list(one.SecurityGroups).map(({ GroupId }) => ({ GroupId: required(GroupId, 'GroupId') })),
    },
  ];
}

export function toNetworkInterface(one: Sdk.NetworkInterface): NetworkInterface {
  return present({
    NetworkInterfaceId: required(one.NetworkInterfaceId, 'NetworkInterfaceId'),
    Description: one.Description,
    VpcId: required(one.VpcId, 'VpcId'),
    Groups: list(one.Groups).map(({ GroupId }) => ({ GroupId: required(GroupId, 'GroupId') })),
    PrivateIpAddresses: list(one.PrivateIpAddresses).map(({ PrivateIpAddress }) => ({
      PrivateIpAddress: required(PrivateIpAddress, 'PrivateIpAddress'),
    })),
    Ipv6Addresses: list(one.Ipv6Addresses).map(({ Ipv6Address }) => ({ Ipv6Address: required(Ipv6Address, 'Ipv6Address') })),
  });
}

export function toElasticIp(one: Sdk.Address): ElasticIp {
  return present({
    AllocationId: required(one.AllocationId, 'AllocationId'),
    NetworkInterfaceId: one.NetworkInterfaceId === '' ? undefined : one.NetworkInterfaceId,
  });
}

export function toEndpointService(one: Sdk.ServiceConfiguration): EndpointService {
  const { PrivateDnsName, PrivateDnsNameConfiguration: dns } = one;
  return present({
    ...guaranteed(one, 'ServiceId', 'ServiceName'),
    ServiceState: one.ServiceState ?? '',
    AcceptanceRequired: one.AcceptanceRequired ?? true,
    NetworkLoadBalancerArns: list(one.NetworkLoadBalancerArns),
    PrivateDnsName: PrivateDnsName === '' ? undefined : PrivateDnsName,
    PrivateDnsNameConfiguration: dns === undefined ? undefined : present({ State: dns.State, Name: dns.Name, Value: dns.Value }),
    SupportedIpAddressTypes: one.SupportedIpAddressTypes,
    Tags: toTags(one.Tags),
  });
}

export function toEndpointConnection(one: Sdk.VpcEndpointConnection): EndpointConnection {
  return {
    VpcEndpointId: required(one.VpcEndpointId, 'VpcEndpointId'),
    VpcEndpointOwner: one.VpcEndpointOwner ?? '',
    VpcEndpointState: one.VpcEndpointState ?? '',
  };
}
