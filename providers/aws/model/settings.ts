import type { Scheme, TargetType } from '../cloud/elbv2.ts';

/** Whose Services without a loadBalancerClass are ours: nobody's, those with a legacy aws-load-balancer-type, or all (Classic by default). */
export const classlessModes = ['off', 'legacy', 'classic'] as const;
export type ClasslessMode = (typeof classlessModes)[number];

/** What belongs to an installation: flags of the controller. */
export interface AwsSettings {
  /** Owner of everything that is created, in tags; two controllers with different names leave each other alone. */
  readonly clusterName: string;
  readonly region: string;
  readonly vpcId: string;
  readonly classless: ClasslessMode;
  readonly defaultScheme: Scheme;
  readonly defaultTargetType: TargetType;
  readonly defaultSslPolicy: string;
  /** On everything that is created. */
  readonly defaultTags: Readonly<Record<string, string>>;
  /** `backend-protocol: https` on an NLB means what upstream makes of it, plain text to the target, instead of being refused. */
  readonly upstreamBackendHttps: boolean;
  /** Certificates are looked for in ACM where a Service names host names instead of ARNs. */
  readonly certificateDiscovery: boolean;
  /** Rules on the security groups of nodes are managed, so that load balancers reach them. */
  readonly manageNodeRules: boolean;
  /** How long a replaced load balancer is kept after its successor took over, for DNS caches and long connections. */
  readonly retireSeconds: number;
  /** How long something without a Service is marked as an orphan before it is deleted. */
  readonly orphanSeconds: number;
}

export const defaultSettings: Omit<AwsSettings, 'clusterName' | 'region' | 'vpcId'> = {
  classless: 'off',
  defaultScheme: 'internal',
  defaultTargetType: 'instance',
  // The oldest that AWS still recommends: TLS 1.3, and 1.2 with forward secrecy.
  defaultSslPolicy: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
  defaultTags: {},
  upstreamBackendHttps: false,
  certificateDiscovery: false,
  manageNodeRules: true,
  retireSeconds: 300,
  orphanSeconds: 3600,
};
