import assert from 'node:assert';
import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service, ServicePort } from '../../../src/model/objects/service.ts';
import { reason } from '../../../src/model/reasons.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import type { TargetType } from '../cloud/elbv2.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import type { DesiredListener, DesiredNlb, DesiredTarget, DesiredTargetGroup, DesiredWeights, TargetPort } from '../model/desired.ts';
import { checkQuota, type Issues } from '../model/issues.ts';
import { limits } from '../model/limits.ts';
import { isQuic, transportsOf } from '../model/protocols.ts';
import { resourceName } from '../model/resource-names.ts';
import type { AwsSettings } from '../model/settings.ts';
import { askedTags, ownerTags, resources, tagKeys } from '../model/tags.ts';
import { checkAttributeNames, checkSslPolicy } from './first-check.ts';
import { checkTargetGroupAttributes, targetGroupAttributes } from './nlb-attributes.ts';
import { nlbHealthCheck } from './nlb-health-check.ts';
import { presentNlb, type NlbShell } from './nlb-shell.ts';
import { checkListenerAttributes, listenerAttributes, nlbPorts, type NlbPort } from './ports/nlb-listeners.ts';
import { checkQuicListeners, checkQuicPorts } from './ports/quic.ts';
import { checkActions, weightsOf, type Backend, type Weights } from './ports/weights.ts';
import { checkEnforced, checkRuleQuota, clientRules, clientSources } from './security-groups.ts';
import type { NamespacePolicy } from './policies/namespace-policy.ts';
import { checkTagQuota } from './tag-quota.ts';
import { withServerIds } from './targets/quic-targets.ts';
import { sharedGroupOf } from './targets/shared-group.ts';
import { departingInstances, departingPods, instanceTargets, noTargets, podTargets } from './targets/targets.ts';

/** The part of an NLB that one Service adds. The NLB may be shared. */
export interface NlbPart {
  readonly listeners: readonly DesiredListener[];
  readonly targetGroups: readonly DesiredTargetGroup[];
  readonly targetPorts: readonly TargetPort[];
  readonly rules: ReturnType<typeof clientRules>;
}

interface PartInput {
  readonly member: { readonly service: Service; readonly values: AnnotationValues; readonly policy?: NamespacePolicy };
  readonly stack: StackIdentity;
  readonly shell: NlbShell;
  /** The listeners of the Services that come before this one. */
  readonly others: readonly DesiredListener[];
  readonly circumstances: Circumstances;
  readonly issues: Issues;
}

export function nlbPart(input: PartInput): NlbPart {
  const { member, stack, shell, others, circumstances, issues } = input;
  const { service, values } = member;
  const { settings, nodes, existing } = circumstances;
  const key = serviceKey(service.metadata);
  const targetType = targetTypeOf(values, settings);
  const wanted = new Set(service.ports.map(({ port }) => port)).size;
  if (wanted > limits.listenersPerNlb) {
    issues.error(reason('AwsTooMany', { what: 'listeners', wanted, quota: limits.listenersPerNlb }));
    return { listeners: [], targetGroups: [], targetPorts: [], rules: [] };
  }
  if (targetType === 'ip') for (const refused of circumstances.refusedTargets(key)) issues.warn(refused);
  const family = service.ipFamilies[0] ?? 4;
  if (family === 6 && shell.ipAddressType === 'ipv4') {
    issues.error(reason('AwsSettingsConflict', { what: 'the Service is IPv6, but aws-load-balancer-ip-address-type is ipv4' }));
  }
  const present = shell.adopted === undefined ? presentNlb(existing, shell.scheme) : existing.adopted;
  const ports = nlbPorts(member, circumstances, { targetType, isNew: present === undefined }, issues);
  checkListenerAttributes(service, values, ports, issues);
  if (present === undefined) checkBeforeCreation(values, ports, circumstances, issues);
  checkQuicPorts(service, values, issues);
  checkActions(values, ports, issues);
  const tags = {
    ...askedTags({ ...settings.defaultTags, ...values.tags }),
    [tagKeys.cluster]: settings.clusterName,
    [tagKeys.stack]: stack.key,
    [tagKeys.service]: key,
  };
  const instances = targetType === 'instance' ? instanceTargets(nodes, values) : [];
  const part: Part = { ...input, key, targetType, family, tags, instances };
  const given = { ...circumstances, targetType, ...defined({ loadBalancer: present?.arn, policy: member.policy }) };
  const weights = ports.map((port) => weightsOf(service, values, port, given, issues));
  const ownGroups = ports.map((port) => targetGroupOf(part, port));
  const backendGroups = new Map(
    ports.flatMap((port, index) =>
      (weights[index]?.others ?? []).flatMap((one) => ('service' in one ? [[one, targetGroupOf(part, port, one)] as const] : [])),
    ),
  );
  const targetGroups = [...ownGroups, ...backendGroups.values()];
  checkTargetGroups(part, targetGroups);
  const listeners = ports.map((port, index) =>
    listenerOf(part, port, ownGroups[index]?.key ?? '', desiredWeights(weights[index], backendGroups)),
  );
  checkQuicListeners(listeners, others, targetType, shell, issues);
  checkTagQuota([shell, ...listeners, ...targetGroups], issues);
  const dualstack = shell.ipAddressType === 'dualstack';
  const sources = clientSources(service, values, dualstack, issues);
  if (shell.unenforced !== undefined) checkEnforced(service, values, { why: shell.unenforced, dualstack }, issues);
  const open = ports.flatMap(({ protocol, servicePort: { port } }) => transportsOf(protocol).map((protocol) => ({ protocol, port })));
  return {
    listeners,
    targetGroups,
    targetPorts: targetGroups.flatMap(targetPorts),
    rules: clientRules(open, sources, values.pathMtuDiscovery === 'on'),
  };
}

