import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Random } from '../../../src/system/random.ts';
import { SerialQueue } from '../../../src/lang/serial-queue.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import { AwsError } from '../cloud/error.ts';
import type { Cloud, ReadOnlyCloud } from '../cloud/cloud.ts';
import type { Operation } from '../cloud/operations.ts';
import { withUrgency } from '../cloud/urgency.ts';
import { membersOf } from '../desire/stack.ts';
import { worstFailure, type Execution } from '../stacks/execution/execute.ts';
import { RepeatedWrites } from '../stacks/execution/repeated-writes.ts';
import { DeletionWatch } from '../stacks/execution/deletion-watch.ts';
import { limits } from '../model/limits.ts';
import { ownObserved } from '../model/own-resources.ts';
import { observeStack } from '../observe/observe.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';
import { scanOwned } from '../observe/scan.ts';
import type { PodHosts, StackTargets } from '../model/stack-targets.ts';
import { decideNodeRules, reconcileNodeRules } from './reconcile-node-rules.ts';
import { podHosts } from './pod-hosts.ts';
import { retryClassOf, Backoff } from '../schedule/backoff.ts';
import type { AwsSettings } from '../model/settings.ts';
import { logBlockedDeletion, logOutcome } from '../stacks/execution/action-log.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackRegistry, StackState } from '../stacks/stack-registry.ts';
import { hasDisowned, stacksInUse } from '../stacks/stack-users.ts';

interface NodeRulesComponents extends SharedComponents {
  readonly random: Random;
}

const narrowing: ReadonlySet<Operation> = new Set(['ec2:RevokeSecurityGroupIngress', 'ec2:DeleteSecurityGroup']);

interface Result {
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly stacks: ReadonlySet<string>;
  /** Rules that none of these stacks needs could be removed. */
  readonly mayRevoke: boolean;
  readonly problems: readonly Reason[];
}

/** The key of their failures in Backoff. No Service has this name. */
const nodeRulesKey: ServiceKey = '/rules of nodes';

/**
 * The rules by which nodes and pods admit load balancers. One set of rules serves all stacks, so they are reconciled when the targets of
 * any stack change.
 */
export class NodeRules {
  readonly #components: NodeRulesComponents;
  /** The last result, for the targets of these stacks, as JSON. It is valid until `until`. */
  #last: Result | undefined;
  readonly #backoff: Backoff;
  readonly #deletionWatch = new DeletionWatch();
  readonly #repeated = new RepeatedWrites();
  #blockedDeletion: Reason | undefined;
  /** When refused rules are tried again, in milliseconds since the epoch. */
  #retryAt = 0;
  /** Reconciles run one after the other: a concurrent one would remove rules that the other has just added. */
  readonly #queue = new SerialQueue();
  #pending = false;
  /** The account has been surveyed, so all targets are known. Before that, no rule is removed. */
  #isSurveyed = false;
  /** A survey may show that a rule can be removed. */
  #awaitsSurvey = false;

  constructor(components: NodeRulesComponents) {
    this.#components = components;
    this.#backoff = new Backoff(components.random);
  }

