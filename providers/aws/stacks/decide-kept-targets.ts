import { serviceKey } from '../../../src/model/objects/metadata.ts';
import { annotationTable } from '../annotations/table.ts';
import type { KeptGroup, KeptTargets } from '../plan/kept-targets.ts';
import type { Observed, ObservedTargetGroup } from '../model/observed.ts';
import { tagKeys } from '../model/tags.ts';
import type { Circumstances } from '../model/circumstances.ts';
import type { Member } from '../desire/stack.ts';
import { classicInstances, departingInstances, departingPods, instanceTargets, podTargets } from '../desire/targets.ts';

/**
 * The targets of what is there of Services, where it is not what they ask for: because it is being replaced, or something about them is wrong. Listeners, attributes and the like stay as they
 * are, but pods and nodes come and go whatever is annotated. What the groups that are there look like says what their targets are.
 */
export function keptTargets(members: readonly Member[], observed: Observed, circumstances: Omit<Circumstances, 'existing'>): KeptTargets {
  const groups = members.flatMap((member) =>
    observed.targetGroups.flatMap((group) =>
      group.tags[tagKeys.service] === serviceKey(member.service.metadata) ? (keptGroup(member, group, circumstances) ?? []) : [],
    ),
  );
  const [first] = members;
  const names = observed.classic.map(({ loadBalancer }) => loadBalancer.LoadBalancerName);
  if (first === undefined || names.length === 0 || !knowsItsNodes(first)) return { groups };
  const instances = classicInstances(circumstances.nodes, first.values);
  return { groups, classic: { names, instances, departing: departingInstances(circumstances.nodes) } };
}

function keptGroup(
  member: Member,
  { targetGroup, tags }: ObservedTargetGroup,
  { facts, nodes, slices }: Omit<Circumstances, 'existing'>,
): KeptGroup | undefined {
  const { service, values } = member;
  const { TargetGroupArn: arn, TargetType: targetType } = targetGroup;
  const [, key = '', number, protocol] = /^target-group:(.*:(\d+)\/(\w+))$/.exec(tags[tagKeys.resource] ?? '') ?? [];
  const port = service.ports.find((one) => one.port === Number(number) && (protocol === 'TCP_UDP' || one.protocol === protocol));
  // The port is gone, and its listener with it as soon as the rest is understood.
  if (port === undefined) return undefined;
  if (targetType === 'ip') {
    const own = slices(serviceKey(service.metadata));
    const family = targetGroup.IpAddressType === 'ipv6' ? 6 : 4;
    return { arn, key, targetType, targets: podTargets(own, port, family, facts.vpcCidrs), departing: departingPods(own) };
  }
  if (targetType !== 'instance' || port.nodePort === 0 || !knowsItsNodes(member)) return undefined;
  const targets = instanceTargets(nodes, values).map((id) => ({ id, port: port.nodePort }));
  return { arn, key, targetType, targets, departing: departingInstances(nodes) };
}

/** Which nodes take traffic is annotated, and that may be what is wrong. */
function knowsItsNodes({ errors }: Member): boolean {
  return !errors.some(({ code, details }) => code === 'AwsAnnotationInvalid' && details.key === annotationTable.targetNodeLabels.key);
}