/** A new load balancer costs money, so it is not created before all of this is valid. */
function checkBeforeCreation(
  values: AnnotationValues,
  ports: readonly NlbPort[],
  { facts, settings }: Circumstances,
  issues: Issues,
): void {
  checkAttributeNames(values, issues);
  if (!ports.some(({ protocol }) => protocol === 'TLS')) return;
  const { sslPolicy = settings.defaultSslPolicy } = values;
  const setting = values.sslPolicy === undefined ? '--aws-default-ssl-policy' : annotationTable.sslPolicy.key;
  checkSslPolicy(setting, sslPolicy, facts.sslPolicies, issues);
}

/** The fields that all listeners and target groups of the Service have in common. */
interface Part extends PartInput {
  readonly key: ServiceKey;
  /** The type of its targets, except those that are an ALB. */
  readonly targetType: TargetType;
  readonly family: 4 | 6;
  readonly tags: Readonly<Record<string, string>>;
  /** Empty unless the targets are instances. */
  readonly instances: readonly string[];
}

/** `backend`: another Service to which the listener sends as well. */
function targetGroupOf(part: Part, port: NlbPort, backend?: Extract<Backend, { service: Service }>): DesiredTargetGroup {
  const { member, key, stack, shell, family, circumstances, issues } = part;
  const { service, values } = member;
  const { targetProtocol, alb } = port;
  const { servicePort } = backend ?? port;
  const { settings, recordedTargets } = circumstances;
  const ownKey = `${key}:${port.servicePort.port}/${port.protocol === 'TLS' ? 'TCP' : port.protocol}`;
  const groupKey = backend === undefined ? ownKey : `${ownKey}+${backend.service.metadata.name}:${servicePort.port}`;
  const shared = alb === undefined ? sharedGroupOf(member, groupKey, recordedTargets) : undefined;
  const targetType = alb === undefined ? part.targetType : 'alb';
  const podPort = typeof servicePort.targetPort === 'number' ? servicePort.targetPort : 1;
  // The port is not part of the name, because each target is registered with its own port.
  const fixed = [targetProtocol, targetType, `ipv${family}`, shell.adopted ?? shell.scheme, ...(alb === undefined ? [] : [alb.arn])];
  const { namespace, name } = service.metadata;
  return {
    key: groupKey,
    name: resourceName(namespace, name, settings.clusterName, stack.key, groupKey, ...fixed),
    protocol: targetProtocol,
    // The port of an ALB is that of its listener.
    port: { instance: servicePort.nodePort, ip: podPort, alb: servicePort.port }[targetType],
    targetType,
    ipAddressType: family === 6 ? 'ipv6' : 'ipv4',
    ...targetsOf(part, port, { servicePort, from: backend === undefined ? key : serviceKey(backend.service.metadata) }),
    healthCheck: nlbHealthCheck(backend?.service ?? service, values, targetType, port, issues),
    attributes: targetGroupAttributes(values, port, issues),
    tags: {
      ...part.tags,
      ...ownerTags(settings),
      [tagKeys.resource]: resources.targetGroup(groupKey),
      ...(shared === undefined
        ? {}
        : { [tagKeys.multiCluster]: 'true', ...defined({ [tagKeys.namespaces]: values.targetGroupNamespaces?.join(' ') }) }),
    },
    ...defined({ shared }),
  };
}

/** The targets of a port, and those of them that are about to leave. `from`: the Service whose nodes or pods they are. */
function targetsOf(
  { targetType, instances, family, circumstances, issues }: Part,
  { targetProtocol, alb }: NlbPort,
  { servicePort, from }: { readonly servicePort: ServicePort; readonly from: ServiceKey },
): Pick<DesiredTargetGroup, 'targets' | 'departing'> {
  if (alb !== undefined) return { targets: [{ id: alb.arn, port: servicePort.port }], departing: [] };
  const { nodes, facts, slices, podIdentities } = circumstances;
  if (targetType !== 'ip') {
    const targets = instances.map((id): DesiredTarget => ({ id, port: servicePort.nodePort }));
    return { targets, departing: departingInstances(nodes) };
  }
  const pods = podTargets(slices(from), servicePort, family, facts.vpcCidrs);
  const targets = isQuic(targetProtocol) ? withServerIds(pods, servicePort.port, podIdentities?.(from) ?? new Map(), issues) : pods;
  return { targets, departing: departingPods(slices(from)) };
}

