import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import type { AwsError } from '../cloud/error.ts';
import type { Member, StackOutcome } from '../desire/stack.ts';
import type { Desired } from '../model/desired.ts';
import { balancerOf } from '../model/addresses.ts';
import { limits } from '../model/limits.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';
import type { GatedPods } from '../plan/gated-pods.ts';
import { keptStackTargets } from '../plan/kept-targets.ts';
import { whyUnhealthy } from '../plan/health-verdict.ts';
import { foreignListeners } from '../plan/nlb/listeners.ts';
import { currentNlb } from '../plan/nlb/nlb.ts';
import type { StackPlan } from '../plan/plan.ts';
import { servingStatusOf, type ServingStatus } from '../plan/serving-status.ts';
import { healthOf } from '../plan/target-health.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import type { StackDecision } from './decide-stack.ts';
import { worstFailure, type Execution } from './execution/execute.ts';
import { gatedPodsOf, isOfOthers, releasedBy, type PlannedStack, type StackIntent } from './plan-decision.ts';

export interface StackResult {
  /** By member; empty when nothing is desired. */
  readonly servingStatus: ReadonlyMap<ServiceKey, ServingStatus>;
  /** Absent when nothing may change, or when everything is deleted. */
  readonly desired?: Desired;
  readonly plan: StackPlan;
  readonly execution: Execution;
  /** Why a Service lacks what it asks for. The key "" concerns all Services of the stack. */
  readonly errors: ReadonlyMap<ServiceKey | '', readonly Reason[]>;
  readonly warnings: ReadonlyMap<ServiceKey, readonly Reason[]>;
  /** Seconds until the next reconcile. */
  readonly requeueSeconds: number;
  /** AWS does not list yet what was created. Nothing was planned. */
  readonly unsettled: boolean;
  /** Nothing of the stack is left in AWS. */
  readonly gone: boolean;
  /** Services that are no members still have a part in the stack. */
  readonly staysForOthers: boolean;
  /** Targets that need node rules. Absent when unknown: then existing rules stay. */
  readonly targets?: StackTargets;
  /** The current targets, as far as known, when only targets may change. */
  readonly kept?: Omit<StackTargets, 'ports'>;
  /** The name by which clients find the endpoint service of the NLB. Absent: it has none. */
  readonly endpointService?: string;
  /** Pods that wait for the load balancer. */
  readonly gatedPods: readonly GatedPods[];
}

interface Reconciled extends Pick<PlannedStack, 'kept'> {
  readonly members: readonly Member[];
  readonly intent: StackIntent;
  readonly decision: StackDecision;
  /** The plan without the actions that were withheld. */
  readonly plan: StackPlan;
  readonly execution: Execution;
  /** Failed actions that a problem of the plan reports. */
  readonly reported: ReadonlySet<string>;
}

/** Returns the result of one reconcile. */
export function resultOf({ members, intent, decision, kept, plan, execution, reported }: Reconciled): StackResult {
  const { planInput, outcome, unsettled, movedMembers } = decision;
  const { desired } = planInput;
  const staysForOthers = movedMembers.length > 0 || isOfOthers(planInput, releasedBy(intent));
  const isEmpty = members.length === 0 && !staysForOthers;
  const isSettled = unsettled === undefined;
  return {
    servingStatus: servingStatuses(members, planInput),
    plan,
    execution,
    errors: errorsOf(plan, whyFailed(worstFailure(execution, reported), decision), outcome),
    warnings: withObservedWarnings(outcome?.warnings ?? new Map(), members, planInput),
    requeueSeconds: requeueSeconds(plan, execution, isSettled),
    unsettled: !isSettled,
    gone: isEmpty && isSettled && plan.actions.length === 0 && plan.problems.length === 0,
    staysForOthers,
    gatedPods: gatedPodsOf(members, decision, plan.actions),
    ...defined({ endpointService: endpointServiceOf(planInput)?.ServiceName }),
    ...(desired === undefined ? {} : { desired, targets: allTargets(desired, planInput) }),
    ...(desired === undefined && (outcome !== undefined || movedMembers.length > 0) ? { kept: keptStackTargets(kept) } : {}),
  };
}

function servingStatuses(members: readonly Member[], { desired, ...planInput }: PlanInput): ReadonlyMap<ServiceKey, ServingStatus> {
  if (desired === undefined) return new Map();
  return new Map(
    members.map(({ service }) => {
      const key = serviceKey(service.metadata);
      const published = service.ingress.map(({ hostname }) => hostname);
      return [key, servingStatusOf({ ...planInput, desired }, key, published)];
    }),
  );
}

/**
 * Returns the reason of a failure. For something in use: with the requested addresses that a network interface has, and the load balancer that
 * still serves the Service with them.
 */
