import type { Preview } from '../../../src/controller/provider-parts.ts';
import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { decideAwsClaim } from '../desire/claim.ts';
import { joinsTargetGroups } from '../desire/ports/joined-groups.ts';
import { withBackends } from '../desire/ports/weights.ts';
import { desireStack, isGuest, memberOf, membersOf, stackOf, wantsPods, type Member } from '../desire/stack.ts';
import type { StackIdentity, Surroundings } from '../model/circumstances.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import { podHosts } from '../node-rules/pod-hosts.ts';
import { decideNodeRules, type NodeRulesDecision } from '../node-rules/reconcile-node-rules.ts';
import { KnownResources } from '../observe/known-resources.ts';
import type { TargetPods } from '../observe/target-pods.ts';
import { healthVerdict } from '../plan/health-verdict.ts';
import { healthOf } from '../plan/target-health.ts';
import { describeDesired, describeObserved } from '../plan/describe.ts';
import { pathResources } from '../plan/path-resources.ts';
import type { JoinedTargetGroups } from './joined-target-groups.ts';
import { otherController } from './service-reconciler.ts';
import { placeholder } from '../plan/steps/action.ts';
import { backendGroup } from '../plan/steps/security-groups.ts';
import type { Connection } from '../stacks/aws-account.ts';
import { decideStack, type DecisionInput } from '../stacks/decide-stack.ts';
import { planDecision, type StackIntent } from '../stacks/plan-decision.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackReconciler } from '../stacks/stack-reconciler.ts';
import { parseStackKey } from '../stacks/stack-registry.ts';
import { targetsOf } from '../stacks/stack-result.ts';
import { stacksInUse } from '../stacks/stack-users.ts';

interface PreviewerComponents extends SharedComponents {
  readonly stacks: StackReconciler;
  readonly joined: JoinedTargetGroups;
}

/** Says what reconciling or releasing a Service would do now. Reads AWS and changes nothing. */
export class Previewer {
  readonly #components: PreviewerComponents;

  constructor(components: PreviewerComponents) {
    this.#components = components;
  }

  /** Previews the Service as it is in the snapshot, or its release when it is not there. Rejects with AwsError when AWS cannot be read. */
  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    const { account, registry, departed, joined, stacks, now } = this.#components;
    const connection = await account.open(snapshot);
    const { settings } = connection;
    const service = snapshot.services.get(key);
    const claim = service === undefined ? undefined : decideAwsClaim(service, snapshot.config, settings);
    const member = service !== undefined && claim?.mine === true ? memberOf(service, claim.kind) : undefined;
    const foreign = service === undefined || member === undefined || service.metadata.deleting ? undefined : otherController(service);
    if (foreign !== undefined) return { observed: [], desired: [], actions: [], waits: [], reasons: [foreign] };
    const own = member === undefined ? parseStackKey(key) : stackOf(member);
    const ownMembers = membersOf(own.key, snapshot, settings);
    await stacks.discover(
      own,
      ownMembers.map((one) => one.service),
      snapshot,
    );
    const hasBalancer = registry.stacksWith(key).some(({ known }) => known.ids.length > 0);
    if (member !== undefined && joinsTargetGroups(member.values) && !hasBalancer)
      return withConflict(connection, await joined.preview(member, snapshot));
    const previous = (await stacks.findAll(key, snapshot)).map(({ identity }) => identity).filter((stack) => stack.key !== own.key);
    const common = {
      circumstances: await account.circumstances(connection, snapshot, ownMembers, true),
      isVanished: departed.isVanished(snapshot),
      now: now(),
    };
    const inputOf = (stack: StackIdentity): PreviewInput => {
      const members = membersOf(stack.key, snapshot, settings);
      const isServing = member !== undefined && stack.key === own.key;
      const intent = intentOf(key, isServing, member?.values.disown === true && members.length === 0 && !isGuest(stack.key, key));
      const movedAway = departed.movedAway(stack.key, settings, snapshot, isServing ? undefined : key);
      const known = registry.get(stack.key)?.known ?? new KnownResources();
      return { stack, intent, members, movedAway, known, ...common };
    };
    const preview = await previewStacks({ ...connection, pods: account.pods }, key, snapshot, inputOf(own), previous.map(inputOf));
    return withConflict(connection, preview);
  }
}

/** Nothing is done while another cluster has the same name. */
function withConflict({ owner: { conflict } }: Connection, preview: Preview): Preview {
  return conflict === undefined ? preview : { ...preview, actions: [], waits: [], reasons: [conflict, ...preview.reasons] };
}

type PreviewInput = DecisionInput & { readonly intent: StackIntent };

type PreviewConnection = Connection & { readonly pods: TargetPods };

function keysOf(members: readonly Member[]): ServiceKey[] {
  return members.map(({ service }) => serviceKey(service.metadata));
}

function intentOf(key: ServiceKey, isServing: boolean, isDisown: boolean): StackIntent {
  if (isDisown) return { kind: 'disown', service: isServing ? undefined : key };
  return isServing ? { kind: 'serve' } : { kind: 'release', service: key };
}

