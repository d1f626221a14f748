import type { Reconciliation } from '../../../src/controller/provider.ts';
import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Ingress, Service } from '../../../src/model/objects/service.ts';
import { reason, reasonText, remedyText, stableText, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { joinsTargetGroups } from '../desire/ports/joined-groups.ts';
import { stackOf, type Member } from '../desire/stack.ts';
import { endpointServiceAnnotation, foreignFinalizerOf, hasOurFinalizer } from '../model/service-metadata.ts';
import { concernsTargets, type NodeRules } from '../node-rules/node-rules.ts';
import { limits } from '../model/limits.ts';
import { PollIntervals } from '../schedule/poll-intervals.ts';
import { retryClassOf } from '../schedule/backoff.ts';
import { registrations } from '../stacks/execution/execute.ts';
import type { TargetRecords } from '../stacks/targets/target-records.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackReconciler } from '../stacks/stack-reconciler.ts';
import { recordDrift, type StackState } from '../stacks/stack-registry.ts';
import type { StackResult } from '../stacks/stack-result.ts';
import { createdCompletely, NewLoadBalancers } from './new-load-balancers.ts';
import type { PreviousStacks } from './previous-stacks.ts';
import type { JoinedTargetGroups } from './joined-target-groups.ts';
import { releaseStack } from './release-stack.ts';
import type { ServiceMetadataWriter } from './service-metadata-writer.ts';

interface ServiceReconcilerComponents extends SharedComponents {
  readonly stacks: StackReconciler;
  readonly rules: NodeRules;
  readonly previous: PreviousStacks;
  readonly metadata: ServiceMetadataWriter;
  readonly records: TargetRecords;
  readonly joined: JoinedTargetGroups;
}

/**
 * The outcome of reconciling a Service.
 *
 * - served: polled again after `pollSeconds`, or retried with back-off when AWS has refused something (`refusal`).
 * - unchecked: a new load balancer was only looked at for its host name. The rest follows after `pollSeconds`.
 * - blocked: a release or disown is not complete and is retried with back-off.
 * - released: nothing of the Service is ours any more.
 * - foreign: another controller serves the Service, so the result must not be cached: it would overwrite that controller's status.
 */
type ServiceOutcome = { readonly reconciliation: Reconciliation } & (
  | { readonly kind: 'served'; readonly pollSeconds: number; readonly refusal: Reason | undefined }
  | { readonly kind: 'unchecked'; readonly pollSeconds: number }
  | { readonly kind: 'blocked'; readonly remaining: Reason }
  | { readonly kind: 'released' }
  | { readonly kind: 'foreign' }
);

/** The stack that the Service asks for, after its reconcile. */
interface OwnStack {
  readonly service: Service;
  readonly key: ServiceKey;
  readonly state: StackState;
  readonly result: StackResult;
  /** The stacks that served the Service before. */
  readonly others: readonly StackState[];
  /** The ARN of the NLB, if this reconcile has created it completely. */
  readonly created: string | undefined;
  readonly errors: readonly Reason[];
  readonly hostname: string | undefined;
  readonly isServing: boolean;
  readonly repaired: readonly string[];
}

/** The Service's move from its previous stacks to its own. */
interface Move {
  /** Seconds until the next step. Undefined: there is none. */
  readonly seconds: number | undefined;
  /** Reasons why something of a previous stack, or of its own, is not deleted. */
  readonly blocked: readonly Reason[];
  /** It still has targets in groups of other owners. */
  readonly isLeaving: boolean;
}

/** Reconciles one Service: its own stack first, then the node rules, then the stacks that served it before. Rejects with AwsError. */
export class ServiceReconciler {
  readonly #components: ServiceReconcilerComponents;
  readonly #pollIntervals = new PollIntervals();
  readonly #new: NewLoadBalancers;
  /** Services for which this process has created or found resources that it has not released. */
  readonly #held = new Set<ServiceKey>();

  constructor(components: ServiceReconcilerComponents) {
    this.#components = components;
    this.#new = new NewLoadBalancers(components);
  }

  holds(key: ServiceKey, service: Service | undefined): boolean {
    return this.#held.has(key) || (service !== undefined && hasOurFinalizer(service));
  }

  /** Returns the next work for the new load balancer of the Service. Undefined: it has none. */
  nextOfNew(key: ServiceKey): 'host name' | 'check' | undefined {
    return this.#new.next(key);
  }

  /** True when another writer has removed our finalizer. It must be back before anything else is done. */
  hasLostFinalizer(key: ServiceKey, service: Service): boolean {
    return this.#components.metadata.canWrite && this.#held.has(key) && !hasOurFinalizer(service);
  }

  /** Gives the Service what it asks for: serves, releases or disowns it. */
  async reconcile(member: Member, snapshot: Snapshot): Promise<ServiceOutcome> {
    const { departed, metadata } = this.#components;
    const { service, values, warnings } = member;
    const { ingress } = service;
    const key = serviceKey(service.metadata);
    if (service.metadata.deleting) {
      departed.releasing.add(key);
      const remaining = await this.release(key, snapshot);
      if (remaining !== undefined) return { kind: 'blocked', remaining, reconciliation: { ingress: [], reason: remaining } };
      return { kind: 'released', reconciliation: { ingress: [] } };
    }
    departed.releasing.delete(key);
    if (values.disown === true) {
      const remaining = await this.#disown(key, snapshot);
      if (remaining !== undefined) return { kind: 'blocked', remaining, reconciliation: { ingress, reason: remaining, warnings } };
      return { kind: 'released', reconciliation: { ingress, ...defined({ reason: combineReasons(member.errors) }), warnings } };
    }
    const foreign = otherController(service);
    if (foreign !== undefined) return { kind: 'foreign', reconciliation: { ingress, reason: foreign } };
    await metadata.addFinalizer(key);
    this.#held.add(key);
    return this.#serve(member, key, snapshot);
  }

  /** Releases all parts of the Service and removes our metadata from it. Resolves to what remains; undefined when the Service may go. */
  async release(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const { stacks, registry, departed, joined, metadata } = this.#components;
    const blocked: Reason[] = [];
    for (const state of await stacks.findAll(key, snapshot)) {
      const remaining = await releaseStack(this.#components, state, snapshot, key);
      if (remaining === undefined) registry.forgetMember(key, [state]);
      else blocked.push(remaining);
    }
    const remaining = blocked[0] ?? (await joined.leave(key, snapshot)) ?? (await metadata.remove(key, snapshot));
    if (remaining !== undefined) return remaining;
    departed.releasing.delete(key);
    this.forgetService(key);
    return undefined;
  }

  /** Forgets the Service; its resources in AWS stay. */
  forgetService(key: ServiceKey): void {
    this.#held.delete(key);
    this.#new.forgetService(key);
    this.#components.records.forgetService(key);
    this.#components.joined.forgetService(key);
    this.#pollIntervals.forgetService(key);
  }

  /** Polls often, repeats writes and reads everything again: the Service asks for something else now. */
  resetPolling(key: ServiceKey): void {
    for (const { repeated, refused, recent } of this.#components.registry.stacksWith(key)) {
      repeated.forget();
      refused.forget();
      recent.forget();
    }
    this.#components.joined.forgetService(key);
    this.#new.forgetService(key);
    this.#pollIntervals.forgetService(key);
  }

  async #serve(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<ServiceOutcome> {
    if (joinsTargetGroups(member.values) && (await this.#hasNoBalancer(member, key, snapshot)))
      return { kind: 'served', ...(await this.#components.joined.serve(member, snapshot)) };
    const seen = await this.#new.publish(key, snapshot);
    if (seen !== undefined) return { kind: 'unchecked', ...seen };
    const own = await this.#reconcileOwn(member, key, snapshot);
    const ruleProblems = await this.#reconcileRules(own, snapshot);
    own.state.services.add(key);
    const move = await this.#leavePrevious(own, snapshot);
    const poll = await this.#recordAndPoll(own, move);
    return this.#conclude(own, move, poll, ruleProblems);
  }

  /** Step 1: its own stack. */
  async #reconcileOwn(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<OwnStack> {
    const { registry, stacks } = this.#components;
    const { service } = member;
    const state = await stacks.find(stackOf(member), snapshot);
    const { result } = await stacks.reconcile(state, snapshot, { kind: 'serve' });
    const repaired = recordDrift(state, result);
    const others = registry.stacksWith(key).filter((other) => other !== state);
    const created = others.length === 0 && service.ingress.length === 0 ? createdCompletely(result, key) : undefined;
    const errors = [...(result.errors.get(key) ?? []), ...(result.errors.get('') ?? [])];
    const status = result.servingStatus.get(key);
    // Without the targets that AWS refuses.
    const isServing =
      status?.serves === true &&
      errors.every(({ code }) => code === 'AwsTargetsRefused') &&
      result.execution.outcomes.every((one) => one.result === 'done' || registrations.has(one.action.operation));
    return { service, key, state, result, others, created, errors, hostname: status?.hostname, isServing, repaired };
  }

  /**
   * Step 2: the rules by which nodes admit the load balancers of all stacks. No target of a new load balancer is healthy before them, but its
   * next reconcile finds them, so they need no slot. Resolves to the problems of this stack.
   */
  async #reconcileRules({ created, state }: OwnStack, snapshot: Snapshot): Promise<Reason[]> {
    const { rules } = this.#components;
    if (created !== undefined) rules.startFor(state.targets, snapshot);
    const problems = created === undefined ? await rules.reconcileFor(state.targets, snapshot) : [];
    return problems.filter((problem) => concernsTargets(problem, state.targets));
  }

  /** Step 3: the stacks that served it before. */
  async #leavePrevious({ service, key, state, others, hostname, isServing }: OwnStack, snapshot: Snapshot): Promise<Move> {
    const { previous, joined } = this.#components;
    const blockedDeletion = state.blockedDeletion === undefined ? [] : [state.blockedDeletion];
    const hasArrived = isServing && service.ingress.some((one) => one.hostname === hostname);
    const { seconds, blocked } = await previous.advance(key, state, others, hasArrived, snapshot);
    // Clients may use the load balancer of another owner until they know this one.
    const leaving = hasArrived ? await joined.leave(key, snapshot) : undefined;
    const refused = [blocked, leaving?.code === 'AwsProvisioning' ? undefined : leaving].filter((one) => one !== undefined);
    return { seconds, blocked: [...refused, ...blockedDeletion], isLeaving: leaving !== undefined };
  }

  /** Step 4: the ARNs on the Service, and the time of the next reconcile. */
  async #recordAndPoll({ service, key, state, result }: OwnStack, { seconds }: Move): Promise<ReturnType<PollIntervals['nextPoll']>> {
    const { registry, metadata, now } = this.#components;
    const recorded = result.unsettled ? [] : [state, ...registry.stacksWith(key)];
    const isMetadataWritten = await metadata.recordResources(service, key, recorded, result.endpointService);
    return this.#pollIntervals.nextPoll(key, result, { previousStackSeconds: seconds, isMetadataWritten }, now());
  }

  /** Step 5: the outcome. The published host name changes only when the new one serves: until then a previous stack serves clients. */
  #conclude(
    { service, key, result, others, created, errors, hostname, isServing, repaired }: OwnStack,
    { blocked, isLeaving }: Move,
    poll: ReturnType<PollIntervals['nextPoll']>,
    ruleProblems: readonly Reason[],
  ): ServiceOutcome {
    const keepsPublished = others.length > 0 && !isServing && service.ingress.length > 0;
    const fallback = keepsPublished || result.desired === undefined ? service.ingress : [];
    const { endpointService } = result;
    const isNewName = endpointService !== undefined && service.metadata.annotations[endpointServiceAnnotation] !== endpointService;
    const refusedArns = this.#components.stacks.takeRefusedArns(key);
    const reconciliation: Reconciliation = {
      ingress: keepsPublished || hostname === undefined ? fallback : ingressOf(hostname),
      ...defined({ reason: combineReasons(errors), repaired: repaired.length === 0 ? undefined : repaired }),
      ...(isNewName ? { notices: [`clients in other VPCs reach it by the PrivateLink endpoint service ${endpointService}`] } : {}),
      warnings: [...(result.warnings.get(key) ?? []), ...ruleProblems, ...blocked, ...poll.warnings, ...refusedArns],
    };
    if (created !== undefined) this.#new.record(key, created, reconciliation);
    return {
      kind: 'served',
      pollSeconds: created !== undefined ? 0 : isLeaving ? Math.min(poll.seconds, limits.pollSeconds) : poll.seconds,
      refusal: [...errors, ...blocked].find((error) => retryClassOf(error) !== undefined),
      reconciliation,
    };
  }

  /** True if nothing of the Service is in AWS but targets in groups of other owners. */
  async #hasNoBalancer(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<boolean> {
    const { registry, stacks } = this.#components;
    const state = await stacks.find(stackOf(member), snapshot);
    if ([state, ...registry.stacksWith(key)].some(({ known }) => known.ids.length > 0)) return false;
    state.services.add(key);
    // The owners of those groups open nodes for their load balancers.
    state.targets = { ports: [], instances: [], addresses: [] };
    return true;
  }

  /**
   * Removes our tags and our metadata. A stack that other Services still need loses only the part of this Service. Resolves to what
   * remains.
   */
  async #disown(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const { stacks, registry, departed, metadata } = this.#components;
    departed.disowned.add(key);
    for (const state of await stacks.findAll(key, snapshot)) {
      const isShared = await stacks.isShared(state, key, snapshot);
      const remaining = isShared
        ? await releaseStack(this.#components, state, snapshot, key)
        : (await stacks.reconcile(state, snapshot, { kind: 'disown' })).remaining;
      if (remaining !== undefined) return remaining;
      if (isShared) registry.forgetMember(key, [state]);
    }
    const remaining = await metadata.remove(key, snapshot);
    if (remaining === undefined) this.forgetService(key);
    return remaining;
  }
}

/** Returns why the Service is left to another controller: two controllers would overwrite each other's status. Undefined: it is not. */
export function otherController(service: Service): Reason | undefined {
  const finalizer = foreignFinalizerOf(service);
  return finalizer === undefined ? undefined : reason('AwsOtherController', { finalizer, both: hasOurFinalizer(service) });
}

function ingressOf(hostname: string): readonly Ingress[] {
  return [{ hostname, ipMode: 'VIP' }];
}

/** Returns a single reason as it is, and several as one. */
function combineReasons(errors: readonly Reason[]): Reason | undefined {
  if (errors.length < 2) return errors[0];
  const fixes = [...new Set(errors.map(remedyText))].filter((text) => text !== '');
  return reason('AwsSeveral', {
    problems: errors.map(reasonText),
    lasting: errors.map((error) => stableText(error) ?? reasonText(error)),
    fixes,
  });
}
