import type { AlpnPolicy, HealthCheckProtocol, IpAddressType, NlbProtocol, Scheme, SubnetMapping, TargetType } from '../cloud/elbv2.ts';
import type { IpType } from '../cloud/endpoint-services.ts';
import type { ClassicAttributes, ClassicHealthCheck, ClassicListener } from '../cloud/elb.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Tags } from './observed.ts';
import type { SharedGroup } from './targets/target-record.ts';

/** The desired state of one stack: a load balancer with all that belongs to it. Serialisable. */
export type Desired = DesiredNlb | DesiredClassic;

interface DesiredBase {
  /** The stack in tags: "namespace/name" of its Service, or "shared:namespace/name". */
  readonly stack: string;
  /** At most 32 characters. Used only to create: existing load balancers are recognised by their tags. */
  readonly name: string;
  readonly scheme: Scheme;
  readonly securityGroups: DesiredSecurityGroups;
  /** Tags of the load balancer. */
  readonly tags: Tags;
  /** TCP and UDP ports on which the load balancer must reach nodes or pods, including health checks. */
  readonly targetPorts: readonly TargetPort[];
}

export interface TargetPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

export type DesiredSecurityGroups =
  /** The load balancer was created without security groups, and AWS lets none be added later. */
  | { readonly kind: 'none' }
  /** The user's security groups. `backend`: the cluster's shared group is added, by which nodes admit the load balancer. */
  | { readonly kind: 'given'; readonly ids: readonly string[]; readonly backend: boolean }
  /** A security group that Herald makes, with these rules. `backend` as above. */
  | {
      readonly kind: 'managed';
      readonly name: string;
      readonly rules: readonly IngressRule[];
      readonly extra: readonly string[];
      readonly backend: boolean;
    };

/** One rule as AWS counts them: one source, one protocol, one port range. */
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
  /** ARN of a load balancer that the user made: it is neither created nor deleted, and keeps its scheme and subnets. */
  readonly adopted?: string;
  readonly ipAddressType: IpAddressType;
  readonly subnets: readonly SubnetMapping[];
  readonly enforcePrivateLink?: 'on' | 'off';
  readonly enablePrefixForIpv6SourceNat?: 'on' | 'off';
  /** Absent: the NLB shall have none that Herald made. */
  readonly endpointService?: DesiredEndpointService;
  /** Capacity that AWS reserves. Absent: not asked for. */
  readonly capacityUnits?: number;
  /** Only these keys are managed. */
  readonly attributes: Tags;
  /** At most one per port. */
  readonly listeners: readonly DesiredListener[];
  readonly targetGroups: readonly DesiredTargetGroup[];
  /** Deletes listeners that Herald did not make. */
  readonly removesForeignListeners: boolean;
  /** Services that share it and have errors: their parts stay unchanged. */
  readonly untouched: readonly ServiceKey[];
}

/** The PrivateLink endpoint service of an NLB. */
export interface DesiredEndpointService {
  readonly acceptanceRequired: boolean;
  /** Sorted. Nobody else may connect. */
  readonly principals: readonly string[];
  readonly privateDnsName?: string;
  /** Sorted. */
  readonly ipAddressTypes: readonly IpType[];
  readonly tags: Tags;
}

export interface DesiredListener {
  readonly port: number;
  readonly protocol: NlbProtocol;
  /** `key` of the target group of the Service. */
  readonly targetGroup: string;
  /** Absent: all connections go to `targetGroup`. */
  readonly weighted?: DesiredWeights;
  /** The first is the default. Only with TLS, where there is at least one. */
  readonly certificates: readonly string[];
  readonly sslPolicy?: string;
  readonly alpnPolicy?: AlpnPolicy;
  readonly attributes: Tags;
  readonly tags: Tags;
  /** The Service that owns the port. In a shared load balancer each Service removes only its own. */
  readonly service: ServiceKey;
}

export interface DesiredWeights {
  /** The weight of `targetGroup`. */
  readonly own: number;
  /** `group`: the key of a target group, or the ARN of one that Herald did not make. */
  readonly others: readonly { readonly group: string; readonly weight: number }[];
  readonly isSticky: boolean;
}

export interface DesiredTargetGroup {
  /** "namespace/name:port/PROTOCOL" of a listener; "+name:port" follows for the targets of another Service. */
  readonly key: string;
  /** Contains a hash of what AWS cannot change, so that a replacement can exist at the same time. */
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
  /** How many targets are missing in `targets` because AWS has refused them. */
  readonly refused?: number;
  /** Ids of targets that will go soon. They are deregistered when another target is healthy. */
  readonly departing: readonly string[];
  /** Present when others register targets in the group too. Theirs stay. */
  readonly shared?: SharedGroup;
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
  /** "all" for an address outside the VPC. */
  readonly availabilityZone?: 'all';
  /** With QUIC and TCP_QUIC: what AWS looks for in the connection ids of clients. */
  readonly quicServerId?: string;
}

export interface DesiredClassic extends DesiredBase {
  readonly kind: 'classic';
  readonly subnets: readonly string[];
  readonly listeners: readonly ClassicListener[];
  /** Reference security policy of each SSL and HTTPS listener. Absent: AWS' default. */
  readonly sslPolicy?: string;
  /** Instance ports that get the proxy protocol, version 1. */
  readonly proxyProtocolPorts: readonly number[];
  readonly healthCheck: ClassicHealthCheck;
  readonly attributes: ClassicAttributes;
  readonly instances: readonly string[];
  /** How many instances are missing in `instances` because AWS has refused them. */
  readonly refused?: number;
  /** Instances that will go soon. */
  readonly departing: readonly string[];
}