/** Combines what would be done in the Service's own stack, and after that in its previous stacks. */
async function previewStacks(
  connection: PreviewConnection,
  key: ServiceKey,
  snapshot: Snapshot,
  input: PreviewInput,
  previous: readonly PreviewInput[],
): Promise<Preview> {
  const own = await previewStack(connection, input);
  const { planInput, outcome, mayPlan, plan } = own;
  const { actions, waits, problems } = plan;
  const rules = await previewRules(connection, snapshot, input, own);
  const isKnown = mayPlan && (outcome === undefined || outcome.desired !== undefined);
  const others = [];
  for (const one of previous) others.push(await previewStack(connection, one));
  // Where the Service is served elsewhere, its previous stack is kept until the new one serves.
  const later = input.members.length === 0 ? '' : `, when ${input.stack.key} serves`;
  const inputs = [planInput, ...others.map((other) => other.planInput)];
  const all = inputs.map(({ observed }) => observed);
  const published = (snapshot.services.get(key)?.ingress ?? []).flatMap(({ hostname }) => hostname?.toLowerCase() ?? []);
  const health = inputs.flatMap((one) => healthOf({ ...one, published }, key));
  return {
    observed: all.flatMap(describeObserved),
    resources: all.flatMap(pathResources),
    ...defined({ seen: healthVerdict(health, planInput.now) }),
    desired: isKnown ? describeDesired(planInput.desired) : ['unknown because of errors'],
    actions: [
      ...actions,
      ...(rules?.plan.actions ?? []),
      ...others.flatMap((other) => other.plan.actions.map((action) => ({ ...action, reason: `${action.reason}${later}` }))),
    ],
    waits: [...[...waits, ...others.flatMap((other) => other.plan.waits)].map((wait) => wait.for), ...others.flatMap(waitsForOthers)],
    reasons: [
      ...(outcome?.errors.get(key) ?? []),
      ...(rules?.problems ?? []),
      ...[...problems, ...others.flatMap((other) => other.plan.problems)].filter(({ code }) => code !== 'AwsProvisioning'),
      ...(outcome?.warnings.get(key) ?? []),
    ],
  };
}

/** Decides and plans one stack, as `reconcileStack` would. */
async function previewStack({ cloud, settings }: Connection, input: PreviewInput) {
  const decision = await decideStack(cloud, settings, input);
  return { ...decision, mayPlan: decision.unsettled === undefined, plan: planDecision(input, decision).plan };
}

type StackPreview = Awaited<ReturnType<typeof previewStack>>;

/** Names the other Services that have moved away from a previous stack: its shared resources are deleted with the last of them. */
function waitsForOthers({ planInput, movedMembers, outcome }: StackPreview): string[] {
  if (outcome !== undefined || movedMembers.length === 0) return [];
  const services = movedMembers.map(({ service }) => serviceKey(service.metadata)).toSorted();
  return [`${services.join(', ')} to leave ${planInput.stack} as well: its shared resources are deleted with the last of them`];
}

/** The node rules that the stack needs in addition, or those that no other stack needs when it is deleted. */
async function previewRules(
  { cloud, settings, pods }: PreviewConnection,
  snapshot: Snapshot,
  input: PreviewInput,
  { planInput, outcome, mayPlan, plan }: StackPreview,
): Promise<NodeRulesDecision | undefined> {
  const { actions, problems } = plan;
  const { desired } = planInput;
  if (!settings.manageNodeRules || !mayPlan || input.intent.kind === 'disown') return undefined;
  if (desired !== undefined) {
    const targets = targetsOf(desired);
    if (targets.ports.length === 0) return undefined;
    const futureBackend = actions.some(({ creates }) => creates === backendGroup) ? placeholder(backendGroup) : undefined;
    const hosts = podHosts(keysOf(input.members), snapshot, pods);
    return decideNodeRules(cloud, settings, { stacks: [targets], hosts, mayRevoke: false, futureBackend });
  }
  const isDeletion = outcome === undefined && actions.length > 0 && problems.length === 0;
  const rest = isDeletion ? await desiredTargetsOfOthers(input.stack.key, snapshot, settings, input.circumstances) : undefined;
  if (rest === undefined) return undefined;
  return decideNodeRules(cloud, settings, {
    stacks: rest.targets,
    hosts: podHosts(keysOf(rest.members), snapshot, pods),
    mayRevoke: true,
  });
}

interface OtherTargets {
  readonly targets: readonly StackTargets[];
  readonly members: readonly Member[];
}

/**
 * Computes the desired targets of all stacks except one from their Services, without reading AWS. Undefined when one of them is unknown
 * because of an error: then it is unknown which rules are unneeded.
 */
async function desiredTargetsOfOthers(
  except: string,
  snapshot: Snapshot,
  settings: AwsSettings,
  surroundings: Surroundings,
): Promise<OtherTargets | undefined> {
  const targets: StackTargets[] = [];
  const all: Member[] = [];
  for (const stack of stacksInUse(snapshot, settings, 'served')) {
    if (stack === except) continue;
    const members = membersOf(stack, snapshot, settings);
    const circumstances = {
      ...surroundings,
      ...(await surroundings.checkTargets(withBackends(members.flatMap((one) => (wantsPods(one, settings) ? [one.service] : []))))),
      existing: {},
    };
    const { desired, errors } = desireStack(parseStackKey(stack), members, circumstances);
    if (desired === undefined || errors.size > 0) return undefined;
    targets.push(targetsOf(desired));
    all.push(...members);
  }
  return { targets, members: all };
}
