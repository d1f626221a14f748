import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Circumstances, StackIdentity, Surroundings } from '../model/circumstances.ts';
import { keptTargets } from './decide-kept-targets.ts';
import { withBackends } from '../desire/ports/weights.ts';
import { zonesOfTargets } from '../desire/targets/target-zones.ts';
import { desireStack, isGuest, memberOf, wantsPods, type Member, type StackOutcome } from '../desire/stack.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import { execute, worstFailure, type Execution, type Outcome } from './execution/execute.ts';
import { limits } from '../model/limits.ts';
import { resourceName } from '../model/resource-names.ts';
import { existingStack } from '../observe/existing-stack.ts';
import { isClassicName, type KnownResources } from '../observe/known-resources.ts';
import { observeStack } from '../observe/observe.ts';
import { lastingState, type RecentObservation } from '../observe/recent-observation.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import { endpointServiceOf, withObservedWarnings } from './observed-warnings.ts';
import { recordSharedTargets } from './shared-targets.ts';
import type { TargetRecords } from './target-records.ts';
import { vanishedServices } from './orphans.ts';
import { planRelease } from '../plan/plan-release.ts';
import type { Desired } from '../model/desired.ts';
import type { Observed } from '../model/observed.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import { exceptRemoved, keptStackTargets, planKeptTargets, replacedResources, type KeptTargets } from '../plan/kept-targets.ts';
import { ownObserved } from '../model/own-resources.ts';
import { whyManagedByOther } from '../plan/steps/foreign-resources.ts';
import type { RepeatedWrites } from './execution/repeated-writes.ts';
import { planDisown, planStack, type StackPlan } from '../plan/plan.ts';
import { servingStatusOf, type ServingStatus } from '../plan/serving-status.ts';
import { tagKeys } from '../model/tags.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Action } from '../plan/steps/action.ts';
import { gatedPods, waitsForPods, type GatedPods } from '../plan/gated-pods.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';

/**
 * The purpose of a reconcile.
 *
 * - serve: gives the members what they ask for. Keeps what still serves Services that have moved to another stack. Deletes everything
 *   when there are neither.
 * - release: does the same, and also deletes the part of `service`, even when nothing else can be changed.
 * - disown: removes our tags and leaves the resources in place. The part of `service` is deleted where other Services still need the stack.
 */
export type StackIntent = { readonly kind: 'serve' } | { readonly kind: 'release' | 'disown'; readonly service?: ServiceKey | undefined };

