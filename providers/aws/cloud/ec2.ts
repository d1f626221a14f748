import type { Tag } from './elbv2.ts';

/** EC2 as far as we use it: the network that load balancers stand in, and security groups. */
export interface Ec2Operations {
  DescribeVpcs: { input: { readonly VpcIds: readonly string[] }; output: { readonly Vpcs: readonly Vpc[] } };
  DescribeSubnets: { input: Filtered; output: { readonly Subnets: readonly Subnet[] } };
  DescribeRouteTables: { input: Filtered; output: { readonly RouteTables: readonly RouteTable[] } };
  DescribeSecurityGroups: {
    /** By id, one that does not exist is `notFound` for the whole call; by filter it is just not there. */
    input: { readonly GroupIds?: readonly string[]; readonly Filters?: readonly Filter[] };
    output: { readonly SecurityGroups: readonly SecurityGroup[] };
  };
  /** Those that do not exist are left out: the edge filters by instance-id instead of naming them. */
  DescribeInstances: { input: { readonly InstanceIds: readonly string[] }; output: { readonly Instances: readonly Instance[] } };
  DescribeNetworkInterfaces: { input: Filtered; output: { readonly NetworkInterfaces: readonly NetworkInterface[] } };
  CreateSecurityGroup: {
    input: {
      readonly GroupName: string;
      readonly Description: string;
      readonly VpcId: string;
      readonly TagSpecifications: readonly TagSpecification[];
    };
    output: { readonly GroupId: string };
  };
  DeleteSecurityGroup: { input: OfGroup; output: object };
  AuthorizeSecurityGroupIngress: { input: OfGroup & { readonly IpPermissions: readonly IpPermission[] }; output: object };
  RevokeSecurityGroupIngress: { input: OfGroup & { readonly IpPermissions: readonly IpPermission[] }; output: object };
  CreateTags: { input: { readonly Resources: readonly string[]; readonly Tags: readonly Tag[] }; output: object };
  DeleteTags: { input: { readonly Resources: readonly string[]; readonly Tags: readonly { readonly Key: string }[] }; output: object };
}

interface OfGroup {
  readonly GroupId: string;
}

export interface Filter {
  /** "vpc-id", "tag:KEY", "group-name", "private-ip-address", "group-id", "ip-permission.group-id". */
  readonly Name: string;
  readonly Values: readonly string[];
}

interface Filtered {
  readonly Filters: readonly Filter[];
}

interface TagSpecification {
  readonly ResourceType: 'security-group';
  readonly Tags: readonly Tag[];
}

export interface Vpc {
  readonly VpcId: string;
  /** The primary one and those associated later. */
  readonly CidrBlockAssociationSet: readonly { readonly CidrBlock: string }[];
  readonly Ipv6CidrBlockAssociationSet: readonly { readonly Ipv6CidrBlock: string }[];
}

export interface Subnet {
  readonly SubnetId: string;
  readonly VpcId: string;
  readonly AvailabilityZone: string;
  readonly CidrBlock: string;
  readonly Ipv6CidrBlockAssociationSet: readonly { readonly Ipv6CidrBlock: string }[];
  readonly AvailableIpAddressCount: number;
  /** Set on an AWS Outpost. */
  readonly OutpostArn?: string;
  readonly Tags: readonly Tag[];
}

export interface RouteTable {
  readonly RouteTableId: string;
  readonly VpcId: string;
  readonly Associations: readonly { readonly Main: boolean; readonly SubnetId?: string }[];
  readonly Routes: readonly {
    readonly GatewayId?: string;
    readonly DestinationCidrBlock?: string;
    readonly DestinationIpv6CidrBlock?: string;
  }[];
}

export interface SecurityGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  readonly Description: string;
  readonly VpcId: string;
  readonly IpPermissions: readonly IpPermission[];
  readonly Tags: readonly Tag[];
}

/** One protocol and port range with any number of sources: each pair of them counts as a rule. */
export interface IpPermission {
  /** "tcp", "udp", "icmp", "icmpv6" or "-1". */
  readonly IpProtocol: string;
  /** Of ICMP: the type. Absent with "-1". */
  readonly FromPort?: number;
  /** Of ICMP: the code. */
  readonly ToPort?: number;
  readonly IpRanges?: readonly { readonly CidrIp: string; readonly Description?: string }[];
  readonly Ipv6Ranges?: readonly { readonly CidrIpv6: string; readonly Description?: string }[];
  readonly PrefixListIds?: readonly { readonly PrefixListId: string; readonly Description?: string }[];
  readonly UserIdGroupPairs?: readonly { readonly GroupId: string; readonly Description?: string }[];
}

export interface Instance {
  readonly InstanceId: string;
  readonly VpcId: string;
  readonly State: { readonly Name: string };
  readonly Placement: { readonly AvailabilityZone: string };
  /** Of the primary network interface. */
  readonly SecurityGroups: readonly { readonly GroupId: string }[];
}

export interface NetworkInterface {
  readonly NetworkInterfaceId: string;
  readonly VpcId: string;
  readonly Groups: readonly { readonly GroupId: string }[];
  readonly PrivateIpAddresses: readonly { readonly PrivateIpAddress: string }[];
  readonly Ipv6Addresses: readonly { readonly Ipv6Address: string }[];
}