  /** True when a retry or a survey is due. */
  isDue(now: number): boolean {
    return (this.#pending || this.#awaitsSurvey) && now >= this.#retryAt;
  }

  /**
   * Adds missing rules, and removes unneeded ones when everything that uses rules is known. Resolves to the problems. Rejects with
   * AwsError.
   */
  async reconcile(snapshot: Snapshot): Promise<readonly Reason[]> {
    const { cloud, settings } = await this.#components.account.openToWrite(snapshot);
    if (!settings.manageNodeRules) return [];
    const allKnown = this.#components.departed.allServicesKnown(snapshot);
    return this.#queue.run(() => this.#reconcile(cloud, settings, snapshot, allKnown));
  }

  /** Does the same for a stack with these targets, which waits for no rules that only other stacks need. */
  async reconcileFor(targets: StackTargets | undefined, snapshot: Snapshot): Promise<readonly Reason[]> {
    const { settings } = await this.#components.account.openToWrite(snapshot);
    if (!settings.manageNodeRules) return [];
    return this.#validFor(targets)?.problems ?? this.reconcile(snapshot);
  }

  /** Starts the same without waiting for it. What fails is tried again, and reported, when the stack is reconciled next. */
  startFor(targets: StackTargets | undefined, snapshot: Snapshot): void {
    withUrgency('change', () => this.reconcileFor(targets, snapshot)).catch((error: unknown) => {
      if (!(error instanceof AwsError)) this.#components.log.warn({ error }, 'the rules of nodes could not be reconciled');
    });
  }

  /** The last result, if it is valid for a stack with these targets. */
  #validFor(targets: StackTargets | undefined): Result | undefined {
    if (this.#last === undefined || this.#components.now() >= this.#last.until) return undefined;
    return targets === undefined || this.#last.stacks.has(JSON.stringify(targets)) ? this.#last : undefined;
  }

  /** Reconciles in the background, after a survey when that may allow a rule to be removed. */
  async retryDue(snapshot: Snapshot): Promise<void> {
    await this.reconcile(snapshot);
    if (!this.#awaitsSurvey) return;
    const { cloud, settings } = await this.#components.account.open(snapshot);
    const now = this.#components.now();
    await this.#survey(cloud, settings, snapshot).catch((error: unknown) => {
      this.#retryAt = now + this.#backoff.recordFailure(nodeRulesKey, 'transient') * 1000;
      throw error;
    });
    if (this.#isSurveyed) await this.reconcile(snapshot);
  }

  /** Surveys the account, if a rule might be removed after that. A survey costs many calls. */
  async #survey(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot): Promise<void> {
    const input = { stacks: this.#targets(), hosts: this.#hosts(snapshot, settings), mayRevoke: true };
    const { plan } = await decideNodeRules(cloud, settings, input);
    if (plan.actions.some(({ operation }) => narrowing.has(operation))) {
      const { registry, now } = this.#components;
      await surveyTargets(cloud, settings, registry, now);
      this.#isSurveyed = true;
      this.#last = undefined;
    }
    this.#awaitsSurvey = false;
  }

  /** The targets of all stacks. A stack that nothing uses and that has no load balancer needs no rules. */
  #targets(): StackTargets[] {
    return [...this.#components.registry.all].flatMap(({ targets, services }) =>
      targets === undefined || (services.size === 0 && targets.ports.length === 0) ? [] : [targets],
    );
  }

