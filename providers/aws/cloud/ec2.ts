import type { Tag } from './elbv2.ts';
import type { EndpointServiceOperations } from './endpoint-services.ts';

/** The EC2 operations that Herald uses: the network of the load balancers, security groups, and endpoint services. */
export interface Ec2Operations extends EndpointServiceOperations {
  DescribeVpcs: { input: { readonly VpcIds: readonly string[] }; output: { readonly Vpcs: readonly Vpc[] } };
  DescribeSubnets: { input: Filtered; output: { readonly Subnets: readonly Subnet[] } };
  DescribeRouteTables: { input: Filtered; output: { readonly RouteTables: readonly RouteTable[] } };
  DescribeSecurityGroups: {
    /** A missing id fails the whole call with `notFound`. A filter without a match returns an empty list. */
    input: { readonly GroupIds?: readonly string[]; readonly Filters?: readonly Filter[] };
    output: { readonly SecurityGroups: readonly SecurityGroup[] };
  };
  /** Instances that do not exist are omitted, because the edge filters by instance-id instead of passing ids. */
  DescribeInstances: { input: { readonly InstanceIds: readonly string[] }; output: { readonly Instances: readonly Instance[] } };
  DescribeNetworkInterfaces: { input: Filtered; output: { readonly NetworkInterfaces: readonly NetworkInterface[] } };
  /** Elastic IPs. A filter without a match returns an empty list. */
  DescribeAddresses: { input: Filtered; output: { readonly Addresses: readonly ElasticIp[] } };
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
  /** For example "vpc-id", "tag:KEY", "group-name", "private-ip-address", "group-id" or "ip-permission.group-id". */
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
  /** The primary CIDR block and those associated later. */
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
  /** Present on an AWS Outpost. */
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

/** One protocol and port range with any number of sources. AWS counts each pair of range and source as a rule. */
export interface IpPermission {
  /** "tcp", "udp", "icmp", "icmpv6" or "-1". */
  readonly IpProtocol: string;
  /** For ICMP: the type. Absent with "-1". */
  readonly FromPort?: number;
  /** For ICMP: the code. */
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
  /** The security groups of the primary network interface. */
  readonly SecurityGroups: readonly { readonly GroupId: string }[];
}

export interface ElasticIp {
  readonly AllocationId: string;
  /** The network interface that has it. */
  readonly NetworkInterfaceId?: string;
}

export interface NetworkInterface {
  readonly NetworkInterfaceId: string;
  /** Of an NLB: "ELB net/NAME/ID". */
  readonly Description?: string;
  readonly VpcId: string;
  readonly Groups: readonly { readonly GroupId: string }[];
  readonly PrivateIpAddresses: readonly { readonly PrivateIpAddress: string }[];
  readonly Ipv6Addresses: readonly { readonly Ipv6Address: string }[];
}
