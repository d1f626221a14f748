import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { forwardingOf } from '../cloud/forwarding.ts';
import type { TargetHealthDescription } from '../cloud/elbv2.ts';
import type { ObservedClassic, ObservedLoadBalancer } from '../model/observed.ts';
import { ownObserved } from '../model/own-resources.ts';
import { tagKeys } from '../model/tags.ts';
import { nameOf } from './serving-status.ts';
import type { PlanInput } from './steps/input.ts';

/** The targets behind one port of a Service, as AWS' health checks see them. Draining ones are left out. */
export interface PortHealth {
  /** "80/TCP". */
  readonly port: string;
  readonly targets: number;
  readonly healthy: number;
  /** Targets of which AWS does not know yet if they are healthy. */
  readonly unknown: number;
  /** AWS' explanations for the others, each once, sorted. They may change while their cause stays. */
  readonly why: readonly string[];
  /** The states and codes of the others, each once, sorted. */
  readonly causes: readonly string[];
  /** Zones with targets of which none is healthy, sorted. */
  readonly zonesWithout: readonly string[];
}

type HealthInput = Pick<PlanInput, 'observed' | 'cluster' | 'stack' | 'published' | 'zones' | 'zoneOf'>;
type State = 'healthy' | 'unknown' | 'other';

interface CheckedTarget {
  readonly zone: string | undefined;
  readonly state: State;
  readonly why: string;
  readonly cause: string;
}

/** Returns the health behind each port of the Service on the load balancer that its status names. Empty: there is none. */
export function healthOf(input: HealthInput, service: ServiceKey): PortHealth[] {
  const { loadBalancers, classic } = ownObserved(input.observed, input.cluster, input.stack);
  const isPublished = (one: { readonly loadBalancer: { readonly DNSName: string } }): boolean =>
    input.published.includes(nameOf(one.loadBalancer));
  return [
    ...loadBalancers.filter(isPublished).flatMap((one) => ofNlb(one, service, input)),
    ...classic.filter((one) => isPublished(one) && one.tags[tagKeys.stack] === service).flatMap((one) => ofClassic(one, input)),
  ];
}

function ofNlb(
  { loadBalancer, listeners }: ObservedLoadBalancer,
  service: ServiceKey,
  { observed, zones, zoneOf }: HealthInput,
): PortHealth[] {
  const served = new Set(loadBalancer.AvailabilityZones.flatMap(({ SubnetId, ZoneName }) => [ZoneName, zones.get(SubnetId)]));
  const checked = ({ Target, TargetHealth }: TargetHealthDescription): CheckedTarget => {
    const zone = zoneOf(Target.Id);
    const { State, Reason, Description } = TargetHealth;
    // AWS has not begun to check a target of a group that was just attached.
    const isNew = State === 'unused' && Reason === 'Target.NotInUse' && (zone === undefined || served.has(zone));
    const state = State === 'healthy' ? State : State === 'initial' || State === 'unavailable' || isNew ? 'unknown' : 'other';
    const text = (detail: string | undefined): string => (detail === undefined ? State : `${State}: ${detail}`);
    return { zone, state, why: text(Description ?? Reason), cause: text(Reason) };
  };
  return listeners
    .filter(({ tags }) => tags[tagKeys.service] === service)
    .flatMap(({ listener }) => {
      const used = [...forwardingOf(listener).groups].filter(([, weight]) => weight > 0).map(([arn]) => arn);
      return used.flatMap((arn): PortHealth[] => {
        const group = observed.targetGroups.find(({ targetGroup }) => targetGroup.TargetGroupArn === arn);
        // The group of another owner is not read.
        if (group === undefined) return [];
        const present = group.health.filter(({ TargetHealth }) => TargetHealth.State !== 'draining');
        return [summary(`${listener.Port}/${listener.Protocol}`, present.map(checked))];
      });
    });
}

function ofClassic({ loadBalancer: { Instances, ListenerDescriptions }, health }: ObservedClassic, { zoneOf }: HealthInput): PortHealth[] {
  const states: Readonly<Record<string, State>> = { InService: 'healthy', OutOfService: 'other' };
  const targets = Instances.map(({ InstanceId }): CheckedTarget => {
    const why = health.get(InstanceId) ?? 'Unknown';
    return { zone: zoneOf(InstanceId), state: states[why] ?? 'unknown', why, cause: why };
  });
  return ListenerDescriptions.map(({ Listener }) => summary(`${Listener.LoadBalancerPort}/${Listener.Protocol}`, targets));
}

function summary(port: string, targets: readonly CheckedTarget[]): PortHealth {
  const count = (state: State): number => targets.filter((one) => one.state === state).length;
  const zones = Map.groupBy(
    targets.filter(({ zone }) => zone !== undefined),
    ({ zone }) => zone ?? '',
  );
  const others = targets.filter(({ state }) => state === 'other');
  const without = [...zones].filter(([, own]) => own.every(({ state }) => state === 'other')).map(([zone]) => zone);
  return {
    port,
    targets: targets.length,
    healthy: count('healthy'),
    unknown: count('unknown'),
    why: distinct(others.map(({ why }) => why)),
    causes: distinct(others.map(({ cause }) => cause)),
    zonesWithout: without.toSorted(),
  };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted();
}
