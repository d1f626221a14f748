import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import { isGuest, type Member, type StackOutcome } from '../desire/stack.ts';
import { ownObserved } from '../model/own-resources.ts';
import { tagKeys } from '../model/tags.ts';
import { gatedPods, waitsForPods, type GatedPods } from '../plan/gated-pods.ts';
import { exceptRemoved, planKeptTargets, replacedResources, type KeptTargets } from '../plan/kept-targets.ts';
import { planRelease } from '../plan/plan-release.ts';
import { planDisown, planStack, type StackPlan } from '../plan/plan.ts';
import { planReturnToLeftZone } from '../plan/nlb/left-zone.ts';
import type { Action } from '../plan/steps/action.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import { Steps } from '../plan/steps/steps.ts';
import { keptTargets } from './targets/kept-targets.ts';
import type { StackDecision } from './decide-stack.ts';

/**
 * The purpose of a reconcile.
 *
 * - serve: gives the members what they ask for. Keeps what still serves Services that have moved to another stack. Deletes everything
 *   when there are neither.
 * - release: does the same, and also deletes the part of `service`, even when nothing else can be changed.
 * - disown: removes our tags and leaves the resources in place. The part of `service` is deleted where other Services still need the stack.
 */
export type StackIntent = { readonly kind: 'serve' } | { readonly kind: 'release' | 'disown'; readonly service?: ServiceKey | undefined };

interface ReconcileIntent {
  readonly members: readonly Member[];
  readonly intent: StackIntent;
}

export interface PlannedStack {
  /** Empty while AWS does not list all that was created. */
  readonly plan: StackPlan;
  readonly kept: KeptTargets;
}

/** Plans one reconcile, as `herald plan` shows it. `withoutRefused`: leaves out the targets that AWS has refused. */
export function planDecision(
  input: ReconcileIntent,
  decision: StackDecision,
  withoutRefused: (kept: KeptTargets) => KeptTargets = (kept) => kept,
): PlannedStack {
  const kept = withoutRefused(keptOf(input, decision));
  const plan = planOfResources(input, decision, kept);
  return { kept, plan: { ...plan, waits: [...plan.waits, ...waitsForPods(gatedPodsOf(input.members, decision, plan.actions))] } };
}

const nothing: StackPlan = { actions: [], waits: [], problems: [] };

/** `actions`: those that are planned now. */
export function gatedPodsOf(
  members: readonly Member[],
  { circumstances, planInput }: StackDecision,
  actions: readonly Action[],
): GatedPods[] {
  return gatedPods(
    members.map(({ service }) => serviceKey(service.metadata)),
    circumstances,
    planInput,
    actions,
  );
}

function planOfResources(
  { members, intent }: ReconcileIntent,
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

export function releasedBy(intent: StackIntent): ServiceKey | undefined {
  return intent.kind === 'serve' ? undefined : intent.service;
}

/** True if a Service releases its part of another namespace's load balancer in which others have parts: it must not delete those. */
export function isOfOthers({ observed, cluster, stack }: PlanInput, releasing: ServiceKey | undefined): boolean {
  if (releasing === undefined || !isGuest(stack, releasing)) return false;
  return ownObserved(observed, cluster, stack).targetGroups.some(({ tags }) => tags[tagKeys.service] !== releasing);
}

/** Deletes the part of `releasing`, and keeps the targets of everything else current. */
function planPartialRelease(planInput: PlanInput, kept: KeptTargets, releasing: ServiceKey | undefined): StackPlan {
  const departure = releasing === undefined ? nothing : planRelease(planInput, releasing);
  const keeping = planKeptTargets(kept, ownObserved(planInput.observed, planInput.cluster, planInput.stack), planInput);
  return { actions: [...departure.actions, ...keeping.actions], waits: [...departure.waits, ...keeping.waits], problems: [] };
}

/**
 * Plans what is desired. When the desired state is unknown because of an error, only targets of existing resources change, and a zone that is
 * out of service for an edit comes back.
 */
function planWith(planInput: PlanInput, outcome: StackOutcome | undefined, kept: KeptTargets): StackPlan {
  const own = ownObserved(planInput.observed, planInput.cluster, planInput.stack);
  if (outcome !== undefined && outcome.desired === undefined) {
    const steps = new Steps();
    planReturnToLeftZone(steps, own, planInput.zones);
    const keeping = planKeptTargets(kept, own, planInput);
    return { ...keeping, actions: [...steps.actions, ...keeping.actions] };
  }
  const plan = planStack(planInput);
  const keeping = planKeptTargets(exceptRemoved(plan.actions, kept), own, planInput);
  return { actions: [...plan.actions, ...keeping.actions], waits: [...plan.waits, ...keeping.waits], problems: plan.problems };
}

/**
 * Returns the targets to keep current outside the desired state. For members with errors, and for Services that moved away: all of their
 * existing resources. An error of the first member concerns all members, because it decides about the load balancer. For other members:
 * resources that are being replaced, which serve until the replacement does.
 */
function keptOf({ members }: ReconcileIntent, { planInput, outcome, movedMembers, circumstances }: StackDecision): KeptTargets {
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
