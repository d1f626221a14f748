import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Random } from '../../../src/system/random.ts';
import { SerialQueue } from '../../../src/system/serial-queue.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Operation } from '../cloud/operations.ts';
import { membersOf } from '../desire/stack.ts';
import { worstFailure, type Execution } from '../stacks/execute.ts';
import { DeletionWatch } from '../stacks/blocked-deletion.ts';
import { limits } from '../model/limits.ts';
import type { PodHosts, StackTargets } from '../model/stack-targets.ts';
import { reconcileNodeRules, previewRemovableRules } from './reconcile-node-rules.ts';
import { podHosts } from './pod-hosts.ts';
import { retryClassOf, Backoff } from '../schedule/backoff.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Log } from '../../../src/system/log.ts';
import { logBlockedDeletion, logOutcome } from '../stacks/action-log.ts';
import type { AwsAccount } from '../stacks/aws-account.ts';
import type { DepartedServices } from '../stacks/departed-services.ts';
import { surveyTargets } from './target-survey.ts';
import type { StackRegistry } from '../stacks/stack-registry.ts';
import { hasDisowned, stacksInUse } from '../stacks/stack-users.ts';

interface NodeRulesComponents {
  readonly account: AwsAccount;
  readonly registry: StackRegistry;
  readonly departed: DepartedServices;
  readonly random: Random;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

const narrowing: ReadonlySet<Operation> = new Set(['ec2:RevokeSecurityGroupIngress', 'ec2:DeleteSecurityGroup']);

/** What is noted of failures with them is noted under this name, which no Service has. */
const nodeRulesKey: ServiceKey = '/rules of nodes';

/** The rules by which nodes and pods let load balancers in. They come of all stacks together, and are looked at when one of these has changed. */
export class NodeRules {
  readonly #components: NodeRulesComponents;
  /** What came of the last look; it holds until then, for the same question. */
  #last: { readonly until: number; readonly text: string; readonly problems: readonly Reason[] } | undefined;
  readonly #backoff: Backoff;
  readonly #deletionWatch = new DeletionWatch();
  #blockedDeletion: Reason | undefined;
  /** When rules that were refused are tried again. */
  #retryAt = 0;
  /** One at a time: of two passes at once one would take away what the other has just made. */
  readonly #queue = new SerialQueue();
  #pending = false;
  /** The whole account has been looked at: from then on everything that uses rules is known. Before, none is taken away. */
  #isSurveyed = false;
  /** A rule might go, if the account were looked at. */
  #awaitsSurvey = false;

  constructor(components: NodeRulesComponents) {
    this.#components = components;
    this.#backoff = new Backoff(components.random);
  }

  /** Something could not be done yet, and it is time to try again. */
  isDue(now: number): boolean {
    return (this.#pending || this.#awaitsSurvey) && now >= this.#retryAt;
  }

  /** Adds missing rules, and removes unneeded ones when everything that uses rules is known. Resolves to the problems. Rejects with AwsError. */
  async reconcile(snapshot: Snapshot): Promise<readonly Reason[]> {
    const { cloud, settings } = await this.#components.account.open(snapshot);
    if (!settings.manageNodeRules) return [];
    const allKnown = this.#components.departed.allServicesKnown(snapshot);
    return this.#queue.run(() => this.#reconcile(cloud, settings, snapshot, allKnown));
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

  /** To look at the whole account costs many calls: that is done where a rule could go. */
  async #survey(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot): Promise<void> {
    const { plan } = await previewRemovableRules(cloud, settings, this.#targets(), this.#hosts(snapshot, settings));
    if (plan.actions.some(({ operation }) => narrowing.has(operation))) {
      const { registry, now } = this.#components;
      await surveyTargets(cloud, settings, registry, now);
      this.#isSurveyed = true;
      this.#last = undefined;
    }
    this.#awaitsSurvey = false;
  }

  /** Of all that send something; of what is left without a load balancer nothing is needed. */
  #targets(): StackTargets[] {
    return [...this.#components.registry.all].flatMap(({ targets, services }) =>
      targets === undefined || (services.size === 0 && targets.ports.length === 0) ? [] : [targets],
    );
  }

  #hosts(snapshot: Snapshot, settings: AwsSettings): PodHosts {
    const ofPods = [...this.#components.registry.all].filter(({ targets }) => (targets?.addresses ?? []).length > 0);
    return podHosts(
      ofPods.flatMap(({ identity }) => membersOf(identity.key, snapshot, settings)),
      snapshot,
    );
  }

  /** Whether it is known of each stack where it sends to. */
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
    const complete = this.#isSurveyed && knowsStacks;
    const text = JSON.stringify([targets, complete]);
    const now = this.#components.now();
    if (this.#last?.text === text && now < this.#last.until) return this.#last.problems;
    // Whoever asked may be gone by then, and not ask again.
    this.#pending = true;
    this.#awaitsSurvey = !this.#isSurveyed;
    const hosts = this.#hosts(snapshot, settings);
    const { execution, problems } = await reconcileNodeRules(cloud, settings, targets, hosts, complete, (outcome) =>
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
      this.#last = { until: now + limits.driftSeconds * 1000, text, problems };
      return problems;
    }
    const because = refusalOf(execution) ?? this.#blockedDeletion;
    this.#retryAt = now + this.#backoff.recordFailure(nodeRulesKey, (because && retryClassOf(because)) ?? 'transient') * 1000;
    this.#last = { until: this.#retryAt, text, problems: because === undefined ? problems : [...problems, because] };
    return this.#last.problems;
  }
}

/** Each request has another id, and the same "no" is told once. */
function refusalOf(execution: Execution): Reason | undefined {
  const failure = worstFailure(execution);
  if (failure === undefined) return undefined;
  const { code, operation, awsCode, message } = failure;
  return reasonOfError({ code, operation, awsCode, message, requestId: '' });
}

/** Rules are made for all stacks together: of one that sends nothing to the target it is none of its business. */
export function concernsTargets(problem: Reason, targets: StackTargets | undefined): boolean {
  if (problem.code !== 'AwsNodesUnreachable') return (targets?.ports ?? []).length > 0;
  return [...(targets?.instances ?? []), ...(targets?.addresses ?? [])].includes(problem.details.instance);
}
