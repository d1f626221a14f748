/**
 * The operations of Elastic Load Balancing v2 (API version 2015-12-01) that Herald uses. Names, spelling and shapes are AWS', reduced to
 * the fields that Herald sends or reads. A field is optional here if AWS omits it when it has no value.
 */
export interface Elbv2Operations {
  DescribeLoadBalancers: {
    /** Names or ARNs; with neither, all load balancers of the region. A missing one fails the whole call with `notFound`. */
    input: { readonly LoadBalancerArns?: readonly string[]; readonly Names?: readonly string[] };
    output: { readonly LoadBalancers: readonly LoadBalancer[] };
  };
  DescribeLoadBalancerAttributes: { input: OfLoadBalancer; output: { readonly Attributes: readonly Attribute[] } };
  DescribeCapacityReservation: { input: OfLoadBalancer; output: CapacityReservation };
  DescribeListeners: { input: OfLoadBalancer; output: { readonly Listeners: readonly Listener[] } };
  DescribeListenerAttributes: { input: OfListener; output: { readonly Attributes: readonly Attribute[] } };
  /** Includes the default certificate, which is marked. */
  DescribeListenerCertificates: { input: OfListener; output: { readonly Certificates: readonly ListenerCertificate[] } };
  /** A missing policy fails the whole call. */
  DescribeSSLPolicies: {
    input: { readonly Names: readonly string[] };
    output: { readonly SslPolicies: readonly { readonly Name: string }[] };
  };
  DescribeTargetGroups: {
    /** At most one of the three. With none: all target groups of the region. */
    input: { readonly LoadBalancerArn?: string; readonly TargetGroupArns?: readonly string[]; readonly Names?: readonly string[] };
    output: { readonly TargetGroups: readonly TargetGroup[] };
  };
  DescribeTargetGroupAttributes: { input: OfTargetGroup; output: { readonly Attributes: readonly Attribute[] } };
  DescribeTargetHealth: { input: OfTargetGroup; output: { readonly TargetHealthDescriptions: readonly TargetHealthDescription[] } };
  /** Any number of ARNs of load balancers, target groups and listeners. The edge sends them in requests of 20. */
  DescribeTags: {
    input: { readonly ResourceArns: readonly string[] };
    output: { readonly TagDescriptions: readonly { readonly ResourceArn: string; readonly Tags: readonly Tag[] }[] };
  };
  CreateLoadBalancer: { input: CreateLoadBalancerInput; output: { readonly LoadBalancers: readonly LoadBalancer[] } };
  ModifyLoadBalancerAttributes: { input: OfLoadBalancer & { readonly Attributes: readonly Attribute[] }; output: object };
  ModifyCapacityReservation: {
    input: OfLoadBalancer & {
      readonly MinimumLoadBalancerCapacity?: { readonly CapacityUnits: number };
      /** Ends the reservation. */
      readonly ResetCapacityReservation?: boolean;
    };
    output: object;
  };
  SetSubnets: {
    input: OfLoadBalancer & {
      readonly SubnetMappings: readonly SubnetMapping[];
      /** Set together with chosen IPv6 addresses when a load balancer becomes dual stack. */
      readonly IpAddressType?: IpAddressType;
      readonly EnablePrefixForIpv6SourceNat?: 'on' | 'off';
    };
    output: object;
  };
  SetSecurityGroups: {
    input: OfLoadBalancer & {
      readonly SecurityGroups: readonly string[];
      readonly EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic?: 'on' | 'off';
    };
    output: object;
  };
  SetIpAddressType: { input: OfLoadBalancer & { readonly IpAddressType: IpAddressType }; output: object };
  DeleteLoadBalancer: { input: OfLoadBalancer; output: object };
  CreateTargetGroup: { input: CreateTargetGroupInput; output: { readonly TargetGroups: readonly TargetGroup[] } };
  /** Only changed fields are sent. */
  ModifyTargetGroup: { input: OfTargetGroup & HealthCheckSettings; output: object };
  ModifyTargetGroupAttributes: { input: OfTargetGroup & { readonly Attributes: readonly Attribute[] }; output: object };
  DeleteTargetGroup: { input: OfTargetGroup; output: object };
  /** At most 200 targets per call. */
  RegisterTargets: { input: OfTargetGroup & { readonly Targets: readonly TargetDescription[] }; output: object };
  DeregisterTargets: { input: OfTargetGroup & { readonly Targets: readonly TargetDescription[] }; output: object };
  CreateListener: { input: CreateListenerInput; output: { readonly Listeners: readonly Listener[] } };
  /** Only changed fields are sent. */
  ModifyListener: { input: ModifyListenerInput; output: object };
  ModifyListenerAttributes: { input: OfListener & { readonly Attributes: readonly Attribute[] }; output: object };
  DeleteListener: { input: OfListener; output: object };
  AddListenerCertificates: { input: ListenerCertificatesInput; output: object };
  RemoveListenerCertificates: { input: ListenerCertificatesInput; output: object };
  AddTags: { input: { readonly ResourceArns: readonly string[]; readonly Tags: readonly Tag[] }; output: object };
  RemoveTags: { input: { readonly ResourceArns: readonly string[]; readonly TagKeys: readonly string[] }; output: object };
}

