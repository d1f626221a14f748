import type { AlpnPolicy, HealthCheckProtocol, IpAddressType, NlbProtocol, Scheme, SubnetMapping, TargetType } from '../cloud/elbv2.ts';
import type { ClassicAttributes, ClassicHealthCheck, ClassicListener } from '../cloud/elb.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Tags } from './observed.ts';

/** What one stack shall be: a load balancer with all that belongs to it. Serialisable. */
export type Desired = DesiredNlb | DesiredClassic;

interface DesiredBase {
  /** Names the stack in tags: "namespace/name" of its Service, or "shared:namespace/name". */
  readonly stack: string;
  /** At most 32 characters. Used only when something is created: what exists is recognised by its tags. */
  readonly name: string;
  readonly scheme: Scheme;
  readonly securityGroups: DesiredSecurityGroups;
  /** Of the load balancer. */
  readonly tags: Tags;
  /** TCP and UDP ports on which nodes (or pods) must be reached, health checks included. */
  readonly targetPorts: readonly TargetPort[];
}

export interface TargetPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

export type DesiredSecurityGroups =
  /** The load balancer has none, for good. */
  | { readonly kind: 'none' }
  /** The user's own. `backend`: that of the cluster comes with them, so that nodes let the load balancer in. */
  | { readonly kind: 'given'; readonly ids: readonly string[]; readonly backend: boolean }
  /** One of ours with these rules; `backend` as above. */
  | {
      readonly kind: 'managed';
      readonly name: string;
      readonly rules: readonly IngressRule[];
      readonly extra: readonly string[];
      readonly backend: boolean;
    };

/** One rule as AWS counts them: one source, one protocol, one range of ports. */
export interface IngressRule {
  /** tcp, udp, icmp or icmpv6. */
  readonly protocol: string;
  readonly from: number;
  readonly to: number;
  readonly source: RuleSource;
}

export type RuleSource =
  | { readonly kind: 'cidr'; readonly cidr: string }
  | { readonly kind: 'prefixList'; readonly id: string }
  | { readonly kind: 'group'; readonly id: string };

export interface DesiredNlb extends DesiredBase {
  readonly kind: 'nlb';
  /** Exists already, by the user's hand: it is neither created nor deleted, and its scheme and subnets are its own. */
  readonly adopted?: string;
  readonly ipAddressType: IpAddressType;
  readonly subnets: readonly SubnetMapping[];
  readonly enforcePrivateLink?: 'on' | 'off';
  readonly enablePrefixForIpv6SourceNat?: 'on' | 'off';
  /** Only these keys are managed. */
  readonly attributes: Tags;
  /** No two on one port. */
  readonly listeners: readonly DesiredListener[];
  readonly targetGroups: readonly DesiredTargetGroup[];
  /** Services that share it and cannot be understood at the moment: what they have stays as it is. */
  readonly untouched: readonly ServiceKey[];
}

export interface DesiredListener {
  readonly port: number;
  readonly protocol: NlbProtocol;
  /** `key` of a target group. */
  readonly targetGroup: string;
  /** The first is the default. Only with TLS, and never empty there. */
  readonly certificates: readonly string[];
  readonly sslPolicy?: string;
  readonly alpnPolicy?: AlpnPolicy;
  readonly attributes: Tags;
  readonly tags: Tags;
  /** Whose port it is: in a shared load balancer each Service removes only its own. */
  readonly service: ServiceKey;
}

export interface DesiredTargetGroup {
  /** "namespace/name:port/PROTOCOL". */
  readonly key: string;
  /** Carries a hash of what cannot be changed, so that a successor can stand beside it. */
  readonly name: string;
  readonly protocol: NlbProtocol;
  readonly port: number;
  readonly targetType: TargetType;
  readonly ipAddressType: 'ipv4' | 'ipv6';
  readonly healthCheck: DesiredHealthCheck;
  /** Only these keys are managed. */
  readonly attributes: Tags;
  readonly tags: Tags;
  readonly targets: readonly DesiredTarget[];
  /** Ids of targets that are about to go: they leave as soon as another one serves. */
  readonly departing: readonly string[];
}

export interface DesiredHealthCheck {
  readonly protocol: HealthCheckProtocol;
  readonly port: number | 'traffic-port';
  /** With HTTP and HTTPS. */
  readonly path?: string;
  readonly successCodes?: string;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly healthyThreshold: number;
  readonly unhealthyThreshold: number;
}

export interface DesiredTarget {
  readonly id: string;
  readonly port: number;
  /** "all": outside of the VPC. */
  readonly availabilityZone?: 'all';
}

export interface DesiredClassic extends DesiredBase {
  readonly kind: 'classic';
  readonly subnets: readonly string[];
  readonly listeners: readonly ClassicListener[];
  /** Reference security policy for every SSL and HTTPS listener; absent: AWS' default. */
  readonly sslPolicy?: string;
  /** Instance ports that are sent the proxy protocol, version 1. */
  readonly proxyProtocolPorts: readonly number[];
  readonly healthCheck: ClassicHealthCheck;
  readonly attributes: ClassicAttributes;
  readonly instances: readonly string[];
  /** Instances that are about to go. */
  readonly departing: readonly string[];
}
