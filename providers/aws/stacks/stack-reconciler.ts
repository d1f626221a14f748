import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { isGuest, memberOf, membersOf, stackOf } from '../desire/stack.ts';
import type { StackIdentity } from '../model/circumstances.ts';
import { logBlockedDeletion, logOutcome } from './execution/action-log.ts';
import { isClassicName, isLoadBalancerArn } from '../observe/known-resources.ts';
import type { StackIntent } from './plan-decision.ts';
import { reconcileStack } from './reconcile-stack.ts';
import type { SharedComponents } from './shared-components.ts';
import type { StackResult } from './stack-result.ts';
import type { TargetRecords } from './targets/target-records.ts';
import { StackDiscovery } from './stack-discovery.ts';
import { parseStackKey, recordResult, type StackState } from './stack-registry.ts';

interface StackReconcilerComponents extends SharedComponents {
  readonly records: TargetRecords;
}

interface StackReconciliation {
  readonly result: StackResult;
  /** Why a release or disown is not complete. Absent when it is, and always absent for `serve`. */
  readonly remaining?: Reason;
  /** Nothing of the stack is left in AWS, or it is disowned completely. The stack is forgotten. */
  readonly closed: boolean;
}

/** Reconciles one stack at a time: finds its resources, runs `reconcileStack`, and records the result. */
export class StackReconciler {
  readonly #components: StackReconcilerComponents;
  readonly #discovery: StackDiscovery;

  constructor(components: StackReconcilerComponents) {
    this.#components = components;
    this.#discovery = new StackDiscovery(components.registry);
  }

  /** Finds what exists of a stack that serves Services. Rejects with AwsError. */
  async find(identity: StackIdentity, snapshot: Snapshot): Promise<StackState> {
    const { account, registry, departed } = this.#components;
    const { settings } = await account.open(snapshot);
    const services = membersOf(identity.key, snapshot, settings).map(({ service }) => service);
    await this.discover(identity, services, snapshot);
    for (const { metadata } of services) departed.disowned.delete(serviceKey(metadata));
    return registry.getOrCreate(identity);
  }

  /** Finds all stacks in which the Service has a part, by its recorded ARNs or by listing the account. Rejects with AwsError. */
  async findAll(key: ServiceKey, snapshot: Snapshot): Promise<StackState[]> {
    const { registry } = this.#components;
    const service = snapshot.services.get(key);
    const identity = service === undefined ? parseStackKey(key) : stackOf(memberOf(service, 'nlb'));
    await this.discover(identity, service === undefined ? [] : [service], snapshot);
    const own = registry.get(identity.key);
    return [...new Set([...registry.stacksWith(key), ...(own === undefined ? [] : [own])])];
  }

  /** True if the Service must not decide about the whole stack: other Services need it, or it is of another namespace. */
  async isShared({ identity }: StackState, key: ServiceKey, snapshot: Snapshot): Promise<boolean> {
    const { settings } = await this.#components.account.open(snapshot);
    const members = membersOf(identity.key, snapshot, settings);
    return isGuest(identity.key, key) || members.some(({ service }) => serviceKey(service.metadata) !== key);
  }

  /** Finds the resources of a stack. `services`: those with a part in it. */
  async discover(identity: StackIdentity, services: readonly Service[], snapshot: Snapshot): Promise<void> {
    await this.#discovery.discover(await this.#components.account.open(snapshot), identity, services);
  }

  /** Returns, once, the recorded ARNs of the Service that were not believed. */
  takeRefusedArns(key: ServiceKey): readonly Reason[] {
    return this.#discovery.takeRefusedArns(key);
  }

