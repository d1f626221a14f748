import type { OutsideResource } from '../../../src/model/objects/outside-resource.ts';
import type { TargetHealthDescription } from '../cloud/elbv2.ts';
import { forwardingOf } from '../cloud/forwarding.ts';
import type { Observed, ObservedClassic, ObservedLoadBalancer, ObservedTargetGroup } from '../model/observed.ts';

type Health = OutsideResource['health'];

/** Returns the existing resources of a stack on the way of connections, each with its health. */
export function pathResources({ loadBalancers, targetGroups, classic }: Observed): OutsideResource[] {
  const groups = targetGroups.map(targetGroup);
  const healths = new Map(groups.map(({ group }) => [group.id, group.health]));
  return [
    ...loadBalancers.flatMap((one) => loadBalancer(one, healths)),
    ...groups.flatMap(({ group, targets }) => [group, ...targets]),
    ...classic.flatMap(classicResources),
  ];
}

function loadBalancer(
  { loadBalancer: balancer, listeners }: ObservedLoadBalancer,
  healths: ReadonlyMap<string, Health>,
): OutsideResource[] {
  const { LoadBalancerArn, LoadBalancerName, DNSName, Scheme, State } = balancer;
  const ports = listeners.map(({ listener }): OutsideResource => {
    const groups = [...forwardingOf(listener).groups.keys()];
    // The health of target groups that Herald did not make is unknown.
    const parts = groups.map((arn): Pick<OutsideResource, 'health'> => ({ health: healths.get(arn) ?? 'unknown' }));
    return {
      id: listener.ListenerArn,
      kind: 'listener',
      name: `${listener.Protocol} ${listener.Port}`,
      detail: '',
      ...together('target group', parts),
      to: groups,
    };
  });
  const inAws: Readonly<Record<typeof State.Code, Health>> = {
    active: 'good',
    provisioning: 'unknown',
    active_impaired: 'doubtful',
    failed: 'bad',
  };
  const why = [State.Code, State.Reason].filter((part) => part !== undefined).join(': ');
  return [
    {
      id: LoadBalancerArn,
      kind: 'loadBalancer',
      name: LoadBalancerName,
      detail: `NLB, ${Scheme}, ${DNSName}`,
      ...(State.Code === 'active' ? together('listener', ports) : { health: inAws[State.Code], why }),
      to: ports.map(({ id }) => id),
    },
    ...ports,
  ];
}

function targetGroup({ targetGroup: group, health }: ObservedTargetGroup): {
  readonly group: OutsideResource;
  readonly targets: readonly OutsideResource[];
} {
  const { TargetGroupArn, TargetGroupName, Protocol, Port, TargetType } = group;
  const targets = health.map((one) => target(one, TargetGroupArn));
  return {
    group: {
      id: TargetGroupArn,
      kind: 'targetGroup',
      name: TargetGroupName,
      detail: `${Protocol} ${Port}, ${TargetType}`,
      ...together('target', targets),
      to: targets.map(({ id }) => id),
    },
    targets,
  };
}

const targetHealths: Readonly<Record<TargetHealthDescription['TargetHealth']['State'], Health>> = {
  healthy: 'good',
  unhealthy: 'bad',
  initial: 'unknown',
  unavailable: 'unknown',
  draining: 'off',
  unused: 'off',
};

function target({ Target, TargetHealth: { State, Reason, Description } }: TargetHealthDescription, group: string): OutsideResource {
  const name = Target.Port === undefined ? Target.Id : `${Target.Id} port ${Target.Port}`;
  const why = [State, Description ?? Reason].filter((part) => part !== undefined).join(': ');
  const base = { id: `${group} ${name}`, kind: 'target', name, detail: Target.AvailabilityZone ?? '', to: [] } as const;
  return State === 'healthy' ? { ...base, health: 'good' } : { ...base, health: targetHealths[State], why };
}

function classicResources({ loadBalancer: balancer, health }: ObservedClassic): OutsideResource[] {
  const { LoadBalancerName, DNSName, Scheme, ListenerDescriptions, Instances } = balancer;
  const id = `classic ${LoadBalancerName}`;
  const instances = Instances.map(({ InstanceId }): OutsideResource => {
    const state = health.get(InstanceId) ?? 'Unknown';
    const base = { id: `${id} ${InstanceId}`, kind: 'target', name: InstanceId, detail: '', to: [] } as const;
    return state === 'InService'
      ? { ...base, health: 'good' }
      : { ...base, health: state === 'OutOfService' ? 'bad' : 'unknown', why: state };
  });
  const served = together('instance', instances);
  const listeners = ListenerDescriptions.map(
    ({ Listener: { Protocol, LoadBalancerPort, InstanceProtocol, InstancePort } }): OutsideResource => ({
      id: `${id} ${LoadBalancerPort}`,
      kind: 'listener',
      name: `${Protocol} ${LoadBalancerPort}`,
      detail: `${InstanceProtocol} to instance port ${InstancePort}`,
      ...served,
      to: instances.map((one) => one.id),
    }),
  );
  const of = together('listener', listeners);
  const to = listeners.map((one) => one.id);
  return [
    { id, kind: 'loadBalancer', name: LoadBalancerName, detail: `Classic ELB, ${Scheme}, ${DNSName}`, ...of, to },
    ...listeners,
    ...instances,
  ];
}

/** The health of a resource that sends to others. Those that are draining or unused count only when there are no others. */
function together(noun: string, parts: readonly Pick<OutsideResource, 'health'>[]): Pick<OutsideResource, 'health' | 'why'> {
  const used = parts.filter(({ health }) => health !== 'off');
  const all = used.length;
  const count = (health: Health): number => used.filter((one) => one.health === health).length;
  const [bad, doubtful, unknown] = [count('bad'), count('doubtful'), count('unknown')];
  if (all === 0) return { health: 'off', why: `it has no ${noun} in use` };
  if (bad === all) return { health: 'bad', why: all === 1 ? `its ${noun} is not healthy` : `none of its ${all} ${noun}s is healthy` };
  if (bad + doubtful > 0) return { health: 'doubtful', why: `${shareOf(bad + doubtful, all, noun)} a problem` };
  return unknown === 0 ? { health: 'good' } : { health: 'unknown', why: `${shareOf(unknown, all, noun)} an unknown health` };
}

/** "its listener has", "1 of its 3 listeners has", "2 of its 3 listeners have". */
function shareOf(some: number, all: number, noun: string): string {
  const part = all === 1 ? `its ${noun}` : `${some} of its ${all} ${noun}s`;
  return `${part} ${some === 1 ? 'has' : 'have'}`;
}
