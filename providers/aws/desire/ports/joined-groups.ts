import { reason } from '../../../../src/model/reasons.ts';
import type { Service, ServicePort } from '../../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { TargetGroup } from '../../cloud/elbv2.ts';
import type { Issues } from '../../model/issues.ts';
import { transportsOf } from '../../model/protocols.ts';
import type { NamespacePolicy } from '../policies/namespace-policy.ts';
import { whyNotConsented } from '../policies/target-group-consent.ts';
import { tagKeys } from '../../model/tags.ts';
import type { Tags } from '../../model/observed.ts';
import { valuesOfPorts } from './encryption.ts';

/** A target group of another owner in which a Service registers the targets of one port. */
export interface JoinedPort {
  readonly port: ServicePort;
  /** The annotation. */
  readonly key: string;
  readonly arn: string;
}

/** True if the Service names target groups of another owner, so that it gets no load balancer of its own. */
export function joinsTargetGroups({
  targetGroup,
  targetGroupOfPort,
}: Pick<AnnotationValues, 'targetGroup' | 'targetGroupOfPort'>): boolean {
  return targetGroup !== undefined || targetGroupOfPort.size > 0;
}

/** Returns the target group of each port. Reports ports without one. */
export function joinedPorts(service: Service, { targetGroup, targetGroupOfPort }: AnnotationValues, issues: Issues): JoinedPort[] {
  const { key } = annotationTable.targetGroup;
  const named = valuesOfPorts(service, key, targetGroup, targetGroupOfPort, issues);
  const without = service.ports.filter((port) => !named.has(port)).map(({ port }) => port);
  if (without.length > 0) {
    const problem = `is missing: port ${without.join(', ')} has no target group, but other ports of the Service have one`;
    issues.invalid(`${key}.${without[0]}`, problem);
  }
  return [...named].map(([port, { key: annotation, value: arn }]) => ({ port, key: annotation, arn }));
}

/** The Service that joins a group, and where it is. */
export interface Joining {
  readonly service: Service;
  readonly policy: NamespacePolicy | undefined;
  readonly vpcId: string;
  readonly region: string;
}

/** Reports why the targets of a port cannot be registered in the group. `found`: undefined if it does not exist. */
export function checkJoinedGroup(
  { port, key, arn }: JoinedPort,
  found: { readonly group: TargetGroup; readonly tags: Tags } | undefined,
  joining: Joining,
  issues: Issues,
): void {
  const why = found === undefined ? `does not exist in region ${joining.region}` : whyNotJoined(port, found, joining);
  if (why !== undefined) issues.error(reason('AwsTargetGroupUnusable', { key, group: arn, why }));
}

/**
 * Returns why nothing may be changed in a group, whatever the record of the Service says: its authors can write the record. Undefined: its owner
 * shares it, and consents to the namespace, or the policies of the namespace allow it.
 */
export function whyUntouchable(arn: string, tags: Tags, namespace: string, policy: NamespacePolicy | undefined): string | undefined {
  return isShared(tags) ? whyNotConsented(arn, tags, namespace, policy) : notShared;
}

/** Permission to edit a Service must not be enough to receive the traffic of others. The tag also shows that the owner keeps targets of others. */
function isShared(tags: Tags): boolean {
  return tags[tagKeys.multiCluster] !== undefined;
}

const notShared = `is not shared by its owner: it has no tag ${tagKeys.multiCluster}`;

function whyNotJoined(
  { port, protocol, nodePort }: ServicePort,
  { group, tags }: { readonly group: TargetGroup; readonly tags: Tags },
  { service, policy, vpcId }: Joining,
): string | undefined {
  const family = service.ipFamilies[0] ?? 4;
  const { Protocol, TargetType, VpcId, IpAddressType } = group;
  if (VpcId !== vpcId) return `is in ${VpcId}, and the cluster is in ${vpcId}`;
  if (!isShared(tags)) return notShared;
  // A refusal of the policies has an error of its own.
  const denied = policy === undefined ? whyNotConsented(group.TargetGroupArn, tags, service.metadata.namespace, policy) : undefined;
  if (denied !== undefined) return denied;
  if (TargetType === 'alb') return 'is for an ALB';
  if (!transportsOf(Protocol).some((transport) => transport === protocol.toLowerCase()))
    return `is for ${Protocol}, and port ${port} is ${protocol}`;
  if (IpAddressType !== `ipv${family}`) return `is for ${IpAddressType}, and the Service is ipv${family}`;
  return TargetType === 'instance' && nodePort === 0 ? `is for instances, and port ${port} has no NodePort` : undefined;
}
