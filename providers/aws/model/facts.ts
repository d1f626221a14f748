import type { Reason } from '../../../src/model/reasons.ts';
import type { Certificate } from '../cloud/acm.ts';
import type { IpAddressType, Scheme, SubnetMapping } from '../cloud/elbv2.ts';

/** What is true of the account around the load balancers: read now and then, the same for all Services. */
export interface Facts {
  /** CIDRs of the VPC, of both families. */
  readonly vpcCidrs: readonly string[];
  /** Of the VPC, in order of their ids. */
  readonly subnets: readonly SubnetFact[];
  /** Of the VPC: to find those that are named. */
  readonly securityGroups: readonly SecurityGroupFact[];
  /** Issued certificates; empty unless certificates are discovered, and somebody asks for one by the name of a host. */
  readonly certificates: readonly Certificate[];
  /** Why they could not be read. */
  readonly certificatesRefused?: Reason;
  /** Of certificates of ACM that are written, by ARN; absent: nobody has asked. */
  readonly keys?: ReadonlyMap<string, CertificateKey>;
}

/** The algorithm of its key, as ACM names it, or why it is not known. */
export type CertificateKey = { readonly algorithm: string } | { readonly unknown: string };

export interface SubnetFact {
  readonly id: string;
  readonly zone: string;
  readonly cidr: string;
  readonly ipv6Cidr?: string;
  readonly availableAddresses: number;
  readonly tags: Readonly<Record<string, string>>;
  /** Its routes lead to an internet gateway. */
  readonly public: boolean;
}

interface SecurityGroupFact {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** What the load balancer of the stack is already: where nothing else is asked for, it stays so. */
export interface Existing {
  /** Absent: it does not matter. */
  readonly name?: string;
  readonly scheme: Scheme;
  readonly subnets: readonly SubnetMapping[];
  readonly ipAddressType: IpAddressType;
  readonly hasSecurityGroups: boolean;
}

/** What is already there of each kind and scheme, the balancer that is used first. */
export interface ExistingStack {
  readonly nlb?: Existing;
  readonly classic?: Existing;
  /** An NLB that was adopted, with its ARN. */
  readonly adopted?: Existing & { readonly arn: string };
}
