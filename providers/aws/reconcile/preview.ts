import type { Preview } from '../../../src/controller/provider-parts.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { previewRemovableRules, previewNodeRules, type NodeRulesDecision } from '../node-rules/reconcile-node-rules.ts';
import { desiredTargetsOfOthers } from '../stacks/other-stacks.ts';
import { decideStack, keptOf, planOf, targetsOf, type StackInput } from '../stacks/reconcile-stack.ts';
import { placeholder } from '../plan/steps/action.ts';
import { describeDesired, describeObserved } from '../plan/describe.ts';
import { backendGroup } from '../plan/steps/security-groups.ts';
import { podHosts } from '../node-rules/pod-hosts.ts';
import type { AwsSettings } from '../model/settings.ts';

/** What the next pass over one stack would do. */
async function previewStack(cloud: Cloud, settings: AwsSettings, input: StackInput) {
  const decision = await decideStack(cloud, settings, input);
  return { ...decision, mayPlan: decision.unsettled === undefined, plan: planOf(input, decision, keptOf(input, decision)) };
}

/** What still serves others that leave it as well stays: it goes with the last of them, whichever that will be. */
function remaining({ planInput, movedMembers, outcome }: Awaited<ReturnType<typeof previewStack>>): string[] {
  if (outcome !== undefined || movedMembers.length === 0) return [];
  const services = movedMembers.map(({ service }) => serviceKey(service.metadata)).toSorted();
  return [`${services.join(', ')} to leave ${planInput.stack} as well: what is left of it is deleted with the last of them`];
}

/** What would be done for a Service: in the stack that it belongs to, and after that in those that it has left. */
export async function previewStacks(
  { cloud, settings }: { readonly cloud: Cloud; readonly settings: AwsSettings },
  key: ServiceKey,
  snapshot: Snapshot,
  input: StackInput,
  left: readonly StackInput[],
): Promise<Preview> {
  const { planInput, outcome, mayPlan, plan } = await previewStack(cloud, settings, input);
  const { actions, waits, problems } = plan;
  const { desired } = planInput;
  // What is deleted needs no rules any more: those that no other load balancer needs either go with it.
  const closing = async (): Promise<NodeRulesDecision | undefined> => {
    const isDeletion = mayPlan && outcome === undefined && !input.disown && actions.length > 0 && problems.length === 0;
    const rest =
      isDeletion && settings.manageNodeRules ? desiredTargetsOfOthers(input.stack.key, snapshot, settings, input.circumstances) : undefined;
    return rest === undefined ? undefined : previewRemovableRules(cloud, settings, rest.targets, podHosts(rest.members, snapshot));
  };
  const reaches = settings.manageNodeRules && mayPlan && !input.disown && desired !== undefined;
  const coming = actions.find(({ creates }) => creates === backendGroup) === undefined ? undefined : placeholder(backendGroup);
  const rules: NodeRulesDecision | undefined = reaches
    ? await previewNodeRules(cloud, settings, targetsOf(desired), podHosts(input.members, snapshot), coming)
    : await closing();
  const isKnown = mayPlan && (outcome === undefined || outcome.desired !== undefined);
  const others = [];
  for (const one of left) others.push(await previewStack(cloud, settings, one));
  // Who goes on elsewhere keeps what serves him until it is served there.
  const later = input.members.length === 0 ? '' : `, when ${input.stack.key} serves`;
  return {
    observed: [planInput, ...others.map((other) => other.planInput)].flatMap(({ observed }) => describeObserved(observed)),
    desired: isKnown ? describeDesired(desired) : ['not known, because of what is wrong'],
    actions: [
      ...actions,
      ...(rules?.plan.actions ?? []),
      ...others.flatMap((other) => other.plan.actions.map((action) => ({ ...action, reason: `${action.reason}${later}` }))),
    ],
    waits: [...[...waits, ...others.flatMap((other) => other.plan.waits)].map((wait) => wait.for), ...others.flatMap(remaining)],
    reasons: [
      ...(outcome?.errors.get(key) ?? []),
      ...(rules?.problems ?? []),
      ...[...problems, ...others.flatMap((other) => other.plan.problems)].filter(({ code }) => code !== 'AwsProvisioning'),
      ...(outcome?.warnings.get(key) ?? []),
    ],
  };
}