  /**
   * Reconciles one stack. Concurrent calls for the same stack run one after the other, each with the members and nodes that exist when its
   * turn comes. Rejects with AwsError when AWS cannot be read.
   */
  async reconcile(state: StackState, snapshot: Snapshot, intent: StackIntent): Promise<StackReconciliation> {
    const { account, departed, records, now, log } = this.#components;
    const connection = await account.openToWrite(snapshot);
    const { cloud, settings } = connection;
    const { identity: stack, known, repeated, refused, recent } = state;
    const isDisown = intent.kind === 'disown';
    const { result: reconciled, members } = await state.queue.run(async () => {
      const members = isDisown ? [] : membersOf(stack.key, snapshot, settings);
      // Before anything is created, its certificates must be known to exist.
      const isNew = !known.ids.some((id) => isLoadBalancerArn(id) || isClassicName(id));
      const surroundings = await account.circumstances(connection, snapshot, members, isNew);
      const circumstances = { ...surroundings, recordedTargets: (service: Service) => records.of(service) };
      const isVanished = departed.isVanished(snapshot);
      const releasing = intent.kind === 'release' ? intent.service : undefined;
      const movedAway = isDisown ? (): undefined => undefined : departed.movedAway(stack.key, settings, snapshot, releasing);
      const input = { stack, intent, members, known, repeated, refused, recent, records, circumstances, isVanished, movedAway, now: now() };
      return { members, result: await reconcileStack(cloud, settings, input, (outcome) => logOutcome(log, stack.key, outcome)) };
    });
    const result = await this.#openGates(reconciled);
    recordResult(state, result);
    this.#recordBlockedDeletion(state, result);
    account.invalidateFacts([...result.errors.values()].flat());
    if (intent.kind === 'serve') return { result, closed: false };
    if (isDisown) return { result, ...this.#concludeDisown(state, result) };
    const isUsed = members.length > 0 || result.staysForOthers;
    return { result, ...(isUsed ? concludePartialRelease(state, result, intent.service) : this.#concludeRelease(state, result)) };
  }

  /** Opens the readiness gates of Pods that the load balancer sends to. Problems become warnings of their Services. */
  async #openGates(result: StackResult): Promise<StackResult> {
    const warnings = new Map(result.warnings);
    for (const { service, healthy } of result.gatedPods) {
      const problems = await this.#components.account.pods.openGates(healthy);
      if (problems.length > 0) warnings.set(service, [...(warnings.get(service) ?? []), ...problems]);
    }
    return { ...result, warnings };
  }

  #recordBlockedDeletion(state: StackState, { execution }: StackResult): void {
    const wasBlocked = state.blockedDeletion !== undefined;
    state.blockedDeletion = state.deletionWatch.record(execution, this.#components.now());
    if (state.blockedDeletion !== undefined && !wasBlocked)
      logBlockedDeletion(this.#components.log, state.identity.key, state.blockedDeletion);
  }

  #concludeRelease(state: StackState, result: StackResult): Conclusion {
    if (!result.gone) return { remaining: result.errors.get('')?.[0] ?? deleting(state), closed: false };
    this.#components.registry.forgetStack(state.identity.key);
    return { closed: true };
  }

  /** The resources remain ours until the tags are removed: until then they would be deleted together with their Service. */
  #concludeDisown(state: StackState, result: StackResult): Conclusion {
    if (hasUnfinishedAction(result) || result.unsettled)
      return { remaining: result.errors.get('')?.[0] ?? disowning(state), closed: false };
    const closed = result.plan.actions.length === 0 && result.plan.waits.length === 0;
    if (closed) this.#components.registry.forgetStack(state.identity.key);
    return { closed };
  }
}

type Conclusion = Omit<StackReconciliation, 'result'>;

/** Other Services still use the stack: only the part of `service` had to be deleted. */
function concludePartialRelease(state: StackState, result: StackResult, service: ServiceKey | undefined): Conclusion {
  const [error] = [...result.errors.values()].flat();
  if ((result.desired === undefined && service === undefined) || result.unsettled)
    return { remaining: error ?? deleting(state), closed: false };
  return hasUnfinishedAction(result) ? { remaining: result.errors.get('')?.[0] ?? deleting(state), closed: false } : { closed: false };
}

function hasUnfinishedAction({ execution }: StackResult): boolean {
  return execution.outcomes.some(({ result }) => result !== 'done');
}

function disowning({ identity }: StackState): Reason {
  return reason('AwsProvisioning', { waitsFor: `AWS to remove the tags of ${identity.key}` });
}

function deleting({ identity, blockedDeletion }: StackState): Reason {
  return blockedDeletion ?? reason('AwsProvisioning', { waitsFor: `AWS to delete the remaining resources of ${identity.key}` });
}
