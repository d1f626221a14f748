import type { Service, ServicePort } from '../../../../src/model/objects/service.ts';
import { serviceKey, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { WeightedAction, WeightedBackend } from '../../annotations/weighted-action.ts';
import type { NlbProtocol, TargetType } from '../../cloud/elbv2.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import type { Issues } from '../../model/issues.ts';
import { limits } from '../../model/limits.ts';
import { isQuic, transportsOf } from '../../model/protocols.ts';
import type { NamespacePolicy } from '../policies/namespace-policy.ts';
import { whyNotConsented } from '../policies/target-group-consent.ts';
import { portsNamed } from './encryption.ts';
import { whyNotOne, type NlbPort } from './nlb-listeners.ts';

/** A target group to which a listener sends beside that of its own Service. */
export type Backend = { readonly weight: number } & (
  | { readonly arn: string }
  | {
      readonly service: Service;
      /** With TCP_UDP the TCP port. */
      readonly servicePort: ServicePort;
    }
);

export interface Weights {
  /** The weight of the Service itself. */
  readonly own: number;
  readonly others: readonly Backend[];
  readonly isSticky: boolean;
}

/** The Services of the same namespace to which the listeners of a Service send as well. */
export function backendServices({ metadata: { namespace, annotations } }: Pick<Service, 'metadata'>): ServiceKey[] {
  const { key, type } = annotationTable.weightedActions;
  const all = Object.entries(annotations).flatMap(([name, text]) => {
    const action = name.startsWith(`${key}.`) ? type.read(text) : undefined;
    return action?.ok === true ? action.value.others : [];
  });
  return [...new Set(all.flatMap((one): ServiceKey[] => ('service' in one ? [`${namespace}/${one.service}`] : [])))];
}

/** Returns the keys of the Services and of all to which their listeners send as well. */
export function withBackends(services: readonly Pick<Service, 'metadata'>[]): ServiceKey[] {
  return services.flatMap((service) => [serviceKey(service.metadata), ...backendServices(service)]);
}

/** The ARNs of target groups that a Service names. */
export function namedTargetGroups({ weightedActions }: AnnotationValues): string[] {
  return [...weightedActions.values()].flatMap(({ others }) => others.flatMap((one) => ('arn' in one ? [one.arn] : [])));
}

type Surroundings = Pick<Circumstances, 'facts' | 'settings' | 'backend'> & {
  readonly targetType: TargetType;
  /** Of the namespace. Absent: none selects it. */
  readonly policy?: NamespacePolicy;
  /** The ARN of the NLB. Absent: it does not exist yet. */
  readonly loadBalancer?: string;
};

/** Returns the weights of a listener, or undefined if it sends to its own Service only. Reports an error for each backend that is impossible. */
export function weightsOf(
  service: Service,
  values: AnnotationValues,
  port: NlbPort,
  given: Surroundings,
  issues: Issues,
): Weights | undefined {
  const member = memberOf(port);
  const action = values.weightedActions.get(member);
  if (action === undefined || action.others.length === 0) return undefined;
  const key = `${annotationTable.weightedActions.key}.${member}`;
  const refuse = (why: string): void => issues.error(reason('AwsWeightsImpossible', { key, why }));
  for (const why of whyImpossible(port, action, values)) refuse(why);
  const others = action.others.flatMap((one): Backend[] => {
    const found = 'arn' in one ? checkArn(one, service, port, given) : checkService(one, service, port, given);
    if (typeof found !== 'string') return [found];
    refuse(found);
    return [];
  });
  return { own: action.weight, others, isSticky: action.isSticky };
}

/** Reports actions without a matching listener. Without the error they would silently have no effect. */
export function checkActions({ weightedActions }: AnnotationValues, ports: readonly NlbPort[], issues: Issues): void {
  const members = ports.map(memberOf);
  for (const member of weightedActions.keys()) {
    if (members.includes(member)) continue;
    const problem = `belongs to no listener of the Service (${members.toSorted().join(', ')})`;
    issues.invalid(`${annotationTable.weightedActions.key}.${member}`, problem);
  }
}

function memberOf({ protocol, servicePort }: NlbPort): string {
  return `${protocol}-${servicePort.port}`;
}

function whyImpossible(port: NlbPort, { others, isSticky }: WeightedAction, values: AnnotationValues): string[] {
  const { 'stickiness.enabled': isGroupSticky } = {
    ...values.targetGroupAttributes,
    ...values.targetGroupAttributesOfPort.get(`${port.servicePort.port}`),
  };
  return [
    ...(port.alb === undefined ? [] : ['the port sends to an ALB, which gets all connections']),
    ...(isQuic(port.protocol) ? ['AWS allows no weights on a QUIC listener'] : []),
    ...(others.length >= limits.targetGroupsPerListener
      ? [`a listener sends to at most ${limits.targetGroupsPerListener} target groups`]
      : []),
    ...(port.protocol === 'TLS' && isSticky ? ['AWS allows no targetGroupStickinessConfig on a TLS listener'] : []),
    ...(!isSticky && isGroupSticky === 'true'
      ? ['the target groups are sticky (stickiness.enabled=true), so AWS requires targetGroupStickinessConfig: {"enabled": true}']
      : []),
  ];
}

/** Returns the backend, or why it is impossible. */
function checkService(
  { service: name, port: wanted, weight, decrypt }: Extract<WeightedBackend, { service: string }>,
  own: Service,
  port: NlbPort,
  { backend, targetType }: Surroundings,
): Backend | string {
  const key: ServiceKey = `${own.metadata.namespace}/${name}`;
  const service = key === serviceKey(own.metadata) ? own : backend?.(key);
  if (service === undefined || service.metadata.deleting) return `Service ${key} does not exist`;
  if (service.type === 'ExternalName') return `Service ${key} is of type ExternalName, which has no targets`;
  if ((service.ipFamilies[0] ?? 4) !== (own.ipFamilies[0] ?? 4))
    return `Service ${key} has another IP family, and AWS allows one in a listener`;
  const carried = transportsOf(port.protocol).map((one) => one.toUpperCase());
  const found = portsNamed(service, wanted).find(({ protocol }) => carried.includes(protocol));
  if (found === undefined) return `Service ${key} has no port ${wanted} with ${carried.join(' or ')}`;
  const all = carried.map((protocol) => service.ports.find((one) => one.port === found.port && one.protocol === protocol));
  const [servicePort, second] = all;
  if (servicePort === undefined || all.includes(undefined))
    return `port ${wanted} of Service ${key} needs both TCP and UDP, as the listener has`;
  const apart = second === undefined ? undefined : whyNotOne(servicePort, second, targetType, false, true);
  if (apart !== undefined) return `TCP and UDP on port ${wanted} of Service ${key} cannot share a target group: ${apart}`;
  if (targetType === 'instance' && servicePort.nodePort === 0)
    return `port ${wanted} of Service ${key} has no NodePort: make it a Service of type NodePort, or use targets of type ip`;
  if (decrypt !== undefined && port.protocol !== 'TLS')
    return `decrypt is possible on a TLS listener only, and this one is ${port.protocol}`;
  const asked: NlbProtocol = decrypt === false ? 'TLS' : 'TCP';
  if (decrypt !== undefined && asked !== port.targetProtocol)
    return `decrypt of ${name} makes its targets ${asked}, but those of the Service itself are ${port.targetProtocol}, and AWS allows one protocol in a listener`;
  return { weight, service, servicePort };
}

function checkArn(
  { arn, weight }: Extract<WeightedBackend, { arn: string }>,
  own: Service,
  port: NlbPort,
  { facts, settings, loadBalancer, policy }: Surroundings,
): Backend | string {
  const found = facts.targetGroups?.get(arn);
  if (found === undefined) return `target group ${arn} does not exist in ${settings.region}`;
  const { group, tags } = found;
  // A refusal of the policies has an error of its own.
  const denied = policy === undefined ? whyNotConsented(arn, tags, own.metadata.namespace, policy) : undefined;
  if (denied !== undefined) return `target group ${arn} ${denied}`;
  const family = (own.ipFamilies[0] ?? 4) === 6 ? 'ipv6' : 'ipv4';
  if (group.VpcId !== settings.vpcId) return `target group ${arn} is in ${group.VpcId}, and the NLB is in ${settings.vpcId}`;
  if (group.Protocol !== port.targetProtocol)
    return `target group ${arn} has protocol ${group.Protocol}, and the listener needs ${port.targetProtocol}`;
  if (group.IpAddressType !== family) return `target group ${arn} is ${group.IpAddressType}, and the targets of the Service are ${family}`;
  const other = group.LoadBalancerArns.find((one) => one !== loadBalancer);
  return other === undefined ? { weight, arn } : `target group ${arn} belongs to ${other}, and AWS allows one load balancer for each`;
}
