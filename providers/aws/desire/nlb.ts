import { defined } from '../../../src/lang/defined.ts';
import { reason } from '../../../src/model/reasons.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { AnnotationValues } from '../annotations/table.ts';
import type { IpAddressType, Scheme, TargetType } from '../cloud/elbv2.ts';
import { limits } from '../model/limits.ts';
import { resourceName } from '../model/resource-names.ts';
import type { DesiredListener, DesiredNlb, DesiredTarget, DesiredTargetGroup, DesiredWeights, TargetPort } from '../model/desired.ts';
import { isQuic, transportsOf } from '../model/protocols.ts';
import type { AwsSettings } from '../model/settings.ts';
import { askedTags, ownerTags, resources, tagKeys } from '../model/tags.ts';
import { upstreamIsPublic } from './claim.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import type { Existing } from '../model/facts.ts';
import { endpointServiceOf } from './endpoint-service.ts';
import { checkQuicListeners, checkQuicPorts } from './ports/quic.ts';
import { checkActions, weightsOf, type Backend, type Weights } from './ports/weights.ts';
import { effectiveScheme } from './scheme.ts';
import { checkName, checkQuota, type Issues } from '../model/issues.ts';
import { checkTargetGroupAttributes, loadBalancerAttributes, targetGroupAttributes } from './nlb-attributes.ts';
import { nlbHealthCheck } from './nlb-health-check.ts';
import { checkListenerAttributes, listenerAttributes, nlbPorts, type NlbPort } from './ports/nlb-listeners.ts';
import { checkRuleQuota, clientRules, clientSources, namedGroups } from './security-groups.ts';
import { chooseSubnets } from './subnets/choose-subnets.ts';
import { checkAddresses } from './subnets/check-addresses.ts';
import { mapSubnets } from './subnets/map-subnets.ts';
import { checkTagQuota } from './tag-quota.ts';
import { withServerIds } from './targets/quic-targets.ts';
import { sharedGroupOf } from './targets/shared-group.ts';
import { departingInstances, departingPods, instanceTargets, podTargets } from './targets/targets.ts';

/** The parts of an NLB that one Service decides for all: the oldest member of the stack. */
type NlbShell = Omit<DesiredNlb, 'listeners' | 'targetGroups' | 'targetPorts' | 'securityGroups' | 'untouched'> & {
  readonly groups:
    | Exclude<DesiredNlb['securityGroups'], { kind: 'managed' }>
    | { readonly kind: 'managed'; readonly name: string; readonly backend: boolean };
};

export function nlbShell(
  { service, values }: { readonly service: Service; readonly values: AnnotationValues },
  stack: StackIdentity,
  circumstances: Circumstances,
  issues: Issues,
): NlbShell {
  const { facts, settings, existing } = circumstances;
  const adopted = values.adopt === undefined ? undefined : existing.adopted;
  if (values.adopt !== undefined && adopted === undefined) issues.error(reason('AwsAdoptedNotFound', { name: values.adopt }));
  const current = adopted ?? existing.nlb;
  const scheme = adopted?.scheme ?? effectiveScheme(values, existing.nlb, upstreamIsPublic(service), settings);
  const ipAddressType = adopted?.ipAddressType ?? effectiveAddressType(service, values);
  const present = presentNlb(existing, scheme);
  const chosen =
    adopted === undefined ? chooseSubnets(values, scheme, ipAddressType, settings.clusterName, facts, present, issues) : undefined;
  const subnets = chosen === undefined ? (adopted?.subnets ?? []) : mapSubnets(chosen.subnets, values, scheme, ipAddressType, issues);
  if (chosen !== undefined) checkAddresses(subnets, facts, present, issues);
  const generated = resourceName(stack.namespace, stack.name, settings.clusterName, stack.key, 'nlb', scheme);
  // A name remains taken until the old load balancer is deleted, so its replacement needs another name.
  const replaces = existing.nlb !== undefined && existing.nlb.scheme !== scheme;
  if (!replaces && adopted === undefined) checkName(values.name, existing.nlb?.name, issues);
  const tags = { ...askedTags({ ...settings.defaultTags, ...values.tags }), ...ownerTags(settings), [tagKeys.stack]: stack.key };
  const ofEndpointService = { ...tags, [tagKeys.resource]: resources.endpointService };
  const endpointService = endpointServiceOf(values, ipAddressType, ofEndpointService, issues);
  return {
    kind: 'nlb',
    stack: stack.key,
    name: values.name !== undefined && !replaces ? values.name : generated,
    scheme,
    ipAddressType,
    subnets,
    groups: securityGroups(values, stack, scheme, current, circumstances, issues),
    tags: {
      ...tags,
      [tagKeys.resource]: resources.loadBalancer,
      ...defined({ [tagKeys.subnets]: chosen?.record }),
      ...(endpointService === undefined ? {} : { [tagKeys.endpointService]: 'true' }),
      ...(adopted === undefined ? {} : { [tagKeys.adopted]: 'true' }),
    },
    attributes: loadBalancerAttributes(values, issues),
    removesForeignListeners: values.foreignListeners === 'remove',
    ...(adopted === undefined ? {} : { adopted: adopted.arn }),
    ...defined({
      enforcePrivateLink: values.privateLinkRules,
      enablePrefixForIpv6SourceNat: values.ipv6SourceNat,
      capacityUnits: values.capacityUnits,
      endpointService,
    }),
  };
}

