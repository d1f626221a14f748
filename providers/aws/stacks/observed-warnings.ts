import { reason, type Reason } from '../../../src/model/reasons.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Member } from '../desire/stack.ts';
import { foreignListeners } from '../plan/nlb/listeners.ts';
import { currentNlb } from '../plan/nlb/nlb.ts';
import type { PlanInput } from '../plan/steps/input.ts';

type Warnings = ReadonlyMap<ServiceKey, readonly Reason[]>;

/** Adds warnings about what AWS shows of the load balancer, for the Service that decides about it. */
export function withObservedWarnings(warnings: Warnings, [first]: readonly Member[], planInput: PlanInput): Warnings {
  const found = [...aboutForeignListeners(planInput), ...aboutPrivateDnsName(planInput)];
  if (first === undefined || found.length === 0) return warnings;
  const key = serviceKey(first.service.metadata);
  return new Map([...warnings, [key, [...(warnings.get(key) ?? []), ...found]]]);
}

/** Listeners that Herald did not make. */
function aboutForeignListeners({ desired, ...planInput }: PlanInput): Reason[] {
  if (desired?.kind !== 'nlb') return [];
  const current = currentNlb({ ...planInput, desired });
  const ports = foreignListeners(desired, current, planInput.cluster).map(({ listener }) => listener.Port);
  if (current === undefined || ports.length === 0) return [];
  return [
    reason('AwsListenersUnknown', {
      name: current.loadBalancer.LoadBalancerName,
      ports: ports.toSorted((a, b) => a - b).join(', '),
      removed: desired.removesForeignListeners,
    }),
  ];
}

/** A private DNS name whose TXT record AWS has not found. */
function aboutPrivateDnsName({ desired, observed }: PlanInput): Reason[] {
  const service = endpointServiceOf({ desired, observed });
  const { State: state, Name: record = '', Value: value = '' } = service?.PrivateDnsNameConfiguration ?? {};
  if (service?.PrivateDnsName === undefined || state === undefined || state === 'verified') return [];
  const { ServiceId, ServiceName, PrivateDnsName } = service;
  return [reason('AwsEndpointServiceUnverified', { service: ServiceId, name: ServiceName, domain: PrivateDnsName, state, record, value })];
}

/** The endpoint service that the NLB has and shall have. */
export function endpointServiceOf({ desired, observed }: Pick<PlanInput, 'desired' | 'observed'>) {
  return desired?.kind === 'nlb' && desired.endpointService !== undefined ? observed.endpointServices?.[0]?.service : undefined;
}
