import type { Attribute, Listener, LoadBalancer, TargetGroup, TargetHealthDescription } from '../cloud/elbv2.ts';
import type { ClassicAttributes, ClassicLoadBalancer, PolicyDescription } from '../cloud/elb.ts';
import type { SecurityGroup } from '../cloud/ec2.ts';

export type Tags = Readonly<Record<string, string>>;

/** What of AWS belongs to one stack, or stands where the stack wants to stand. */
export interface Observed {
  /** NLBs with our tags for this stack, the adopted one, and one that merely has the name that we would give. */
  readonly loadBalancers: readonly ObservedLoadBalancer[];
  readonly targetGroups: readonly ObservedTargetGroup[];
  /** Our listeners of this stack on NLBs that do not carry our tags any more, and so are none of the above. */
  readonly strayListeners?: readonly Pick<ObservedListener, 'listener' | 'tags'>[];
  readonly classic: readonly ObservedClassic[];
  /** Front-end security groups of this stack. */
  readonly securityGroups: readonly SecurityGroup[];
  /** The security group by which nodes recognise our load balancers: one per cluster. */
  readonly backendSecurityGroup?: SecurityGroup;
}

export interface ObservedLoadBalancer {
  readonly loadBalancer: LoadBalancer;
  readonly tags: Tags;
  readonly attributes: readonly Attribute[];
  readonly listeners: readonly ObservedListener[];
}

export interface ObservedListener {
  readonly listener: Listener;
  readonly tags: Tags;
  readonly attributes: readonly Attribute[];
  /** ARNs, the default one apart. */
  readonly extraCertificates: readonly string[];
}

export interface ObservedTargetGroup {
  readonly targetGroup: TargetGroup;
  readonly tags: Tags;
  readonly attributes: readonly Attribute[];
  readonly health: readonly TargetHealthDescription[];
}

export interface ObservedClassic {
  readonly loadBalancer: ClassicLoadBalancer;
  readonly tags: Tags;
  readonly attributes: ClassicAttributes;
  readonly policies: readonly PolicyDescription[];
  /** By instance: InService, OutOfService, Unknown. */
  readonly health: ReadonlyMap<string, string>;
}