function securityGroups(
  values: AnnotationValues,
  stack: StackIdentity,
  scheme: Scheme,
  current: Circumstances['existing']['nlb'],
  { facts, settings, existing }: Circumstances,
  issues: Issues,
): NlbShell['groups'] {
  const stays = current !== undefined && (current.scheme === scheme || existing.adopted !== undefined);
  if (values.disableSecurityGroups === true) {
    if (settings.manageNodeRules && values.manageBackendRules !== false && existing.adopted === undefined)
      issues.error(reason('AwsNodesNotOpened', undefined));
    if (stays && current.hasSecurityGroups) {
      issues.error(
        reason('AwsSettingsConflict', {
          what: 'disable-nlb-sg is set, but the NLB has security groups, and AWS does not remove the last one',
        }),
      );
    }
    return { kind: 'none' };
  }
  // The owner of an adopted load balancer manages its security groups.
  if (values.adopt !== undefined && values.securityGroups === undefined) return { kind: 'none' };
  if (stays && !current.hasSecurityGroups) {
    issues.warn(reason('AwsSecurityGroupsFixed', undefined));
    return { kind: 'none' };
  }
  if (values.securityGroups !== undefined) {
    const ids = namedGroups(values.securityGroups, facts, issues);
    return { kind: 'given', ids, backend: values.manageBackendRules === true && settings.manageNodeRules };
  }
  return {
    kind: 'managed',
    name: resourceName(stack.namespace, stack.name, settings.clusterName, stack.key, 'security-group'),
    backend: settings.manageNodeRules,
  };
}

/** Dual stack if the annotation asks for it, or if the Service needs IPv6. */
function effectiveAddressType(service: Service, values: AnnotationValues): IpAddressType {
  if (values.ipAddressType !== undefined) return values.ipAddressType;
  const needsSix = service.ipFamilies[0] === 6 || (service.ipFamilyPolicy === 'RequireDualStack' && service.ipFamilies.includes(6));
  return needsSix ? 'dualstack' : 'ipv4';
}

/** The part of an NLB that one Service adds. The NLB may be shared. */
export interface NlbPart {
  readonly listeners: readonly DesiredListener[];
  readonly targetGroups: readonly DesiredTargetGroup[];
  readonly targetPorts: readonly TargetPort[];
  readonly rules: ReturnType<typeof clientRules>;
}