export interface StackInput {
  readonly stack: StackIdentity;
  readonly intent: StackIntent;
  /** The Services that the stack serves. Empty: nothing is desired. */
  readonly members: readonly Member[];
  readonly known: KnownResources;
  readonly repeated: RepeatedWrites;
  readonly recent: RecentObservation;
  readonly records: TargetRecords;
  readonly circumstances: Surroundings;
  /** True when a Service is gone without a deletion that Herald saw. */
  readonly isVanished: (service: ServiceKey) => boolean;
  /** Returns the Service when it belongs elsewhere now and clients may still use its part of this stack. That part stays. */
  readonly movedAway?: (service: ServiceKey) => Service | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

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

/**
 * Reconciles one stack once: observes, desires, plans, executes. Keeps no memory besides `known`, `repeated` and `recent`. Rejects with
 * AwsError when AWS cannot be read.
 */
export async function reconcileStack(
  cloud: Cloud,
  settings: AwsSettings,
  input: StackInput,
  onOutcome: (outcome: Outcome) => void = () => undefined,
): Promise<StackResult> {
  const { decision, kept, planned } = (await decideFromRecent(cloud, settings, input)) ?? (await decideFromAll(cloud, settings, input));
  const { planInput, outcome, unsettled, movedMembers } = decision;
  const observed = lastingState(planInput.observed);
  // While AWS does not list all that was created, nothing is planned, which says nothing about earlier writes.
  const unrecorded = unsettled === undefined ? await recordSharedTargets(input.records, input.members, planInput, kept) : undefined;
  const mayPlan = unsettled === undefined && unrecorded === undefined;
  const { actions, reasons } = mayPlan ? input.repeated.admit(planned.actions, observed) : { actions: [], reasons: [] };
  const waits =
    unrecorded === undefined ? planned.waits : [...planned.waits, { for: 'its targets to be recorded', seconds: limits.pollSeconds }];
  const plan = { actions, waits, problems: [...planned.problems, ...reasons, ...(unrecorded === undefined ? [] : [unrecorded])] };
  const execution = await execute(cloud, actions, onOutcome);
  input.repeated.record(execution.outcomes, observed);
  remember(input.known, execution, input.now);

  const { desired } = planInput;
  const staysForOthers = movedMembers.length > 0 || isOfOthers(planInput, releasedBy(input.intent));
  const isEmpty = input.members.length === 0 && !staysForOthers;
  const isSettled = unsettled === undefined;
  return {
    servingStatus: servingStatuses(input.members, planInput),
    plan,
    execution,
    errors: errorsOf(plan, execution, outcome),
    warnings: withObservedWarnings(outcome?.warnings ?? new Map(), input.members, planInput),
    requeueSeconds: requeueSeconds(plan, execution, isSettled),
    unsettled: !isSettled,
    gone: isEmpty && isSettled && plan.actions.length === 0 && plan.problems.length === 0,
    staysForOthers,
    gatedPods: gatedPodsOf(input.members, decision, actions),
    ...defined({ endpointService: endpointServiceOf(planInput)?.ServiceName }),
    ...(desired === undefined ? {} : { desired, targets: allTargets(desired, planInput) }),
    ...(desired === undefined && (outcome !== undefined || movedMembers.length > 0) ? { kept: keptStackTargets(kept) } : {}),
  };
}

interface Decided {
  readonly decision: StackDecision;
  readonly kept: KeptTargets;
  readonly planned: StackPlan;
}

/** Reads everything, and remembers it when the stack only waits for AWS. */
async function decideFromAll(cloud: Cloud, settings: AwsSettings, input: StackInput): Promise<Decided> {
  input.recent.forget();
  const attributes = input.members.some(namesAttributes) ? 'all' : 'kept';
  const decided = planned(input, await decideStack(cloud, settings, input, { attributes }));
  const { unsettled, planInput } = decided.decision;
  const isQuiet = decided.planned.actions.length === 0;
  if (isQuiet && decided.planned.waits.length > 0 && unsettled === undefined) input.recent.record(planInput.observed, input.now);
  // A removal must know all attributes, for example the protection against deletion.
  const needsAll = !isQuiet && attributes === 'kept' && planInput.observed.loadBalancers.length > 0;
  return needsAll ? planned(input, await decideStack(cloud, settings, input)) : decided;
}

/** True if the Service may name attributes of its load balancer or listeners. */
function namesAttributes({ values }: Member): boolean {
  const { attributes, accessLog, crossZone, listenerAttributes } = values;
  return attributes !== undefined || accessLog !== undefined || crossZone !== undefined || listenerAttributes.size > 0;
}

/** Reads only what AWS changes by itself. Undefined when that is not enough: before anything is written, everything is read. */
async function decideFromRecent(cloud: Cloud, settings: AwsSettings, input: StackInput): Promise<Decided | undefined> {
  if (input.intent.kind !== 'serve' || input.known.doubtful.size > 0) return undefined;
  const observed = await input.recent.refresh(cloud, input.now);
  if (observed === undefined) return undefined;
  const decided = planned(input, await decideStack(cloud, settings, input, { recent: observed }));
  // Later reconciles check what nobody waits for.
  if (decided.planned.waits.length === 0) input.recent.forget();
  return decided.planned.actions.length === 0 ? decided : undefined;
}

function planned(input: StackInput, decision: StackDecision): Decided {
  const kept = keptOf(input, decision);
  return { decision, kept, planned: planOf(input, decision, kept) };
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

/** The errors of each Service, and under "" those of the plan and its execution. */
function errorsOf(plan: StackPlan, execution: Execution, outcome: StackOutcome | undefined): StackResult['errors'] {
  const errors = new Map<ServiceKey | '', readonly Reason[]>(outcome?.errors);
  const failure = worstFailure(execution);
  const all = [...plan.problems, ...(failure === undefined ? [] : [reasonOfError(failure)])];
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

const nothing: StackPlan = { actions: [], waits: [], problems: [] };

function gatedPodsOf(members: readonly Member[], { circumstances, planInput }: StackDecision, actions: readonly Action[]): GatedPods[] {
  return gatedPods(
    members.map(({ service }) => serviceKey(service.metadata)),
    circumstances,
    planInput,
    actions,
  );
}

/** Returns the plan of one reconcile, as `herald plan` shows it. Empty while AWS does not list all that was created. */
export function planOf(input: Pick<StackInput, 'members' | 'intent'>, decision: StackDecision, kept: KeptTargets): StackPlan {
  const plan = planOfResources(input, decision, kept);
  return { ...plan, waits: [...plan.waits, ...waitsForPods(gatedPodsOf(input.members, decision, plan.actions))] };
}

function planOfResources(
  { members, intent }: Pick<StackInput, 'members' | 'intent'>,
  { planInput, outcome, unsettled, movedMembers, managed }: StackDecision,
  kept: KeptTargets,
): StackPlan {
  if (unsettled !== undefined) return nothing;
  if (managed !== undefined && intent.kind !== 'disown') return { ...nothing, problems: [managed] };
  const releasing = releasedBy(intent);
  const isStillNeeded = members.length === 0 && (movedMembers.length > 0 || isOfOthers(planInput, releasing));
  const isNotUnderstood = releasing !== undefined && members.length > 0 && outcome?.desired === undefined;
  if (isStillNeeded || isNotUnderstood) return planPartialRelease(planInput, kept, releasing);
  return intent.kind === 'disown' ? planDisown(planInput) : planWith(planInput, outcome, kept);
}

function releasedBy(intent: StackIntent): ServiceKey | undefined {
  return intent.kind === 'serve' ? undefined : intent.service;
}

/** True if a Service releases its part of another namespace's load balancer in which others have parts: it must not delete those. */
function isOfOthers({ observed, cluster, stack }: PlanInput, releasing: ServiceKey | undefined): boolean {
  if (releasing === undefined || !isGuest(stack, releasing)) return false;
  return ownObserved(observed, cluster, stack).targetGroups.some(({ tags }) => tags[tagKeys.service] !== releasing);
}

/** Deletes the part of `releasing`, and keeps the targets of everything else current. */
function planPartialRelease(planInput: PlanInput, kept: KeptTargets, releasing: ServiceKey | undefined): StackPlan {
  const departure = releasing === undefined ? nothing : planRelease(planInput, releasing);
  const keeping = planKeptTargets(kept, ownObserved(planInput.observed, planInput.cluster, planInput.stack), planInput.zoneOf);
  return { actions: [...departure.actions, ...keeping.actions], waits: [...departure.waits, ...keeping.waits], problems: [] };
}

/** The desired targets and the registered ones. A rule for a registered target stays until the target is gone. */
function allTargets(desired: Desired, { observed, cluster, stack }: PlanInput): StackTargets {
  return withRegisteredTargets(targetsOf(desired), ownObserved(observed, cluster, stack));
}

/** Plans what is desired. When the desired state is unknown because of an error, only targets of existing resources change. */
function planWith(planInput: PlanInput, outcome: StackOutcome | undefined, kept: KeptTargets): StackPlan {
  const own = ownObserved(planInput.observed, planInput.cluster, planInput.stack);
  if (outcome !== undefined && outcome.desired === undefined) return planKeptTargets(kept, own, planInput.zoneOf);
  const plan = planStack(planInput);
  const keeping = planKeptTargets(exceptRemoved(plan.actions, kept), own, planInput.zoneOf);
  return { actions: [...plan.actions, ...keeping.actions], waits: [...plan.waits, ...keeping.waits], problems: plan.problems };
}

/**
 * Returns the targets to keep current outside the desired state. For members with errors, and for Services that moved away: all of their
 * existing resources. An error of the first member concerns all members, because it decides about the load balancer. For other members:
 * resources that are being replaced, which serve until the replacement does.
 */
export function keptOf(
  { members }: Pick<StackInput, 'members'>,
  { planInput, outcome, movedMembers, circumstances }: StackDecision,
): KeptTargets {
  const desired = outcome?.desired;
  const untouched = desired?.kind === 'nlb' ? desired.untouched : [];
  const hasError = ({ service }: Member): boolean => desired === undefined || untouched.includes(serviceKey(service.metadata));
  const own = ownObserved(planInput.observed, planInput.cluster, planInput.stack);
  const replaced = replacedResources(own, planInput);
  const wrong = keptTargets([...members.filter(hasError), ...movedMembers], { ...own, classic: replaced.classic }, circumstances);
  const right = keptTargets(
    members.filter((member) => !hasError(member)),
    replaced,
    circumstances,
  );
  const classic = wrong.classic ?? right.classic;
  return { groups: [...wrong.groups, ...right.groups], ...defined({ classic }) };
}

interface StackDecision {
  readonly planInput: PlanInput;
  readonly circumstances: Circumstances;
  readonly outcome?: StackOutcome;
  readonly unsettled?: string;
  /** Why nothing may change: another controller manages the load balancer as well. */
  readonly managed?: Reason | undefined;
  /** Services that have a part in the stack and belong elsewhere now. */
  readonly movedMembers: readonly Member[];
}

/** Observes and decides, and changes nothing: `herald plan` stops here. `recent`: an observation to use instead of a new one. */
export async function decideStack(
  cloud: Parameters<typeof observeStack>[0],
  settings: AwsSettings,
  {
    stack,
    members,
    known,
    circumstances: surroundings,
    isVanished,
    movedAway,
    now,
  }: Omit<StackInput, 'intent' | 'repeated' | 'recent' | 'records'>,
  { recent, attributes = 'all' }: { readonly recent?: Observed; readonly attributes?: 'all' | 'kept' } = {},
): Promise<StackDecision> {
  const { clusterName: cluster, vpcId, retireSeconds, orphanSeconds } = settings;
  const [first] = members;
  const generated = (kind: 'nlb' | 'classic'): string[] =>
    (['internal', 'internet-facing'] as const).map((scheme) => resourceName(stack.namespace, stack.name, cluster, stack.key, kind, scheme));
  const { name, adopt } = first?.values ?? {};
  const isClassic = first?.kind === 'classic';
  const knowsClassic = known.ids.some(isClassicName);
  const knowsNlb = known.ids.some((id) => id.includes(':loadbalancer/'));
  const observe = (): ReturnType<typeof observeStack> =>
    observeStack(cloud, {
      stack: stack.key,
      cluster,
      vpcId,
      known,
      wanted: isClassic ? [] : [adopt, knowsNlb ? undefined : name].filter((text) => text !== undefined),
      wantedClassic: isClassic && !knowsClassic ? [...generated('classic'), ...(name === undefined ? [] : [name])] : [],
      attributes,
      readsCapacity: first?.values.capacityUnits !== undefined,
      wantsEndpointService: first?.values.endpointService === true,
      now,
    });
  const { observed, unsettled } = recent === undefined ? await observe() : { observed: recent };
  const existing = existingStack(observed, cluster, stack.key, adopt);
  const own = ownObserved(observed, cluster, stack.key);
  const absent = vanishedServices(own.targetGroups, isVanished, now, orphanSeconds);
  const parts = new Set([stack.key, ...own.targetGroups.flatMap(({ tags }) => tags[tagKeys.service] ?? [])] as ServiceKey[]);
  const kind = own.classic.length > 0 ? 'classic' : 'nlb';
  const movedMembers = [...parts].flatMap((key) => movedAway?.(key) ?? []).map((service) => memberOf(service, kind));
  const untouched = [...absent, ...movedMembers.map(({ service }) => serviceKey(service.metadata))];
  const withPods = new Set(
    own.targetGroups.flatMap(({ targetGroup, tags }) => (targetGroup.TargetType === 'ip' ? [tags[tagKeys.service]] : [])),
  );
  const needsPods = (one: Member): boolean => wantsPods(one, settings) || withPods.has(serviceKey(one.service.metadata));
  const podServices = withBackends([...members, ...movedMembers].filter(needsPods).map(({ service }) => service));
  const circumstances = { ...surroundings, ...(await surroundings.checkTargets(podServices)), existing };
  const managed = whyManagedByOther({ observed, cluster, stack: stack.key });
  const decide = (): StackOutcome =>
    managed === undefined ? desireStack(stack, members, circumstances, untouched) : { errors: new Map(), warnings: new Map() };
  const outcome = members.length === 0 ? undefined : decide();
  const zones = new Map(circumstances.facts.subnets.map(({ id, zone }) => [id, zone]));
  const published = members.flatMap(({ service }) => service.ingress.flatMap(({ hostname }) => hostname ?? []));
  const zoneOf = zonesOfTargets(circumstances.nodes, circumstances.facts.subnets);
  const planInput = { observed, desired: outcome?.desired, stack: stack.key, cluster, vpcId, zones, zoneOf, retireSeconds, published, now };
  return { planInput, circumstances, movedMembers, ...defined({ outcome, unsettled, managed }) };
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

/**
 * Adds created resources to `known` and removes deleted ones. A resource whose creation got no clear answer is looked for by its name next
 * time.
 */
function remember(known: KnownResources, { outcomes, created }: Execution, now: number): void {
  for (const id of created.values()) if (!id.includes(':listener/')) known.recordCreated(id, now);
  for (const outcome of outcomes) {
    const { operation, input } = outcome.action;
    if (operation === 'elb:CreateLoadBalancer' && outcome.result === 'done') known.recordCreated(input.LoadBalancerName, now);
    if (outcome.result === 'failed' && (operation === 'elbv2:CreateLoadBalancer' || operation === 'elbv2:CreateTargetGroup'))
      known.doubtful.add(input.Name);
    if (outcome.result !== 'done') continue;
    if (operation === 'elbv2:DeleteLoadBalancer') known.forgetResource(input.LoadBalancerArn);
    if (operation === 'elbv2:DeleteTargetGroup') known.forgetResource(input.TargetGroupArn);
    if (operation === 'elb:DeleteLoadBalancer') known.forgetResource(input.LoadBalancerName);
    if (operation === 'ec2:DeleteSecurityGroup') known.forgetResource(input.GroupId);
    if (operation === 'ec2:DeleteVpcEndpointServiceConfigurations') known.forgetResource(input.ServiceIds[0]);
  }
}
