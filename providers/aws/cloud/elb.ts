import type { Scheme, Tag } from './elbv2.ts';

/** The operations of Elastic Load Balancing (API version 2012-06-01), the Classic Load Balancer, that Herald uses, in AWS' own spelling. */
export interface ElbOperations {
  DescribeLoadBalancers: {
    /** Absent: all load balancers of the region. A missing name fails the whole call with `notFound`. */
    input: { readonly LoadBalancerNames?: readonly string[] };
    output: { readonly LoadBalancerDescriptions: readonly ClassicLoadBalancer[] };
  };
  DescribeLoadBalancerAttributes: { input: Named; output: { readonly LoadBalancerAttributes: ClassicAttributes } };
  DescribeLoadBalancerPolicies: { input: Named; output: { readonly PolicyDescriptions: readonly PolicyDescription[] } };
  DescribeInstanceHealth: {
    input: Named;
    output: { readonly InstanceStates: readonly { readonly InstanceId: string; readonly State: string; readonly ReasonCode?: string }[] };
  };
  /** Any number of names. The edge sends them in requests of 20. */
  DescribeTags: {
    input: { readonly LoadBalancerNames: readonly string[] };
    output: { readonly TagDescriptions: readonly { readonly LoadBalancerName: string; readonly Tags: readonly Tag[] }[] };
  };
  CreateLoadBalancer: { input: CreateClassicInput; output: { readonly DNSName: string } };
  DeleteLoadBalancer: { input: Named; output: object };
  CreateLoadBalancerListeners: { input: Named & { readonly Listeners: readonly ClassicListener[] }; output: object };
  DeleteLoadBalancerListeners: { input: Named & { readonly LoadBalancerPorts: readonly number[] }; output: object };
  SetLoadBalancerListenerSSLCertificate: {
    input: Named & { readonly LoadBalancerPort: number; readonly SSLCertificateId: string };
    output: object;
  };
  CreateLoadBalancerPolicy: {
    input: Named & {
      readonly PolicyName: string;
      readonly PolicyTypeName: string;
      readonly PolicyAttributes: readonly { readonly AttributeName: string; readonly AttributeValue: string }[];
    };
    output: object;
  };
  /** Replaces all policies of the listener. */
  SetLoadBalancerPoliciesOfListener: {
    input: Named & { readonly LoadBalancerPort: number; readonly PolicyNames: readonly string[] };
    output: object;
  };
  /** Replaces all policies of the instance port. */
  SetLoadBalancerPoliciesForBackendServer: {
    input: Named & { readonly InstancePort: number; readonly PolicyNames: readonly string[] };
    output: object;
  };
  ConfigureHealthCheck: { input: Named & { readonly HealthCheck: ClassicHealthCheck }; output: object };
  ModifyLoadBalancerAttributes: { input: Named & { readonly LoadBalancerAttributes: ClassicAttributes }; output: object };
  AttachLoadBalancerToSubnets: { input: Named & { readonly Subnets: readonly string[] }; output: object };
  DetachLoadBalancerFromSubnets: { input: Named & { readonly Subnets: readonly string[] }; output: object };
  ApplySecurityGroupsToLoadBalancer: { input: Named & { readonly SecurityGroups: readonly string[] }; output: object };
  RegisterInstancesWithLoadBalancer: { input: Named & { readonly Instances: readonly Instance[] }; output: object };
  DeregisterInstancesFromLoadBalancer: { input: Named & { readonly Instances: readonly Instance[] }; output: object };
  AddTags: { input: { readonly LoadBalancerNames: readonly string[]; readonly Tags: readonly Tag[] }; output: object };
  RemoveTags: {
    input: { readonly LoadBalancerNames: readonly string[]; readonly Tags: readonly { readonly Key: string }[] };
    output: object;
  };
}

export type ClassicProtocol = 'TCP' | 'SSL' | 'HTTP' | 'HTTPS';

interface Named {
  readonly LoadBalancerName: string;
}

interface Instance {
  readonly InstanceId: string;
}

export interface ClassicLoadBalancer {
  readonly LoadBalancerName: string;
  readonly DNSName: string;
  readonly CanonicalHostedZoneNameID?: string;
  readonly Scheme: Scheme;
  readonly VPCId: string;
  readonly Subnets: readonly string[];
  readonly AvailabilityZones: readonly string[];
  readonly SecurityGroups: readonly string[];
  readonly ListenerDescriptions: readonly { readonly Listener: ClassicListener; readonly PolicyNames: readonly string[] }[];
  readonly BackendServerDescriptions: readonly { readonly InstancePort: number; readonly PolicyNames: readonly string[] }[];
  readonly HealthCheck: ClassicHealthCheck;
  readonly Instances: readonly Instance[];
}

export interface ClassicListener {
  readonly Protocol: ClassicProtocol;
  readonly LoadBalancerPort: number;
  readonly InstanceProtocol: ClassicProtocol;
  readonly InstancePort: number;
  /** The ARN of an ACM or IAM certificate. Only with SSL and HTTPS. */
  readonly SSLCertificateId?: string;
}

export interface ClassicHealthCheck {
  /** For example "TCP:30080", "SSL:30444" or "HTTP:32000/healthz". */
  readonly Target: string;
  readonly Interval: number;
  readonly Timeout: number;
  readonly HealthyThreshold: number;
  readonly UnhealthyThreshold: number;
}

export interface ClassicAttributes {
  readonly CrossZoneLoadBalancing?: { readonly Enabled: boolean };
  readonly AccessLog?: {
    readonly Enabled: boolean;
    readonly S3BucketName?: string;
    readonly S3BucketPrefix?: string;
    readonly EmitInterval?: number;
  };
  readonly ConnectionDraining?: { readonly Enabled: boolean; readonly Timeout?: number };
  readonly ConnectionSettings?: { readonly IdleTimeout: number };
}

export interface PolicyDescription {
  readonly PolicyName: string;
  readonly PolicyTypeName: string;
  readonly PolicyAttributeDescriptions: readonly { readonly AttributeName: string; readonly AttributeValue: string }[];
}

interface CreateClassicInput extends Named {
  readonly Listeners: readonly ClassicListener[];
  readonly Subnets: readonly string[];
  readonly SecurityGroups: readonly string[];
  /** Absent: internet-facing. */
  readonly Scheme?: 'internal';
  readonly Tags: readonly Tag[];
}