function checkTargetGroups({ member, key, targetType, issues, circumstances }: Part, groups: readonly DesiredTargetGroup[]): void {
  const attributes = groups.map((group) => group.attributes);
  checkTargetGroupAttributes(member.service, member.values, targetType, attributes, issues);
  for (const { targets } of groups) checkQuota('targets behind one port', targets.length, limits.targetsPerTargetGroup, issues);
  if (groups.some(({ targets }) => targets.length === 0)) {
    const all = groups.every(({ targets }) => targets.length === 0);
    const until = circumstances.existing.lastTargetsUntil?.get(key);
    issues.warn(noTargets({ of: targetType === 'instance' ? 'node' : 'pod', all, until }, member.values, circumstances));
  }
}

function listenerOf(
  { member: { values }, key, tags, circumstances: { settings } }: Part,
  port: NlbPort,
  targetGroup: string,
  weighted: DesiredWeights | undefined,
): DesiredListener {
  const isTls = port.protocol === 'TLS';
  return {
    port: port.servicePort.port,
    protocol: port.protocol,
    targetGroup,
    ...defined({ weighted }),
    certificates: port.certificates,
    ...(isTls ? { sslPolicy: values.sslPolicy ?? settings.defaultSslPolicy, alpnPolicy: values.alpnPolicy ?? 'None' } : {}),
    attributes: listenerAttributes(values, port),
    tags: { ...tags, [tagKeys.resource]: resources.listener(port.servicePort.port) },
    service: key,
  };
}

function desiredWeights(weights: Weights | undefined, groups: ReadonlyMap<Backend, DesiredTargetGroup>): DesiredWeights | undefined {
  if (weights === undefined) return undefined;
  const { own, others, isSticky } = weights;
  return {
    own,
    others: others.map((one) => ({ group: 'arn' in one ? one.arn : (groups.get(one)?.key ?? ''), weight: one.weight })),
    isSticky,
  };
}

export function targetTypeOf({ targetType, type }: AnnotationValues, { defaultTargetType }: AwsSettings): TargetType {
  return targetType ?? (type === 'nlb-ip' ? 'ip' : defaultTargetType);
}

/** The ports at which targets must be reachable: the port of each target, and the health check port over TCP. */
function targetPorts({ protocol, targets, targetType, healthCheck }: DesiredTargetGroup): TargetPort[] {
  // The owner of an ALB opens its security groups.
  if (targetType === 'alb') return [];
  const ports = [...new Set(targets.map(({ port }) => port))];
  const traffic = ports.flatMap((port) => transportsOf(protocol).map((protocol): TargetPort => ({ protocol, port })));
  const checks = healthCheck.port === 'traffic-port' ? ports : [healthCheck.port];
  return [...traffic, ...checks.map((port): TargetPort => ({ protocol: 'tcp', port }))];
}

/** Combines shell and parts into the desired NLB. */
export function assembleNlb(
  { groups, unenforced, ...shell }: NlbShell,
  parts: readonly NlbPart[],
  untouched: readonly ServiceKey[],
  issues: Issues,
): DesiredNlb {
  assert(unenforced === undefined || groups.kind !== 'managed', 'a group of Herald enforces source ranges');
  const listeners = parts.flatMap((part) => part.listeners).toSorted((a, b) => a.port - b.port);
  const targetGroups = parts.flatMap((part) => part.targetGroups).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const rules = parts.flatMap((part) => part.rules);
  const certificates = new Set(listeners.flatMap((listener) => listener.certificates));
  const targets = targetGroups.reduce((sum, group) => sum + group.targets.length, 0);
  const quota = limits.listenersPerNlb;
  if (listeners.length > quota) issues.error(reason('AwsTooMany', { what: 'listeners', wanted: listeners.length, quota }));
  checkQuota('certificates', certificates.size, limits.certificatesPerNlb, issues);
  checkQuota('targets', targets, limits.targetsPerNlb, issues);
  if (groups.kind === 'managed') checkRuleQuota(rules, issues);
  const ports = new Map(parts.flatMap((part) => part.targetPorts).map((port) => [`${port.protocol} ${port.port}`, port]));
  return {
    ...shell,
    securityGroups: groups.kind === 'managed' ? { ...groups, rules, extra: [] } : groups,
    untouched,
    listeners,
    targetGroups,
    targetPorts: [...ports.values()],
  };
}
