import type { ClassicListener } from '../cloud/elb.ts';
import type { Listener } from '../cloud/elbv2.ts';
import { forwardingOf } from '../cloud/forwarding.ts';
import type {
  Desired,
  DesiredClassic,
  DesiredEndpointService,
  DesiredNlb,
  DesiredSecurityGroups,
  DesiredTargetGroup,
  DesiredWeights,
} from '../model/desired.ts';
import type { Observed, ObservedClassic, ObservedEndpointService, ObservedLoadBalancer, ObservedTargetGroup } from '../model/observed.ts';

/** Describes the existing resources of a stack as lines of text. */
export function describeObserved({ loadBalancers, targetGroups, classic, endpointServices = [], securityGroups }: Observed): string[] {
  const lines = [
    ...loadBalancers.flatMap(observedNlb),
    ...targetGroups.map(describeTargetGroup),
    ...classic.flatMap(observedClassic),
    ...endpointServices.map(observedEndpointService),
    ...securityGroups.map(({ GroupId, GroupName }) => `security group ${GroupId} (${GroupName})`),
  ];
  return lines.length === 0 ? ['nothing'] : lines;
}

/** Describes the desired state of a stack as lines of text. Undefined: nothing is desired. */
export function describeDesired(desired: Desired | undefined): string[] {
  if (desired === undefined) return ['nothing'];
  return desired.kind === 'nlb' ? desiredNlb(desired) : desiredClassic(desired);
}

function observedNlb({ loadBalancer, listeners, capacity }: ObservedLoadBalancer): string[] {
  const { LoadBalancerName, DNSName, Scheme, State, IpAddressType } = loadBalancer;
  const why = State.Reason === undefined ? '' : `: ${State.Reason}`;
  return [
    `NLB ${LoadBalancerName}, ${Scheme}, ${IpAddressType}, ${State.Code}${why}, ${DNSName}`,
    ...(capacity === undefined ? [] : [`${capacity.MinimumLoadBalancerCapacity?.CapacityUnits ?? 0} capacity units reserved`]),
    ...listeners.map(({ listener }) => `listener ${listener.Protocol} ${listener.Port}${observedWeights(listener)}`),
  ];
}

function observedEndpointService({ service, principals }: ObservedEndpointService): string {
  const { ServiceName, ServiceState, AcceptanceRequired, PrivateDnsName, PrivateDnsNameConfiguration } = service;
  const verified = PrivateDnsNameConfiguration?.State === undefined ? '' : ` (${PrivateDnsNameConfiguration.State})`;
  const name = PrivateDnsName === undefined ? '' : `, private DNS name ${PrivateDnsName}${verified}`;
  return `endpoint service ${ServiceName}, ${ServiceState}, ${accessOf(AcceptanceRequired, principals)}${name}`;
}

function accessOf(isAccepted: boolean, principals: readonly string[]): string {
  return `for ${principals.join(', ') || 'nobody'}${isAccepted ? ', acceptance required' : ''}`;
}

/** ": NAME with weight 90, OTHER with weight 10" for several target groups. Nothing for one. */
function observedWeights(listener: Listener): string {
  const { groups, isSticky } = forwardingOf(listener);
  if (groups.size < 2) return '';
  const shares = [...groups].map(([arn, weight]) => `${arn.split('/').at(-2)} with weight ${weight}`);
  return `: ${shares.join(', ')}${isSticky ? ', sticky' : ''}`;
}

function desiredWeights({ own, others, isSticky }: DesiredWeights, groups: ReadonlyMap<string, DesiredTargetGroup>): string {
  const shares = others.map(({ group, weight }) => {
    const known = groups.get(group);
    const [, name = group] = group.split('+');
    return `${known === undefined ? group : `${known.targets.length} targets of ${name}`} with weight ${weight}`;
  });
  return ` with weight ${own}, ${shares.join(', ')}${isSticky ? ', sticky' : ''}`;
}