export type NlbProtocol = 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS' | 'QUIC' | 'TCP_QUIC';
export type Scheme = 'internal' | 'internet-facing';
export type IpAddressType = 'ipv4' | 'dualstack';
export type TargetType = 'instance' | 'ip' | 'alb';
export type HealthCheckProtocol = 'TCP' | 'HTTP' | 'HTTPS';
export type AlpnPolicy = 'HTTP1Only' | 'HTTP2Only' | 'HTTP2Optional' | 'HTTP2Preferred' | 'None';

interface OfLoadBalancer {
  readonly LoadBalancerArn: string;
}

interface OfListener {
  readonly ListenerArn: string;
}

interface OfTargetGroup {
  readonly TargetGroupArn: string;
}

export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/** An attribute of a load balancer, a listener or a target group. */
export type Attribute = Tag;

export interface LoadBalancer {
  readonly LoadBalancerArn: string;
  readonly LoadBalancerName: string;
  readonly DNSName: string;
  /** The hosted zone for alias records in Route 53. */
  readonly CanonicalHostedZoneId?: string;
  readonly Type: 'network' | 'application' | 'gateway';
  readonly Scheme: Scheme;
  readonly VpcId: string;
  readonly State: { readonly Code: 'provisioning' | 'active' | 'active_impaired' | 'failed'; readonly Reason?: string };
  readonly IpAddressType: IpAddressType | 'dualstack-without-public-ipv4';
  readonly AvailabilityZones: readonly AvailabilityZone[];
  /** Absent or empty: the load balancer was created without security groups and can never get any. */
  readonly SecurityGroups?: readonly string[];
  readonly EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic?: string;
  readonly EnablePrefixForIpv6SourceNat?: 'on' | 'off';
}

export interface CapacityReservation {
  /** Absent: none is reserved. */
  readonly MinimumLoadBalancerCapacity?: { readonly CapacityUnits: number };
  /** By zone. */
  readonly CapacityReservationState: readonly {
    readonly AvailabilityZone?: string;
    readonly State: { readonly Code: 'provisioned' | 'pending' | 'rebalancing' | 'failed'; readonly Reason?: string };
  }[];
}

export interface AvailabilityZone {
  readonly ZoneName: string;
  readonly SubnetId: string;
  readonly LoadBalancerAddresses?: readonly {
    readonly IpAddress?: string;
    readonly AllocationId?: string;
    readonly PrivateIPv4Address?: string;
    readonly IPv6Address?: string;
  }[];
  readonly SourceNatIpv6Prefixes?: readonly string[];
}

export interface SubnetMapping {
  readonly SubnetId: string;
  readonly AllocationId?: string;
  readonly PrivateIPv4Address?: string;
  readonly IPv6Address?: string;
  readonly SourceNatIpv6Prefix?: string;
}

