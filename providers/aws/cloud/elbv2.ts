/**
 * Elastic Load Balancing v2 (API version 2015-12-01) as far as we use it: names, spelling and shapes are AWS', reduced to the fields that
 * we send or read. A field that AWS leaves out where it has no value is optional here as well.
 */
export interface Elbv2Operations {
  DescribeLoadBalancers: {
    /** Names or ARNs; neither: all of the region. One that does not exist is `notFound` for the whole call. */
    input: { readonly LoadBalancerArns?: readonly string[]; readonly Names?: readonly string[] };
    output: { readonly LoadBalancers: readonly LoadBalancer[] };
  };
  DescribeLoadBalancerAttributes: { input: OfLoadBalancer; output: { readonly Attributes: readonly Attribute[] } };
  DescribeListeners: { input: OfLoadBalancer; output: { readonly Listeners: readonly Listener[] } };
  DescribeListenerAttributes: { input: OfListener; output: { readonly Attributes: readonly Attribute[] } };
  /** The default certificate is among them, marked as such. */
  DescribeListenerCertificates: { input: OfListener; output: { readonly Certificates: readonly ListenerCertificate[] } };
  DescribeTargetGroups: {
    /** At most one of the three; none: all of the region. */
    input: { readonly LoadBalancerArn?: string; readonly TargetGroupArns?: readonly string[]; readonly Names?: readonly string[] };
    output: { readonly TargetGroups: readonly TargetGroup[] };
  };
  DescribeTargetGroupAttributes: { input: OfTargetGroup; output: { readonly Attributes: readonly Attribute[] } };
  DescribeTargetHealth: { input: OfTargetGroup; output: { readonly TargetHealthDescriptions: readonly TargetHealthDescription[] } };
  /** Any number of ARNs (of load balancers, target groups and listeners); the edge asks for 20 at a time. */
  DescribeTags: {
    input: { readonly ResourceArns: readonly string[] };
    output: { readonly TagDescriptions: readonly { readonly ResourceArn: string; readonly Tags: readonly Tag[] }[] };
  };
  CreateLoadBalancer: { input: CreateLoadBalancerInput; output: { readonly LoadBalancers: readonly LoadBalancer[] } };
  ModifyLoadBalancerAttributes: { input: OfLoadBalancer & { readonly Attributes: readonly Attribute[] }; output: object };
  SetSubnets: {
    input: OfLoadBalancer & {
      readonly SubnetMappings: readonly SubnetMapping[];
      /** With IPv6 addresses of one's own for a load balancer that becomes dual stack. */
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
  /** Only what changes is sent. */
  ModifyTargetGroup: { input: OfTargetGroup & HealthCheckSettings; output: object };
  ModifyTargetGroupAttributes: { input: OfTargetGroup & { readonly Attributes: readonly Attribute[] }; output: object };
  DeleteTargetGroup: { input: OfTargetGroup; output: object };
  /** At most 200 targets a call. */
  RegisterTargets: { input: OfTargetGroup & { readonly Targets: readonly TargetDescription[] }; output: object };
  DeregisterTargets: { input: OfTargetGroup & { readonly Targets: readonly TargetDescription[] }; output: object };
  CreateListener: { input: CreateListenerInput; output: { readonly Listeners: readonly Listener[] } };
  /** Only what changes is sent. */
  ModifyListener: { input: ModifyListenerInput; output: object };
  ModifyListenerAttributes: { input: OfListener & { readonly Attributes: readonly Attribute[] }; output: object };
  DeleteListener: { input: OfListener; output: object };
  AddListenerCertificates: { input: ListenerCertificatesInput; output: object };
  RemoveListenerCertificates: { input: ListenerCertificatesInput; output: object };
  AddTags: { input: { readonly ResourceArns: readonly string[]; readonly Tags: readonly Tag[] }; output: object };
  RemoveTags: { input: { readonly ResourceArns: readonly string[]; readonly TagKeys: readonly string[] }; output: object };
}

export type NlbProtocol = 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS';
export type Scheme = 'internal' | 'internet-facing';
export type IpAddressType = 'ipv4' | 'dualstack';
export type TargetType = 'instance' | 'ip';
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

/** Of a load balancer, a listener or a target group. */
export interface Attribute {
  readonly Key: string;
  readonly Value: string;
}

export interface LoadBalancer {
  readonly LoadBalancerArn: string;
  readonly LoadBalancerName: string;
  readonly DNSName: string;
  /** Of DNS, for alias records of Route 53. */
  readonly CanonicalHostedZoneId?: string;
  readonly Type: 'network' | 'application' | 'gateway';
  readonly Scheme: Scheme;
  readonly VpcId: string;
  readonly State: { readonly Code: 'provisioning' | 'active' | 'active_impaired' | 'failed'; readonly Reason?: string };
  readonly IpAddressType: IpAddressType | 'dualstack-without-public-ipv4';
  readonly AvailabilityZones: readonly AvailabilityZone[];
  /** Absent or empty: made without security groups, and can never have any. */
  readonly SecurityGroups?: readonly string[];
  readonly EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic?: string;
  readonly EnablePrefixForIpv6SourceNat?: 'on' | 'off';
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
  /** A number as text, or traffic-port. */
  readonly HealthCheckPort?: string;
  /** Only with HTTP and HTTPS. */
  readonly HealthCheckPath?: string;
  readonly HealthCheckIntervalSeconds?: number;
  readonly HealthCheckTimeoutSeconds?: number;
  readonly HealthyThresholdCount?: number;
  readonly UnhealthyThresholdCount?: number;
  /** Only with HTTP and HTTPS: "200-399". */
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
  /** At most one: a target group serves one load balancer. */
  readonly LoadBalancerArns: readonly string[];
}

interface CreateTargetGroupInput extends HealthCheckSettings {
  readonly Name: string;
  readonly Protocol: NlbProtocol;
  readonly Port: number;
  readonly VpcId: string;
  readonly TargetType: TargetType;
  readonly IpAddressType: 'ipv4' | 'ipv6';
  readonly Tags: readonly Tag[];
}

/** A target is identified by id and port together. */
export interface TargetDescription {
  /** An instance, or an IP address. */
  readonly Id: string;
  readonly Port: number;
  /** "all" for an IP address outside of the VPC. */
  readonly AvailabilityZone?: string;
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
  /** The default certificate alone. */
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly SslPolicy?: string;
  readonly AlpnPolicy?: readonly string[];
}

export interface ForwardAction {
  readonly Type: 'forward';
  readonly TargetGroupArn: string;
}

export interface ListenerCertificate {
  readonly CertificateArn: string;
  readonly IsDefault: boolean;
}

interface CreateListenerInput {
  readonly LoadBalancerArn: string;
  readonly Port: number;
  readonly Protocol: NlbProtocol;
  readonly DefaultActions: readonly ForwardAction[];
  /** Exactly one with TLS: the default certificate. */
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly SslPolicy?: string;
  readonly AlpnPolicy?: readonly AlpnPolicy[];
  readonly Tags: readonly Tag[];
}

interface ModifyListenerInput {
  readonly ListenerArn: string;
  readonly Port?: number;
  readonly Protocol?: NlbProtocol;
  readonly DefaultActions?: readonly ForwardAction[];
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly SslPolicy?: string;
  readonly AlpnPolicy?: readonly AlpnPolicy[];
}

interface ListenerCertificatesInput {
  readonly ListenerArn: string;
  /** One call, one certificate: AWS answers for the call as a whole. */
  readonly Certificates: readonly { readonly CertificateArn: string }[];
}