export function describeTargetGroup({ targetGroup, health }: ObservedTargetGroup): string {
  const states = Map.groupBy(health, ({ TargetHealth }) => TargetHealth.State);
  const counts = [...states].map(([state, targets]) => `${targets.length} ${state}${reasonsOf(targets)}`);
  const { TargetGroupName, Protocol, Port, TargetType } = targetGroup;
  return `target group ${TargetGroupName}, ${Protocol} ${Port}, ${TargetType}: ${counts.join(', ') || 'no targets'}`;
}

/** AWS' explanations for unhealthy targets, each once. */
function reasonsOf(targets: ObservedTargetGroup['health']): string {
  const reasons = new Set(targets.flatMap(({ TargetHealth: { Description, Reason } }) => Description ?? Reason ?? []));
  return reasons.size === 0 ? '' : ` (${[...reasons].join('; ')})`;
}

function observedClassic({ loadBalancer, health }: ObservedClassic): string[] {
  const { LoadBalancerName, DNSName, Scheme, ListenerDescriptions, Instances } = loadBalancer;
  const inService = [...health.values()].filter((state) => state === 'InService').length;
  return [
    `Classic ELB ${LoadBalancerName}, ${Scheme}, ${DNSName}`,
    ...ListenerDescriptions.map(({ Listener }) => classicListener(Listener)),
    `${Instances.length} instances, ${inService} in service`,
  ];
}

function desiredNlb(nlb: DesiredNlb): string[] {
  const { name, scheme, ipAddressType, subnets, listeners, targetGroups, securityGroups, capacityUnits, endpointService } = nlb;
  const groups = new Map(targetGroups.map((group) => [group.key, group]));
  return [
    `NLB ${name}, ${scheme}, ${ipAddressType}, in ${subnets.map(({ SubnetId }) => SubnetId).join(', ')}`,
    ...(capacityUnits === undefined ? [] : [`${capacityUnits} capacity units reserved`]),
    ...listeners.map(({ protocol, port, targetGroup, weighted, certificates }) => {
      const group = groups.get(targetGroup);
      const own = group === undefined ? targetGroup : `${group.protocol} to ${targetsOf(group)}`;
      const to = weighted === undefined ? own : `${own}${desiredWeights(weighted, groups)}`;
      return `listener ${protocol} ${port}: ${to}${certificates.length === 0 ? '' : `, certificates ${certificates.join(', ')}`}`;
    }),
    ...(endpointService === undefined ? [] : [desiredEndpointService(endpointService)]),
    ...describeGroups(securityGroups),
  ];
}

function targetsOf({ targets, targetType }: DesiredTargetGroup): string {
  // The name in "arn:...:loadbalancer/app/NAME/ID".
  if (targetType === 'alb') return targets.map(({ id }) => `load balancer ${id.split('/')[2] ?? id}`).join(', ');
  return `${targets.length} targets of type ${targetType}`;
}

function desiredEndpointService({ acceptanceRequired, principals, privateDnsName }: DesiredEndpointService): string {
  const name = privateDnsName === undefined ? '' : `, private DNS name ${privateDnsName}`;
  return `endpoint service ${accessOf(acceptanceRequired, principals)}${name}`;
}

function desiredClassic({ name, scheme, subnets, listeners, instances, securityGroups }: DesiredClassic): string[] {
  return [
    `Classic ELB ${name}, ${scheme}, in ${subnets.join(', ')}`,
    ...listeners.map(classicListener),
    `${instances.length} instances`,
    ...describeGroups(securityGroups),
  ];
}

function classicListener({ Protocol, LoadBalancerPort, InstanceProtocol, InstancePort, SSLCertificateId }: ClassicListener): string {
  const certificate = SSLCertificateId === undefined ? '' : `, certificate ${SSLCertificateId}`;
  return `listener ${Protocol} ${LoadBalancerPort}: ${InstanceProtocol} to instance port ${InstancePort}${certificate}`;
}

function describeGroups(groups: DesiredSecurityGroups): string[] {
  switch (groups.kind) {
    case 'none':
      return ['no security groups'];
    case 'given':
      return [`security groups ${groups.ids.join(', ')}`];
    case 'managed':
      return [`security group ${groups.name} with ${groups.rules.length} rules`];
  }
}
