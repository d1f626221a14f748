import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import { keptTargets } from './decide-kept-targets.ts';
import { zonesOfTargets } from '../desire/target-zones.ts';
import { desireStack, memberOf, type Member, type StackOutcome } from '../desire/stack.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import { execute, worstFailure, type Execution, type Outcome } from './execute.ts';
import { limits } from '../model/limits.ts';
import { resourceName } from '../model/resource-names.ts';
import { existingStack } from '../observe/existing-stack.ts';
import { isClassicName, type KnownResources } from '../observe/known-resources.ts';
import { observeStack } from '../observe/observe.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import { vanishedServices } from './orphans.ts';
import { planRelease } from '../plan/plan-release.ts';
import type { Desired } from '../model/desired.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import { exceptRemoved, planKeptTargets, replacedResources, type KeptTargets } from '../plan/kept-targets.ts';
import { ownObserved } from '../model/own-resources.ts';
import { planDisown, planStack, type StackPlan } from '../plan/plan.ts';
import { servingStatusOf, type ServingStatus } from '../plan/serving-status.ts';
import { tagKeys } from '../model/tags.ts';
import type { AwsSettings } from '../model/settings.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';

/**
 * The purpose of a reconcile.
 *
 * - serve: gives the members what they ask for. Keeps what still serves Services that have moved to another stack. Deletes everything when there are neither.
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
  readonly circumstances: Omit<Circumstances, 'existing'>;
  /** Whether a Service is gone without having been deleted. */
  readonly isVanished: (service: ServiceKey) => boolean;
  /** The Service, where it belongs elsewhere by now but may still be reached by what it has here: that stays. */
  readonly movedAway?: (service: ServiceKey) => Service | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface StackResult {
  /** Of each member; empty where nothing is desired. */
  readonly servingStatus: ReadonlyMap<ServiceKey, ServingStatus>;
  /** Absent: nothing may change, or nothing shall be left. */
  readonly desired?: Desired;
  readonly plan: StackPlan;
  readonly execution: Execution;
  /** Why a Service, or all of them (""), has not what it asks for. */
  readonly errors: ReadonlyMap<ServiceKey | '', readonly Reason[]>;
  readonly warnings: ReadonlyMap<ServiceKey, readonly Reason[]>;
  /** When to look again. */
  readonly requeueSeconds: number;
  /** AWS does not show yet all that was made: nothing was planned. */
  readonly unsettled: boolean;
  /** Nothing of it is left in AWS. */
  readonly gone: boolean;
  /** Services have a part in it that belong elsewhere. */
  readonly hasMovedMembers: boolean;
  /** Where its targets must be reached; undefined: not known, what is open stays open. */
  readonly targets?: StackTargets;
  /** Where nothing but targets may change: which they are now, as far as that is known. */
  readonly kept?: Omit<StackTargets, 'ports'>;
}

/** One pass over one stack: observe, desire, plan, execute. Rejects with AwsError where AWS cannot be read. */
export async function reconcileStack(
  cloud: Cloud,
  settings: AwsSettings,
  input: StackInput,
  ended: (outcome: Outcome) => void = () => undefined,
): Promise<StackResult> {
  const { members, known, now } = input;
  const decision = await decideStack(cloud, settings, input);
  const { planInput, outcome, unsettled, movedMembers } = decision;
  const kept = keptOf(input, decision);
  const plan = planOf(input, decision, kept);
  const execution = await execute(cloud, plan.actions, ended);
  remember(known, execution, now);
  const failure = worstFailure(execution);
  const errors = new Map<ServiceKey | '', readonly Reason[]>(outcome?.errors);
  const all = [...plan.problems, ...(failure === undefined ? [] : [reasonOfError(failure)])];
  // That something takes its time is worth saying only where nothing is wrong.
  const wrong = all.filter(({ code }) => code !== 'AwsProvisioning');
  const general = wrong.length > 0 ? wrong : all;
  if (general.length > 0) errors.set('', general);
  const { desired } = planInput;
  const standings = new Map(
    (desired === undefined ? [] : members).map(({ service }) => {
      const key = serviceKey(service.metadata);
      const published = service.ingress.map(({ hostname }) => hostname);
      return [key, servingStatusOf({ ...planInput, desired: desired as Desired }, key, published)] as const;
    }),
  );
  const unfinished = execution.outcomes.some(({ result }) => result !== 'done');
  const isGone =
    members.length === 0 && movedMembers.length === 0 && unsettled === undefined && plan.actions.length === 0 && plan.problems.length === 0;
  const waits = [
    ...plan.waits.map(({ seconds }) => seconds),
    ...(plan.actions.length > 0 || unfinished || unsettled !== undefined ? [limits.pollSeconds] : []),
  ];
  return {
    servingStatus: standings,
    plan,
    execution,
    errors,
    warnings: outcome?.warnings ?? new Map(),
    requeueSeconds: Math.min(limits.driftSeconds, ...waits),
    unsettled: unsettled !== undefined,
    gone: isGone,
    hasMovedMembers: movedMembers.length > 0,
    ...(desired === undefined ? {} : { desired, targets: allTargets(desired, planInput) }),
    ...(desired === undefined && (outcome !== undefined || movedMembers.length > 0) ? { kept: keptStackTargets(kept) } : {}),
  };
}

