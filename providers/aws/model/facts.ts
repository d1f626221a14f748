import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Certificate } from '../cloud/acm.ts';
import type { AddressFacts } from './addresses.ts';
import type { AlbFacts } from './targets/alb.ts';
import type { IpAddressType, Scheme, SubnetMapping, TargetGroup } from '../cloud/elbv2.ts';

/** The state of the account that is the same for all Services. Read periodically. */
export interface Facts {
  /** CIDRs of the VPC, of both families. */
  readonly vpcCidrs: readonly string[];
  /** Subnets of the VPC, ordered by id. */
  readonly subnets: readonly SubnetFact[];
  /** Security groups of the VPC, to find those that Services name. */
  readonly securityGroups: readonly SecurityGroupFact[];
  /** Issued certificates. Empty unless discovery is on and a Service selects a certificate by host name. */
  readonly certificates: readonly Certificate[];
  /** Why the certificates could not be read. */
  readonly certificatesRefused?: Reason;
  /** Absent: no Service names addresses, or AWS does not permit to read them. */
  readonly addresses?: AddressFacts;
  /** Load balancers that Services name as targets. Absent: none is named. */
  readonly albs?: AlbFacts;
  /** Target groups that Services name and that exist, by ARN. Absent: none was asked for. */
  readonly targetGroups?: ReadonlyMap<string, NamedTargetGroup>;
  /** By name: true if AWS has the security policy. Absent: not asked for, or AWS does not say. */
  readonly sslPolicies?: ReadonlyMap<string, boolean>;
  /** Keys of ACM certificates that Services name, by ARN. Absent: none was asked for. */
  readonly keys?: ReadonlyMap<string, CertificateKey>;
}

/** The algorithm of a certificate's key, as ACM names it, or why it is unknown. `isOfController`: the log of the controller says it. */
export type CertificateKey =
  | { readonly algorithm: string }
  | { readonly unknown: string; readonly isMissing?: true; readonly isOfController?: true };

export interface SubnetFact {
  readonly id: string;
  readonly zone: string;
  readonly cidr: string;
  readonly ipv6Cidr?: string;
  readonly availableAddresses: number;
  readonly tags: Readonly<Record<string, string>>;
  /** Its routes lead to an internet gateway. */
  readonly public: boolean;
  /** HeraldConfig does not allow the namespace of the Service to have it. It must not be discovered. */
  readonly isRefused?: true;
}

/** A target group of another owner that a Service names. */
export interface NamedTargetGroup {
  readonly group: TargetGroup;
  readonly tags: Readonly<Record<string, string>>;
}

interface SecurityGroupFact {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** Properties of the existing load balancer. They stay unless a Service asks for others. */
export interface Existing {
  /** Absent when it does not matter. */
  readonly name?: string;
  /** Of an NLB. Absent when it does not matter. */
  readonly arn?: string;
  readonly scheme: Scheme;
  /** With their addresses, as far as AWS shows them. */
  readonly subnets: readonly SubnetMapping[];
  /** The choice of subnets that a tag records: "named", or the address type and the ids. */
  readonly recordedSubnets?: string;
  readonly ipAddressType: IpAddressType;
  readonly hasSecurityGroups: boolean;
}

/** The existing load balancers, by kind and scheme. Where there are several, the one that is used first. */
export interface ExistingStack {
  readonly nlb?: Existing;
  /** All NLBs of the stack, including `nlb`. */
  readonly nlbs?: readonly Existing[];
  readonly classic?: Existing;
  /** By Service: when its last targets leave if it has none any more, RFC 3339. Absent for a Service: it has none that would stay. */
  readonly lastTargetsUntil?: ReadonlyMap<ServiceKey, string>;
  /** The adopted NLB, with its ARN. */
  readonly adopted?: Existing & { readonly arn: string };
}
