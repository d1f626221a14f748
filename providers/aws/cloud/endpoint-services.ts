import type { Tag } from './elbv2.ts';

/** The EC2 operations about PrivateLink endpoint services that Herald uses. */
export interface EndpointServiceOperations {
  /** A filter without a match returns an empty list. */
  DescribeVpcEndpointServiceConfigurations: {
    input: { readonly Filters: readonly { readonly Name: string; readonly Values: readonly string[] }[] };
    output: { readonly ServiceConfigurations: readonly EndpointService[] };
  };
  DescribeVpcEndpointServicePermissions: {
    input: OfService;
    output: { readonly AllowedPrincipals: readonly { readonly Principal: string }[] };
  };
  /** The endpoints of clients. */
  DescribeVpcEndpointConnections: { input: OfService; output: { readonly VpcEndpointConnections: readonly EndpointConnection[] } };
  CreateVpcEndpointServiceConfiguration: {
    input: {
      readonly NetworkLoadBalancerArns: readonly string[];
      readonly AcceptanceRequired: boolean;
      readonly PrivateDnsName?: string;
      readonly SupportedIpAddressTypes: readonly IpType[];
      readonly TagSpecifications: readonly { readonly ResourceType: 'vpc-endpoint-service'; readonly Tags: readonly Tag[] }[];
    };
    output: { readonly ServiceConfiguration: Pick<EndpointService, 'ServiceId'> };
  };
  /** Only changes are sent. */
  ModifyVpcEndpointServiceConfiguration: {
    input: OfService & {
      readonly AcceptanceRequired?: boolean;
      readonly PrivateDnsName?: string;
      readonly RemovePrivateDnsName?: true;
      readonly AddNetworkLoadBalancerArns?: readonly string[];
      readonly RemoveNetworkLoadBalancerArns?: readonly string[];
      readonly AddSupportedIpAddressTypes?: readonly IpType[];
      readonly RemoveSupportedIpAddressTypes?: readonly IpType[];
    };
    output: object;
  };
  ModifyVpcEndpointServicePermissions: {
    input: OfService & { readonly AddAllowedPrincipals?: readonly string[]; readonly RemoveAllowedPrincipals?: readonly string[] };
    output: object;
  };
  /** One service per call. Fails with `inUse` while clients are connected, and with `notFound`. */
  DeleteVpcEndpointServiceConfigurations: { input: { readonly ServiceIds: readonly [string] }; output: object };
}

export type IpType = 'ipv4' | 'ipv6';

interface OfService {
  readonly ServiceId: string;
}

export interface EndpointService {
  /** "vpce-svc-...". */
  readonly ServiceId: string;
  /** The name that clients use: "com.amazonaws.vpce.REGION.vpce-svc-...". */
  readonly ServiceName: string;
  readonly ServiceState: string;
  readonly AcceptanceRequired: boolean;
  readonly NetworkLoadBalancerArns: readonly string[];
  readonly PrivateDnsName?: string;
  /** Proves that the owner of the service has the domain of the private DNS name: a TXT record, and whether AWS has found it. */
  readonly PrivateDnsNameConfiguration?: { readonly State?: string; readonly Name?: string; readonly Value?: string };
  /** Absent: unknown. */
  readonly SupportedIpAddressTypes?: readonly string[];
  readonly Tags: readonly Tag[];
}

export interface EndpointConnection {
  readonly VpcEndpointId: string;
  /** The account of the client. */
  readonly VpcEndpointOwner: string;
  /** For example "available", "pendingAcceptance", "rejected". */
  readonly VpcEndpointState: string;
}