const nothing: StackPlan = { actions: [], waits: [], problems: [] };

/** What one pass does, and `herald plan` shows: nothing as long as AWS does not show all that was made. */
export function planOf(
  { members, intent }: Pick<StackInput, 'members' | 'intent'>,
  { planInput, outcome, unsettled, movedMembers }: StackDecision,
  kept: KeptTargets,
): StackPlan {
  if (unsettled !== undefined) return nothing;
  const releasing = intent.kind === 'serve' ? undefined : intent.service;
  const isStillNeeded = members.length === 0 && movedMembers.length > 0;
  const isNotUnderstood = releasing !== undefined && members.length > 0 && outcome?.desired === undefined;
  if (isStillNeeded || isNotUnderstood) return planPartialRelease(planInput, kept, releasing);
  return intent.kind === 'disown' ? planDisown(planInput) : planWith(planInput, outcome, kept);
}

/** What is there keeps its targets, but for the part of who leaves. */
function planPartialRelease(planInput: PlanInput, kept: KeptTargets, releasing: ServiceKey | undefined): StackPlan {
  const departure = releasing === undefined ? nothing : planRelease(planInput, releasing);
  const keeping = planKeptTargets(kept, ownObserved(planInput.observed, planInput.cluster, planInput.stack), planInput.zoneOf);
  return { actions: [...departure.actions, ...keeping.actions], waits: [...departure.waits, ...keeping.waits], problems: [] };
}

/** What is asked for, and what is there: that is let go of when it is, and not before. */
function allTargets(desired: Desired, { observed, cluster, stack }: PlanInput): StackTargets {
  return withRegisteredTargets(targetsOf(desired), ownObserved(observed, cluster, stack));
}

/** Nothing changes where what is asked for is not understood, but for the targets of what is there. */
function planWith(planInput: PlanInput, outcome: StackOutcome | undefined, kept: KeptTargets): StackPlan {
  const own = ownObserved(planInput.observed, planInput.cluster, planInput.stack);
  if (outcome !== undefined && outcome.desired === undefined) return planKeptTargets(kept, own, planInput.zoneOf);
  const plan = planStack(planInput);
  const keeping = planKeptTargets(exceptRemoved(plan.actions, kept), own, planInput.zoneOf);
  return { actions: [...plan.actions, ...keeping.actions], waits: [...plan.waits, ...keeping.waits], problems: plan.problems };
}

/**
 * Of the Services about which something is wrong: all of them, where one decides about the whole and is wrong. Of the others what is being replaced, as
 * long as it serves: what replaces it may not come for long.
 */
export function keptOf(
  { members, circumstances }: Pick<StackInput, 'members' | 'circumstances'>,
  { planInput, outcome, movedMembers }: StackDecision,
): KeptTargets {
  const desired = outcome?.desired;
  const untouched = desired?.kind === 'nlb' ? desired.untouched : [];
  const isMistaken = ({ service }: Member): boolean => desired === undefined || untouched.includes(serviceKey(service.metadata));
  const own = ownObserved(planInput.observed, planInput.cluster, planInput.stack);
  const replaced = replacedResources(own, planInput);
  const wrong = keptTargets([...members.filter(isMistaken), ...movedMembers], { ...own, classic: replaced.classic }, circumstances);
  const right = keptTargets(
    members.filter((member) => !isMistaken(member)),
    replaced,
    circumstances,
  );
  const classic = wrong.classic ?? right.classic;
  return { groups: [...wrong.groups, ...right.groups], ...defined({ classic }) };
}

