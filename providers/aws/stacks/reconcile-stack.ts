import type { Cloud } from '../cloud/cloud.ts';
import type { Member } from '../desire/stack.ts';
import { limits } from '../model/limits.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { KnownResources } from '../observe/known-resources.ts';
import { lastingState, type RecentObservation } from '../observe/recent-observation.ts';
import type { StackPlan } from '../plan/plan.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import { decideStack, type DecisionInput, type StackDecision } from './decide-stack.ts';
import { execute, type Execution, type Outcome } from './execution/execute.ts';
import type { Refusals } from './execution/refusals.ts';
import type { RepeatedWrites } from './execution/repeated-writes.ts';
import { planDecision, type PlannedStack, type StackIntent } from './plan-decision.ts';
import { recordSharedTargets } from './targets/shared-targets.ts';
import { resultOf, type StackResult } from './stack-result.ts';
import type { TargetRecords } from './targets/target-records.ts';

export interface StackInput extends DecisionInput {
  readonly intent: StackIntent;
  readonly repeated: RepeatedWrites;
  readonly refused: Refusals;
  readonly recent: RecentObservation;
  readonly records: TargetRecords;
}

/**
 * Reconciles one stack once: observes, desires, plans, executes. Keeps no memory besides `known`, `repeated`, `refused` and `recent`. Rejects with
 * AwsError when AWS cannot be read.
 */
export async function reconcileStack(
  cloud: Cloud,
  settings: AwsSettings,
  input: StackInput,
  onOutcome: (outcome: Outcome) => void = () => undefined,
): Promise<StackResult> {
  const decided = (await decideFromRecent(cloud, settings, input)) ?? (await decideFromAll(cloud, settings, input));
  const { decision, kept } = decided;
  const observed = decided.plan.actions.length === 0 ? '' : lastingState(decision.planInput.observed);
  const plan = await admit(input, decided, observed);
  const execution = await execute(cloud, plan.actions, onOutcome);
  input.repeated.record(execution.outcomes, observed);
  const reported = input.refused.record(execution, decision.planInput, input.now);
  remember(input.known, execution, input.now);
  const problems = [...plan.problems, ...input.refused.reasons(decided.asked)];
  return resultOf({ members: input.members, intent: input.intent, decision, kept, plan: { ...plan, problems }, execution, reported });
}

interface Decided extends PlannedStack {
  /** Without what AWS has refused. */
  readonly decision: StackDecision;
  /** With it. */
  readonly asked: PlanInput;
}

/**
 * Records the targets of the plan, then returns it without the writes that were made in vain. Nothing is done before the record is written.
 * While AWS does not list all that was created, nothing is planned, and this says nothing about earlier writes. `observed`: the state before
 * the actions, as text.
 */
async function admit({ records, members, repeated }: StackInput, { decision, kept, plan }: Decided, observed: string): Promise<StackPlan> {
  if (decision.unsettled !== undefined) return { ...plan, actions: [] };
  const unrecorded = await recordSharedTargets(records, members, decision.planInput, kept);
  if (unrecorded !== undefined) {
    const waits = [...plan.waits, { for: 'its targets to be recorded', seconds: limits.pollSeconds }];
    return { actions: [], waits, problems: [...plan.problems, unrecorded] };
  }
  const { actions, reasons } = repeated.admit(plan.actions, observed);
  return { actions, waits: plan.waits, problems: [...plan.problems, ...reasons] };
}

/** Reads everything, and remembers it when the stack only waits for AWS. */
async function decideFromAll(cloud: Cloud, settings: AwsSettings, input: StackInput): Promise<Decided> {
  input.recent.forget();
  const attributes = input.members.some(namesAttributes) ? 'all' : 'kept';
  const decided = planned(input, await decideStack(cloud, settings, input, { attributes }));
  const { unsettled, planInput } = decided.decision;
  const isQuiet = decided.plan.actions.length === 0;
  if (isQuiet && decided.plan.waits.length > 0 && unsettled === undefined) input.recent.record(planInput.observed, input.now);
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
  if (decided.plan.waits.length === 0) input.recent.forget();
  return decided.plan.actions.length === 0 ? decided : undefined;
}

function planned(input: StackInput, { planInput, ...given }: StackDecision): Decided {
  const { refused, now } = input;
  const decision = { ...given, planInput: { ...planInput, desired: refused.withoutRefused(planInput, now) } };
  const { kept, ...rest } = planDecision(input, decision, (all) => refused.withoutRefusedOf(all, planInput, now));
  return { decision, asked: planInput, kept, ...rest };
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