function whyFailed(failure: AwsError | undefined, { planInput: { desired, published }, circumstances }: StackDecision): Reason | undefined {
  if (failure === undefined) return undefined;
  const { operation, awsCode, message, requestId, code } = failure;
  const subnets = desired?.kind === 'nlb' ? desired.subnets : [];
  const addresses = subnets.flatMap(({ AllocationId, PrivateIPv4Address, IPv6Address }) => [AllocationId, PrivateIPv4Address, IPv6Address]);
  const held = addresses.flatMap((address = '') => {
    const holder = circumstances.facts.addresses?.holders.get(address);
    return holder === undefined ? [] : [{ holder, text: `${address} is in use by network interface ${holder}` }];
  });
  const holders = held.map(({ text }) => text);
  const names = held.map(({ holder }) => balancerOf(holder) ?? '');
  const former = names.find((name) => published.some((host) => name !== '' && host.startsWith(`${name.toLowerCase()}-`)));
  const isOfAddresses = code === 'inUse' && /:(?:CreateLoadBalancer|SetSubnets)$/.test(operation) && holders.length > 0;
  return isOfAddresses
    ? reason('AwsInUse', { operation, awsCode, message, requestId, holders: holders.join('; '), ...defined({ former }) })
    : reasonOfError(failure);
}

/** The errors of each Service, and under "" those of the plan and its execution. */
function errorsOf(plan: StackPlan, failure: Reason | undefined, outcome: StackOutcome | undefined): StackResult['errors'] {
  const errors = new Map<ServiceKey | '', readonly Reason[]>(outcome?.errors);
  const all = [...plan.problems, ...(failure === undefined ? [] : [failure])];
  // A wait is reported only when there is no error.
  const wrong = all.filter(({ code }) => code !== 'AwsProvisioning');
  const general = wrong.length > 0 ? wrong : all;
  if (general.length > 0) errors.set('', general);
  return errors;
}

/** The time of the next reconcile: soon when something was done or could not be done, otherwise when the next wait ends. */
function requeueSeconds(plan: StackPlan, execution: Execution, isSettled: boolean): number {
  const isDone = plan.actions.length === 0 && execution.outcomes.every(({ result }) => result === 'done') && isSettled;
  const waits = plan.waits.map(({ seconds }) => seconds);
  return Math.min(limits.driftSeconds, ...waits, ...(isDone ? [] : [limits.pollSeconds]));
}

/** The desired targets and the registered ones. A rule for a registered target stays until the target is gone. */
function allTargets(desired: Desired, { observed, cluster, stack }: PlanInput): StackTargets {
  return withRegisteredTargets(targetsOf(desired), ownObserved(observed, cluster, stack));
}

/** Returns the targets that need node rules: none when nodes do not admit the load balancer by the cluster's security group. */
export function targetsOf(desired: Desired): StackTargets {
  const { securityGroups, targetPorts: ports } = desired;
  if (securityGroups.kind === 'none' || !securityGroups.backend) return { ports: [], instances: [], addresses: [] };
  if (desired.kind === 'classic') return { ports, instances: desired.instances, addresses: [] };
  const idsOf = (type: 'instance' | 'ip'): string[] => [
    ...new Set(desired.targetGroups.filter(({ targetType }) => targetType === type).flatMap(({ targets }) => targets.map(({ id }) => id))),
  ];
  return { ports, instances: idsOf('instance'), addresses: idsOf('ip') };
}

/** Adds warnings about what AWS shows of the targets of each Service, and of the load balancer, for the Service that decides about it. */
function withObservedWarnings(
  warnings: StackResult['warnings'],
  members: readonly Member[],
  planInput: PlanInput,
): StackResult['warnings'] {
  const all = new Map(warnings);
  for (const [index, { service }] of members.entries()) {
    const key = serviceKey(service.metadata);
    const unhealthy = whyUnhealthy(healthOf(planInput, key));
    const ofBalancer = index === 0 ? [...aboutForeignListeners(planInput), ...aboutPrivateDnsName(planInput)] : [];
    const found = [...ofBalancer, ...(unhealthy === undefined ? [] : [unhealthy])];
    if (found.length > 0) all.set(key, [...(warnings.get(key) ?? []), ...found]);
  }
  return all;
}

/** Warns of listeners that Herald did not make. */
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

/** Warns of a private DNS name whose TXT record AWS has not found. */
function aboutPrivateDnsName({ desired, observed }: PlanInput): Reason[] {
  const service = endpointServiceOf({ desired, observed });
  const { State: state, Name: record = '', Value: value = '' } = service?.PrivateDnsNameConfiguration ?? {};
  if (service?.PrivateDnsName === undefined || state === undefined || state === 'verified') return [];
  const { ServiceId, ServiceName, PrivateDnsName } = service;
  return [reason('AwsEndpointServiceUnverified', { service: ServiceId, name: ServiceName, domain: PrivateDnsName, state, record, value })];
}

/** Returns the endpoint service that the NLB has and shall have. */
function endpointServiceOf({ desired, observed }: Pick<PlanInput, 'desired' | 'observed'>) {
  return desired?.kind === 'nlb' && desired.endpointService !== undefined ? observed.endpointServices?.[0]?.service : undefined;
}