function keptStackTargets({ groups, classic }: KeptTargets): Omit<StackTargets, 'ports'> {
  const idsOf = (type: 'instance' | 'ip'): string[] =>
    groups.filter(({ targetType }) => targetType === type).flatMap(({ targets }) => targets.map(({ id }) => id));
  return { instances: [...new Set([...idsOf('instance'), ...(classic?.instances ?? [])])], addresses: [...new Set(idsOf('ip'))] };
}

interface StackDecision {
  readonly planInput: PlanInput;
  readonly outcome?: StackOutcome;
  readonly unsettled?: string;
  /** Services that have a part in it, and belong elsewhere. */
  readonly movedMembers: readonly Member[];
}

/** Everything of a pass that changes nothing: `herald plan` and `explain` stop here. */
export async function decideStack(
  cloud: Parameters<typeof observeStack>[0],
  settings: AwsSettings,
  { stack, members, known, circumstances, isVanished, movedAway, now }: Omit<StackInput, 'intent'>,
): Promise<StackDecision> {
  const { clusterName: cluster, vpcId, retireSeconds, orphanSeconds } = settings;
  const [first] = members;
  const generated = (kind: 'nlb' | 'classic'): string[] =>
    (['internal', 'internet-facing'] as const).map((scheme) => resourceName(stack.namespace, stack.name, cluster, stack.key, kind, scheme));
  const { name, adopt } = first?.values ?? {};
  const isClassic = first?.kind === 'classic';
  const knowsClassic = known.ids.some(isClassicName);
  const knowsNlb = known.ids.some((id) => id.includes(':loadbalancer/'));
  const { observed, unsettled } = await observeStack(cloud, {
    stack: stack.key,
    cluster,
    vpcId,
    known,
    wanted: isClassic ? [] : [adopt, knowsNlb ? undefined : name].filter((text) => text !== undefined),
    wantedClassic: isClassic && !knowsClassic ? [...generated('classic'), ...(name === undefined ? [] : [name])] : [],
    now,
  });
  const existing = existingStack(observed, cluster, stack.key, adopt);
  const own = ownObserved(observed, cluster, stack.key);
  const absent = vanishedServices(own.targetGroups, isVanished, now, orphanSeconds);
  const parts = new Set([stack.key, ...own.targetGroups.flatMap(({ tags }) => tags[tagKeys.service] ?? [])] as ServiceKey[]);
  const kind = own.classic.length > 0 ? 'classic' : 'nlb';
  const movedMembers = [...parts].flatMap((key) => movedAway?.(key) ?? []).map((service) => memberOf(service, kind));
  const untouched = [...absent, ...movedMembers.map(({ service }) => serviceKey(service.metadata))];
  const outcome = members.length === 0 ? undefined : desireStack(stack, members, { ...circumstances, existing }, untouched);
  const zones = new Map(circumstances.facts.subnets.map(({ id, zone }) => [id, zone]));
  const published = members.flatMap(({ service }) => service.ingress.flatMap(({ hostname }) => hostname ?? []));
  const zoneOf = zonesOfTargets(circumstances.nodes, circumstances.facts.subnets);
  const planInput = { observed, desired: outcome?.desired, stack: stack.key, cluster, vpcId, zones, zoneOf, retireSeconds, published, now };
  return { planInput, movedMembers, ...defined({ outcome, unsettled }) };
}

/** Only where nodes know the load balancer by the group of the cluster. */
export function targetsOf(desired: Desired): StackTargets {
  const { securityGroups, targetPorts: ports } = desired;
  if (securityGroups.kind === 'none' || !securityGroups.backend) return { ports: [], instances: [], addresses: [] };
  if (desired.kind === 'classic') return { ports, instances: desired.instances, addresses: [] };
  const idsOf = (type: 'instance' | 'ip'): string[] => [
    ...new Set(desired.targetGroups.filter(({ targetType }) => targetType === type).flatMap(({ targets }) => targets.map(({ id }) => id))),
  ];
  return { ports, instances: idsOf('instance'), addresses: idsOf('ip') };
}

/** What a plan has made or removed is known from now on; what was not answered clearly is looked for by its name. */
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
  }
}
