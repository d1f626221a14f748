import { transportsOf } from '../model/protocols.ts';
import { tagKeys } from '../model/tags.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import type { TargetPort } from '../model/desired.ts';
import type { Observed, ObservedClassic, ObservedTargetGroup } from '../model/observed.ts';

/**
 * Adds the targets of existing load balancers to which nodes are open through the cluster's security group. This covers Services that stay
 * unchanged, load balancers that are being replaced, and old targets that new ones have not replaced yet. The observed resources are those
 * of the stack.
 */
export function withRegisteredTargets(
  targets: StackTargets,
  { backendSecurityGroup, loadBalancers, targetGroups, classic }: Observed,
): StackTargets {
  // In a group that others use too, only the wanted targets are known to be ours.
  const isOursAlone = ({ tags }: ObservedTargetGroup): boolean => tags[tagKeys.multiCluster] === undefined;
  if (backendSecurityGroup === undefined) return targets;
  const isKnown = (groups: readonly string[] = []): boolean => groups.includes(backendSecurityGroup.GroupId);
  const known = loadBalancers.filter(({ loadBalancer }) => isKnown(loadBalancer.SecurityGroups));
  const arns = new Set(known.map(({ loadBalancer }) => loadBalancer.LoadBalancerArn));
  const groups = targetGroups
    .filter(isOursAlone)
    .filter(({ targetGroup }) => targetGroup.TargetType !== 'alb' && targetGroup.LoadBalancerArns.some((arn) => arns.has(arn)));
  const balancers = classic.filter(({ loadBalancer }) => isKnown(loadBalancer.SecurityGroups));
  const idsOf = (type: 'instance' | 'ip'): string[] =>
    groups.filter(({ targetGroup }) => targetGroup.TargetType === type).flatMap((group) => registeredTargets(group).map(({ Id }) => Id));
  const instances = balancers.flatMap(({ loadBalancer }) => loadBalancer.Instances.map(({ InstanceId }) => InstanceId));
  const ports = [...targets.ports, ...groups.flatMap(portsOf), ...balancers.flatMap(classicPorts)];
  return {
    ports: [...new Map(ports.map((port) => [`${port.protocol} ${port.port}`, port])).values()],
    instances: [...new Set([...targets.instances, ...idsOf('instance'), ...instances])],
    addresses: [...new Set([...targets.addresses, ...idsOf('ip')])],
  };
}

/** Draining targets are left out. Their open connections continue, because security groups admit replies. */
export function registeredTargets({ health }: Pick<ObservedTargetGroup, 'health'>): ObservedTargetGroup['health'][number]['Target'][] {
  return health.flatMap(({ Target, TargetHealth }) => (TargetHealth.State === 'draining' ? [] : [Target]));
}

function portsOf(group: ObservedTargetGroup): TargetPort[] {
  const { Protocol, HealthCheckPort } = group.targetGroup;
  const ports = [...new Set(registeredTargets(group).map(({ Port }) => Port))];
  const protocols: readonly TargetPort['protocol'][] = transportsOf(Protocol);
  const checks = HealthCheckPort === undefined || HealthCheckPort === 'traffic-port' ? ports : [Number(HealthCheckPort)];
  return [
    ...ports.flatMap((port) => protocols.map((protocol) => ({ protocol, port }))),
    ...checks.map((port) => ({ protocol: 'tcp' as const, port })),
  ];
}

function classicPorts({ loadBalancer: { ListenerDescriptions, HealthCheck } }: ObservedClassic): TargetPort[] {
  const check = Number(/^\w+:(\d+)/.exec(HealthCheck.Target)?.[1]);
  return [...ListenerDescriptions.map(({ Listener }) => Listener.InstancePort), check].map((port) => ({ protocol: 'tcp', port }));
}
