import { defined } from '../../../../src/lang/defined.ts';
import { serviceKey } from '../../../../src/model/objects/metadata.ts';
import { annotationTable } from '../../annotations/table.ts';
import type { KeptGroup, KeptTargets } from '../../plan/kept-targets.ts';
import type { Observed, ObservedTargetGroup } from '../../model/observed.ts';
import { tagKeys } from '../../model/tags.ts';
import { isQuic } from '../../model/protocols.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import type { Member } from '../../desire/stack.ts';
import { withServerIds } from '../../desire/targets/quic-targets.ts';
import { sharedGroupOf } from '../../desire/targets/shared-group.ts';
import { classicInstances, departingInstances, departingPods, instanceTargets, podTargets } from '../../desire/targets/targets.ts';

/**
 * Returns the current targets of existing resources that stay although they are not desired: they are being replaced, or their Services
 * have errors. Listeners and attributes stay unchanged, but pods and nodes come and go. The kind of the targets is that of the existing
 * target groups.
 */
export function keptTargets(members: readonly Member[], observed: Observed, circumstances: Omit<Circumstances, 'existing'>): KeptTargets {
  const groups = members.flatMap((member) =>
    observed.targetGroups.flatMap((group) =>
      group.tags[tagKeys.service] === serviceKey(member.service.metadata) ? (keptGroup(member, group, circumstances) ?? []) : [],
    ),
  );
  const [first] = members;
  const names = observed.classic.map(({ loadBalancer }) => loadBalancer.LoadBalancerName);
  if (first === undefined || names.length === 0 || !canSelectNodes(first)) return { groups };
  const instances = classicInstances(circumstances.nodes, first.values);
  return { groups, classic: { names, instances, departing: departingInstances(circumstances.nodes) } };
}

function keptGroup(
  member: Member,
  { targetGroup, tags }: ObservedTargetGroup,
  { facts, nodes, slices, podIdentities, backend, recordedTargets }: Omit<Circumstances, 'existing'>,
): KeptGroup | undefined {
  const { values } = member;
  const { TargetGroupArn: arn, TargetType: targetType } = targetGroup;
  const text = tags[tagKeys.resource] ?? '';
  const { key = '', number, protocol = '', other, otherPort = number } = keyPattern.exec(text)?.groups ?? {};
  const { namespace } = member.service.metadata;
  const service = other === undefined ? member.service : backend?.(`${namespace}/${other}`);
  const carried = protocol.replace('QUIC', 'UDP').split('_');
  const port = service?.ports.find((one) => one.port === Number(otherPort) && carried.includes(one.protocol));
  // The port is gone. Its listener is deleted as soon as the rest of the Service has no error.
  if (service === undefined || port === undefined) return undefined;
  const shared = sharedGroupOf(member, key, recordedTargets);
  if (targetType === 'ip') {
    const own = slices(serviceKey(service.metadata));
    const family = targetGroup.IpAddressType === 'ipv6' ? 6 : 4;
    const pods = podTargets(own, port, family, facts.vpcCidrs);
    const identities = podIdentities?.(serviceKey(service.metadata)) ?? new Map();
    const targets = isQuic(targetGroup.Protocol) ? withServerIds(pods, port.port, identities) : pods;
    return { arn, key, targetType, targets, departing: departingPods(own), ...defined({ shared }) };
  }
  if (targetType !== 'instance' || port.nodePort === 0 || !canSelectNodes(member)) return undefined;
  const targets = instanceTargets(nodes, values).map((id) => ({ id, port: port.nodePort }));
  return { arn, key, targetType, targets, departing: departingInstances(nodes), ...defined({ shared }) };
}

/** "target-group:" and the key of a target group. */
const keyPattern = /^target-group:(?<key>[^:]*:(?<number>\d+)\/(?<protocol>\w+)(?:\+(?<other>[^:]+):(?<otherPort>\d+))?)$/;

/** False when the annotation that selects nodes is invalid. */
function canSelectNodes({ errors }: Member): boolean {
  return !errors.some(({ code, details }) => code === 'AwsAnnotationInvalid' && details.key === annotationTable.targetNodeLabels.key);
}