  #hosts(snapshot: Snapshot, settings: AwsSettings): PodHosts {
    const { account, registry } = this.#components;
    const withPods = [...registry.all].filter(({ targets }) => (targets?.addresses ?? []).length > 0);
    const services = withPods.flatMap(({ identity, services, tagged }) => [
      ...services,
      ...tagged,
      ...membersOf(identity.key, snapshot, settings).map(({ service }) => serviceKey(service.metadata)),
    ]);
    return podHosts(new Set(services), snapshot, account.pods);
  }

  /** True when the targets of every stack are known. */
  #knowsStacks(snapshot: Snapshot, settings: AwsSettings): boolean {
    const { registry } = this.#components;
    return (
      !hasDisowned(snapshot, settings) &&
      [...stacksInUse(snapshot, settings, 'served')].every((stack) => registry.get(stack)?.targets !== undefined) &&
      [...registry.all].every(({ targets, services, known }) => targets !== undefined || (services.size === 0 && known.ids.length === 0))
    );
  }

  async #reconcile(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot, allKnown: boolean): Promise<readonly Reason[]> {
    const { log } = this.#components;
    const targets = this.#targets();
    const knowsStacks = allKnown && this.#knowsStacks(snapshot, settings);
    const mayRevoke = this.#isSurveyed && knowsStacks;
    const stacks = new Set(targets.map((one) => JSON.stringify(one)));
    const now = this.#components.now();
    const last = this.#last;
    const isSame = last?.mayRevoke === mayRevoke && last.stacks.symmetricDifference(stacks).size === 0;
    if (last !== undefined && isSame && now < last.until) return last.problems;
    // The Service that asked for this may be gone before the retry, so the retry does not depend on it.
    this.#pending = true;
    this.#awaitsSurvey = !this.#isSurveyed;
    const input = { stacks: targets, hosts: this.#hosts(snapshot, settings), mayRevoke };
    const { execution, problems } = await reconcileNodeRules(cloud, settings, input, this.#repeated, (outcome) =>
      logOutcome(log, '', outcome),
    ).catch((error: unknown) => {
      this.#retryAt = now + this.#backoff.recordFailure(nodeRulesKey, 'transient') * 1000;
      throw error;
    });
    const isDone = execution.outcomes.every((outcome) => outcome.result === 'done');
    this.#pending = !isDone;
    const wasBlocked = this.#blockedDeletion !== undefined;
    this.#blockedDeletion = this.#deletionWatch.record(execution, now);
    if (this.#blockedDeletion !== undefined && !wasBlocked) logBlockedDeletion(log, '', this.#blockedDeletion);
    if (isDone) {
      this.#backoff.forgetFailures(nodeRulesKey);
      this.#last = { until: now + limits.driftSeconds * 1000, stacks, mayRevoke, problems };
      return problems;
    }
    const because = refusalOf(execution) ?? this.#blockedDeletion;
    this.#retryAt = now + this.#backoff.recordFailure(nodeRulesKey, (because && retryClassOf(because)) ?? 'transient') * 1000;
    this.#last = { until: this.#retryAt, stacks, mayRevoke, problems: because === undefined ? problems : [...problems, because] };
    return this.#last.problems;
  }
}

/** Without the request id, which differs each time: the same refusal is reported once. */
function refusalOf(execution: Execution): Reason | undefined {
  const failure = worstFailure(execution);
  if (failure === undefined) return undefined;
  const { code, operation, awsCode, message, reason } = failure;
  return reasonOfError({ code, operation, awsCode, message, requestId: '', reason });
}

/** True when a problem concerns a stack with these targets. The rules are made for all stacks together. */
export function concernsTargets(problem: Reason, targets: StackTargets | undefined): boolean {
  if (problem.code !== 'AwsNodesUnreachable') return (targets?.ports ?? []).length > 0;
  return [...(targets?.instances ?? []), ...(targets?.addresses ?? [])].includes(problem.details.instance);
}

/**
 * Records in `registry` the registered targets of all stacks that no reconcile has read since the controller started. The Services of these
 * stacks were deleted or are served by another load balancer. Nodes must admit a load balancer as long as it exists. Rejects with AwsError.
 */
async function surveyTargets(cloud: ReadOnlyCloud, settings: AwsSettings, registry: StackRegistry, now: () => number): Promise<void> {
  const owned = await scanOwned(cloud, settings);
  registry.recordFound(new Map([...owned].filter(([stack]) => registry.get(stack)?.targets === undefined)));
  for (const state of registry.all) await state.queue.run(() => surveyStack(cloud, settings, state, now()));
}

async function surveyStack(cloud: ReadOnlyCloud, settings: AwsSettings, state: StackState, now: number): Promise<void> {
  const { clusterName: cluster, vpcId } = settings;
  const { known, identity } = state;
  if (state.targets !== undefined || known.ids.length === 0) return;
  const { observed } = await observeStack(cloud, { stack: identity.key, cluster, vpcId, known, wanted: [], wantedClassic: [], now });
  state.targets = withRegisteredTargets({ ports: [], instances: [], addresses: [] }, ownObserved(observed, cluster, identity.key));
}
