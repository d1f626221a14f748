import type { Scheme, TargetType } from '../cloud/elbv2.ts';

/**
 * Which Services without a loadBalancerClass this provider claims: none, those with a legacy aws-load-balancer-type, or all (Classic ELB by
 * default).
 */
export const classlessModes = ['off', 'legacy', 'classic'] as const;
export type ClasslessMode = (typeof classlessModes)[number];

/** The settings of an installation, from flags of the controller. */
export interface AwsSettings {
  /** The owner of everything that is created, in tags. Controllers with different names ignore each other's resources. */
  readonly clusterName: string;
  /** The UID of Namespace kube-system. Absent in a directory of manifests. */
  readonly clusterUid?: string;
  /** UIDs of former clusters of this name. Their resources are ours. */
  readonly takeOver: readonly string[];
  readonly region: string;
  readonly vpcId: string;
  readonly classless: ClasslessMode;
  readonly defaultScheme: Scheme;
  readonly defaultTargetType: TargetType;
  readonly defaultSslPolicy: string;
  /** Set on everything that is created. */
  readonly defaultTags: Readonly<Record<string, string>>;
  /** True: `backend-protocol: https` on an NLB means plain text to the target, as upstream does it. False: it is refused. */
  readonly upstreamBackendHttps: boolean;
  /** Finds certificates in ACM for Services that name host names instead of ARNs. */
  readonly certificateDiscovery: boolean;
  /** Manages rules on the security groups of nodes, so that load balancers reach them. */
  readonly manageNodeRules: boolean;
  /** How long a replaced load balancer is kept after its replacement serves, for DNS caches and long connections. */
  readonly retireSeconds: number;
  /** How long the last targets of a Service stay registered when it has none any more, perhaps by mistake. */
  readonly lastTargetSeconds: number;
  /** How long a resource without a Service is marked as an orphan before it is deleted. */
  readonly orphanSeconds: number;
}

export const defaultSettings: Omit<AwsSettings, 'clusterName' | 'region' | 'vpcId'> = {
  takeOver: [],
  classless: 'off',
  defaultScheme: 'internal',
  defaultTargetType: 'instance',
  // The oldest policy that AWS still recommends: TLS 1.3, and TLS 1.2 with forward secrecy.
  defaultSslPolicy: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
  defaultTags: {},
  upstreamBackendHttps: false,
  certificateDiscovery: false,
  manageNodeRules: true,
  retireSeconds: 300,
  lastTargetSeconds: 3600,
  orphanSeconds: 3600,
};