export function nlbPart(
  { service, values }: { readonly service: Service; readonly values: AnnotationValues },
  stack: StackIdentity,
  shell: NlbShell,
  others: readonly DesiredListener[],
  circumstances: Circumstances,
  issues: Issues,
): NlbPart {
  const { facts, settings, nodes, slices, refusedTargets, podIdentities, existing, recordedTargets } = circumstances;
  const key = serviceKey(service.metadata);
  const ownType = targetTypeOf(values, settings);
  if (ownType === 'ip') for (const refused of refusedTargets(key)) issues.warn(refused);
  const family = service.ipFamilies[0] ?? 4;
  if (family === 6 && shell.ipAddressType === 'ipv4') {
    issues.error(reason('AwsSettingsConflict', { what: 'the Service is IPv6, but aws-load-balancer-ip-address-type is ipv4' }));
  }
  const present = shell.adopted === undefined ? presentNlb(existing, shell.scheme) : existing.adopted;
  const ports = nlbPorts(service, values, ownType, facts, settings, present === undefined, issues);
  checkListenerAttributes(service, values, ports, issues);
  checkQuicPorts(service, values, issues);
  checkActions(values, ports, issues);
  const instances = ownType === 'instance' ? instanceTargets(nodes, values) : [];
  const ownTags = {
    ...askedTags({ ...settings.defaultTags, ...values.tags }),
    [tagKeys.cluster]: settings.clusterName,
    [tagKeys.stack]: stack.key,
    [tagKeys.service]: key,
  };

  const departingOf: Readonly<Record<TargetType, (from: ServiceKey) => readonly string[]>> = {
    instance: () => departingInstances(nodes),
    ip: (from) => departingPods(slices(from)),
    alb: () => [],
  };

  /** `backend`: another Service to which the listener sends as well. */
  const groupOf = (port: NlbPort, backend?: Extract<Backend, { service: Service }>): DesiredTargetGroup => {
    const { targetProtocol, alb } = port;
    const { servicePort } = backend ?? port;
    const from = backend === undefined ? key : serviceKey(backend.service.metadata);
    const ownKey = `${key}:${port.servicePort.port}/${port.protocol === 'TLS' ? 'TCP' : port.protocol}`;
    const groupKey = backend === undefined ? ownKey : `${ownKey}+${backend.service.metadata.name}:${servicePort.port}`;
    const shared = alb === undefined ? sharedGroupOf({ service, values }, groupKey, recordedTargets) : undefined;
    const targetType = alb === undefined ? ownType : 'alb';
    const pods = targetType === 'ip' ? podTargets(slices(from), servicePort, family, facts.vpcCidrs) : [];
    const targetsOf: Readonly<Record<TargetType, () => readonly DesiredTarget[]>> = {
      instance: () => instances.map((id) => ({ id, port: servicePort.nodePort })),
      ip: () => (isQuic(targetProtocol) ? withServerIds(pods, servicePort.port, podIdentities?.(from) ?? new Map(), issues) : pods),
      alb: () => (alb === undefined ? [] : [{ id: alb.arn, port: servicePort.port }]),
    };
    const targets = targetsOf[targetType]();
    const podPort = typeof servicePort.targetPort === 'number' ? servicePort.targetPort : 1;
    // The port of an ALB is that of its listener.
    const groupPort = { instance: servicePort.nodePort, ip: podPort, alb: servicePort.port }[targetType];
    // The port is not part of the name, because each target is registered with its own port.
    const fixed = [targetProtocol, targetType, `ipv${family}`, shell.adopted ?? shell.scheme, ...(alb === undefined ? [] : [alb.arn])];
    return {
      key: groupKey,
      name: resourceName(service.metadata.namespace, service.metadata.name, settings.clusterName, stack.key, groupKey, ...fixed),
      protocol: targetProtocol,
      port: groupPort,
      targetType,
      ipAddressType: family === 6 ? 'ipv6' : 'ipv4',
      healthCheck: nlbHealthCheck(backend?.service ?? service, values, targetType, port, issues),
      attributes: targetGroupAttributes(values, port, issues),
      tags: {
        ...ownTags,
        ...ownerTags(settings),
        [tagKeys.resource]: resources.targetGroup(groupKey),
        ...(shared === undefined ? {} : { [tagKeys.multiCluster]: 'true' }),
      },
      targets,
      ...defined({ shared }),
      departing: departingOf[targetType](from),
    };
  };
  const given = { ...circumstances, targetType: ownType, ...defined({ loadBalancer: present?.arn }) };
  const weights = ports.map((port) => weightsOf(service, values, port, given, issues));
  const ownGroups = ports.map((port) => groupOf(port));
  const backendGroups = new Map(
    ports.flatMap((port, index) =>
      (weights[index]?.others ?? []).flatMap((one) => ('service' in one ? [[one, groupOf(port, one)] as const] : [])),
    ),
  );
  const targetGroups = [...ownGroups, ...backendGroups.values()];
  checkTargetGroupAttributes(
    service,
    values,
    ownType,
    targetGroups.map(({ attributes }) => attributes),
    issues,
  );
  for (const { targets } of targetGroups) checkQuota('targets behind one port', targets.length, limits.targetsPerTargetGroup, issues);
  if (targetGroups.some(({ targets }) => targets.length === 0)) {
    issues.warn(reason('AwsNoTargets', { of: ownType === 'instance' ? 'node' : 'pod' }));
  }
  const listeners = ports.map((port, index): DesiredListener => {
    const isTls = port.protocol === 'TLS';
    return {
      port: port.servicePort.port,
      protocol: port.protocol,
      targetGroup: ownGroups[index]?.key ?? '',
      ...defined({ weighted: desiredWeights(weights[index], backendGroups) }),
      certificates: port.certificates,
      ...(isTls ? { sslPolicy: values.sslPolicy ?? settings.defaultSslPolicy, alpnPolicy: values.alpnPolicy ?? 'None' } : {}),
      attributes: listenerAttributes(values, port),
      tags: { ...ownTags, [tagKeys.resource]: resources.listener(port.servicePort.port) },
      service: key,
    };
  });
  checkQuicListeners(listeners, others, ownType, shell, issues);
  checkTagQuota([shell, ...listeners, ...targetGroups], issues);
  const sources = clientSources(service, values, shell.ipAddressType === 'dualstack', issues);
  const open = ports.flatMap(({ protocol, servicePort: { port } }) => transportsOf(protocol).map((protocol) => ({ protocol, port })));
  return {
    listeners,
    targetGroups,
    targetPorts: targetGroups.flatMap(targetPorts),
    rules: clientRules(open, sources, values.pathMtuDiscovery === 'on'),
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

/** Returns the NLB that the stack has with this scheme. */
function presentNlb({ nlb, nlbs }: Circumstances['existing'], scheme: Scheme): Existing | undefined {
  return nlb?.scheme === scheme ? nlb : nlbs?.find((one) => one.scheme === scheme);
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
  { groups, ...shell }: NlbShell,
  parts: readonly NlbPart[],
  untouched: readonly ServiceKey[],
  issues: Issues,
): DesiredNlb {
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