interface CreateLoadBalancerInput {
  readonly Name: string;
  readonly Type: 'network';
  readonly Scheme: Scheme;
  readonly IpAddressType: IpAddressType;
  readonly SubnetMappings: readonly SubnetMapping[];
  readonly SecurityGroups?: readonly string[];
  readonly EnablePrefixForIpv6SourceNat?: 'on' | 'off';
  readonly Tags: readonly Tag[];
}

/** The fields of a health check, named as in DescribeTargetGroups. */
export interface HealthCheckSettings {
  readonly HealthCheckProtocol?: HealthCheckProtocol;
  /** A number as text, or "traffic-port". */
  readonly HealthCheckPort?: string;
  /** Only with HTTP and HTTPS. */
  readonly HealthCheckPath?: string;
  readonly HealthCheckIntervalSeconds?: number;
  readonly HealthCheckTimeoutSeconds?: number;
  readonly HealthyThresholdCount?: number;
  readonly UnhealthyThresholdCount?: number;
  /** Only with HTTP and HTTPS, for example "200-399". */
  readonly Matcher?: { readonly HttpCode: string };
}

export interface TargetGroup extends HealthCheckSettings {
  readonly TargetGroupArn: string;
  readonly TargetGroupName: string;
  readonly Protocol: NlbProtocol;
  readonly Port: number;
  readonly VpcId: string;
  readonly TargetType: TargetType;
  readonly IpAddressType: 'ipv4' | 'ipv6';
  /** At most one ARN: a target group serves one load balancer. */
  readonly LoadBalancerArns: readonly string[];
}

interface CreateTargetGroupInput extends Omit<TargetGroup, 'TargetGroupArn' | 'TargetGroupName' | 'LoadBalancerArns'> {
  readonly Name: string;
  readonly Tags: readonly Tag[];
}

/** A target. Id and port together identify it. */
export interface TargetDescription {
  /** An instance id, an IP address, or the ARN of an ALB. */
  readonly Id: string;
  readonly Port: number;
  /** "all" for an IP address outside of the VPC. */
  readonly AvailabilityZone?: string;
  /** With QUIC and TCP_QUIC only: "0x" and 16 lower-case hexadecimal digits, once in a listener. AWS does not change it in place. */
  readonly QuicServerId?: string;
}

export interface TargetHealthDescription {
  readonly Target: TargetDescription;
  readonly TargetHealth: {
    readonly State: 'initial' | 'healthy' | 'unhealthy' | 'unused' | 'draining' | 'unavailable';
    readonly Reason?: string;
    readonly Description?: string;
  };
}

export interface Listener {
  readonly ListenerArn: string;
  readonly LoadBalancerArn: string;
  readonly Port: number;
  readonly Protocol: NlbProtocol;
  readonly DefaultActions: readonly ForwardAction[];
  /** Only the default certificate. */
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly SslPolicy?: string;
  readonly AlpnPolicy?: readonly string[];
}

/** A forward to one target group (`TargetGroupArn`) or to several (`ForwardConfig`). */
export interface ForwardAction {
  readonly Type: 'forward';
  readonly TargetGroupArn?: string;
  readonly ForwardConfig?: ForwardConfig;
}

export interface ForwardConfig {
  readonly TargetGroups: readonly { readonly TargetGroupArn: string; readonly Weight: number }[];
  /** Not with TLS. Absent: not sticky. */
  readonly TargetGroupStickinessConfig?: { readonly Enabled: boolean };
}

export interface ListenerCertificate {
  readonly CertificateArn: string;
  readonly IsDefault: boolean;
}

/** With TLS exactly one certificate, the default one. */
interface CreateListenerInput extends Omit<Listener, 'ListenerArn' | 'AlpnPolicy'> {
  readonly AlpnPolicy?: readonly AlpnPolicy[];
  readonly Tags: readonly Tag[];
}

type ModifyListenerInput = OfListener & Partial<Omit<CreateListenerInput, 'LoadBalancerArn' | 'Tags'>>;

interface ListenerCertificatesInput extends OfListener {
  /** One certificate per call, because AWS accepts or refuses a call as a whole. */
  readonly Certificates: readonly { readonly CertificateArn: string }[];
}
