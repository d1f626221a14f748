import type { Attribute, CapacityReservation, Listener, LoadBalancer, TargetGroup, TargetHealthDescription } from '../cloud/elbv2.ts';
import type { EndpointService } from '../cloud/endpoint-services.ts';
import type { ClassicAttributes, ClassicLoadBalancer, PolicyDescription } from '../cloud/elb.ts';
import type { SecurityGroup } from '../cloud/ec2.ts';

export type Tags = Readonly<Record<string, string>>;

/** The resources that belong to one stack, and those whose names collide with it. */
export interface Observed {
  /** NLBs with our tags for this stack, the adopted one, and one that merely has the name that we would give. */
  readonly loadBalancers: readonly ObservedLoadBalancer[];
  readonly targetGroups: readonly ObservedTargetGroup[];
  /** Our listeners of this stack on NLBs that have lost our tags and are therefore not in `loadBalancers`. */
  readonly strayListeners?: readonly Pick<ObservedListener, 'listener' | 'tags'>[];
  readonly classic: readonly ObservedClassic[];
  /** Endpoint services with our tags for this stack. Absent: not read, because no NLB is marked and no Service asks for one. */
  readonly endpointServices?: readonly ObservedEndpointService[];
  /** Front-end security groups of this stack. */
  readonly securityGroups: readonly SecurityGroup[];
  /** The cluster's shared security group, by which nodes admit our load balancers. */
  readonly backendSecurityGroup?: SecurityGroup;
}

export interface ObservedLoadBalancer {
  readonly loadBalancer: LoadBalancer;
  readonly tags: Tags;
  readonly attributes: readonly Attribute[];
  readonly listeners: readonly ObservedListener[];
  /** Absent: nobody asks for reserved capacity, so it was not read. */
  readonly capacity?: CapacityReservation;
}

export interface ObservedEndpointService {
  readonly service: EndpointService;
  readonly tags: Tags;
  /** ARNs, or "*". */
  readonly principals: readonly string[];
}

export interface ObservedListener {
  readonly listener: Listener;
  readonly tags: Tags;
  readonly attributes: readonly Attribute[];
  /** ARNs, without the default certificate. */
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
