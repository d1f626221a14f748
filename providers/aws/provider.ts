import type { Claim, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import type { ChangeListener, PeriodicWork, Preview, Previewable, Recovery, ResourceHolder } from '../../src/controller/provider-parts.ts';
import { serviceKey, type ServiceKey } from '../../src/model/objects/metadata.ts';
import { conditionText, remedyText, reason, reasonText, type Reason } from '../../src/model/reasons.ts';
import type { Ingress, Service } from '../../src/model/objects/service.ts';
import type { Change, Snapshot } from '../../src/model/store/snapshot.ts';
import type { Clock } from '../../src/system/clock.ts';
import type { Log } from '../../src/system/log.ts';
import type { Random } from '../../src/system/random.ts';
import { ResultCache } from './schedule/result-cache.ts';
import { reasonOfError } from './cloud/error-reason.ts';
import { AwsError } from './cloud/error.ts';
import { decideAwsClaim } from './desire/claim.ts';
import { memberOf, stackOf, type Member } from './desire/stack.ts';
import { PreviousStacks } from './reconcile/previous-stacks.ts';
import { StackReconciler, type Connect } from './reconcile/stack-reconciler.ts';
import { fingerprintNodes, emptyFingerprint, type NodeFingerprint } from './schedule/node-changes.ts';
import { PollIntervals } from './schedule/poll-intervals.ts';
import { retryClassOf, Backoff } from './schedule/backoff.ts';
import type { ClasslessMode } from './model/settings.ts';
import { finalizer, type ServiceMetadata } from './model/service-metadata.ts';
import { limits } from './model/limits.ts';

interface AwsProviderComponents {
  readonly classless: ClasslessMode;
  /** Called when AWS is needed first, with the nodes of the cluster; again where it has rejected. */
  readonly connect: Connect;
  /** Absent: Services cannot be written to (standalone), and what is left of one that went is found by its tags. */
  readonly metadata?: ServiceMetadata;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Finalizers by which other controllers say that the load balancer of a Service is theirs. */
const foreignFinalizers = ['service.k8s.aws/resources', 'service.kubernetes.io/load-balancer-cleanup'];

/** Gives Services load balancers in AWS. What it knows can be found again at any time, by names and tags. */
export class AwsProvider implements Provider, Recovery, ResourceHolder, ChangeListener, PeriodicWork, Previewable {
  readonly name = 'aws';
  readonly remote = true;
  readonly #components: AwsProviderComponents;
  readonly #link: StackReconciler;
  readonly #handover: PreviousStacks;
  readonly #agenda = new ResultCache();
  readonly #retries: Backoff;
  readonly #patience = new PollIntervals();
  /** Services for which this process has made, or found, something that it has not let go of. */
  readonly #held = new Set<ServiceKey>();
  #nodes: NodeFingerprint = emptyFingerprint;
  #snapshot: Snapshot | undefined;

  constructor(components: AwsProviderComponents) {
    this.#components = components;
    this.#link = new StackReconciler(components);
    this.#handover = new PreviousStacks({ ...components, link: this.#link });
    this.#retries = new Backoff(components.random);
  }

  claim(service: Service, { config }: Snapshot): Claim {
    return decideAwsClaim(service, config, this.#components);
  }

  adopt(snapshot: Snapshot, recorded: ReadonlyMap<ServiceKey, unknown>): void {
    this.#snapshot = snapshot;
    this.#link.departed.markUnreadable([...recorded.keys()].filter((key) => !snapshot.services.has(key)));
    this.#nodes = fingerprintNodes(snapshot, emptyFingerprint);
  }

  holds(key: ServiceKey, service: Service | undefined): boolean {
    return this.#held.has(key) || service?.metadata.finalizers?.includes(finalizer) === true;
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    this.#snapshot = snapshot;
    const key = serviceKey(service.metadata);
    const claim = decideAwsClaim(service, snapshot.config, this.#components);
    // It may have changed since it was asked for; then the controller asks again.
    if (!claim.mine) return { ingress: service.ingress, reason: claim.reason };
    const answer = this.#agenda.result(key, service);
    if (answer !== undefined && !this.#hasLostFinalizer(key, service)) return answer;
    // A mistake that was corrected is not held against what is there now.
    if (this.#agenda.isChanged(key, service)) {
      this.#retries.forgetFailures(key);
      this.#patience.forgetService(key);
    }
    this.#agenda.startReconcile(key);
    const reconciliation = await this.#attempt(memberOf(service, claim.kind), key, snapshot);
    this.#agenda.storeResult(key, service, reconciliation);
    return reconciliation;
  }

  async release(key: ServiceKey): Promise<Released> {
    this.#link.departed.clearUnreadable(key);
    const snapshot = this.#snapshot;
    const service = snapshot?.services.get(key);
    // Most Services have never been ours.
    if (snapshot === undefined || !this.holds(key, service)) {
      this.#forget(key);
      return {};
    }
    // Where nothing can be written to Services, that one is gone is all that can be seen of its deletion.
    if (service !== undefined || this.#components.metadata === undefined) this.#link.departed.releasing.add(key);
    if (!this.#link.departed.releasing.has(key)) {
      this.#letBe(key);
      return {};
    }
    try {
      return this.#leftOf(key, await this.#vacate(key, snapshot));
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      return this.#leftOf(key, reasonOfError(error));
    }
  }

  /** That AWS takes its time is nothing that anybody should hear of. */
  #leftOf(key: ServiceKey, left: Reason | undefined): Released {
    if (left === undefined) return {};
    this.#failed(key, left);
    return left.code === 'AwsProvisioning' ? {} : { remaining: left };
  }

  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    try {
      return await this.#link.preview(key, snapshot);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const failed = reasonOfError(error);
      return { observed: [], desired: [], actions: [], waits: [], reasons: [failed], failed };
    }
  }

  runDue(now: number): readonly ServiceKey[] {
    if (this.#snapshot !== undefined) this.#link.startBackgroundWork(this.#snapshot, now);
    return this.#agenda.takeDue(now);
  }

  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    this.#snapshot = snapshot;
    const concerned = new Set<ServiceKey>();
    const all = (): void => {
      for (const { services } of this.#link.stacks.all) for (const key of services) concerned.add(key);
      // Those with which AWS was not even asked: the nodes tell where the cluster is.
      for (const key of this.#retries.failing) concerned.add(key);
    };
    if (changes.some(({ kind }) => kind === 'Node')) {
      const nodes = fingerprintNodes(snapshot, this.#nodes);
      if (nodes.fingerprint !== this.#nodes.fingerprint) {
        all();
        this.#link.background.refreshTargetsSoon();
      }
      this.#nodes = nodes;
    }
    for (const { kind, key, services = [] } of changes) {
      // Behind instances, health checks find the nodes that have a pod: nothing is registered anew.
      if (kind === 'EndpointSlice')
        for (const service of services) {
          if (!this.#link.hasPodTargets(service)) continue;
          concerned.add(service);
          this.#link.background.refreshTargetsSoon();
        }
      // Others that share its load balancer: a port may have become free.
      if (kind === 'Service')
        for (const { services } of this.#link.stacks.stacksWith(key as ServiceKey))
          for (const other of services) if (other !== key) concerned.add(other);
    }
    for (const key of concerned) this.#agenda.invalidate(key);
    return concerned;
  }

  /** What AWS says no to is part of the answer; anything else rejects. */
  async #attempt(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<Reconciliation> {
    const { ingress } = member.service;
    try {
      return await this.#serve(member, key, snapshot);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const because = reasonOfError(error);
      this.#failed(key, because);
      return { ingress, reason: because };
    }
  }

  async #serve(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<Reconciliation> {
    const { service, values } = member;
    const { metadata } = this.#components;
    if (service.metadata.deleting) {
      this.#link.departed.releasing.add(key);
      const left = await this.#vacate(key, snapshot);
      if (left === undefined) return { ingress: [] };
      this.#failed(key, left);
      return { ingress: [], reason: left };
    }
    this.#link.departed.releasing.delete(key);
    if (values.disown === true) {
      const left = (await this.#link.disown(key, snapshot)) ?? (await this.#handover.removeMetadata(key, snapshot));
      if (left !== undefined) {
        this.#failed(key, left);
        return { ingress: service.ingress, reason: left, warnings: member.warnings };
      }
      this.#forget(key);
      return { ingress: service.ingress, ...combineReasons(member.errors), warnings: member.warnings };
    }
    const finalizers = service.metadata.finalizers ?? [];
    const foreign = foreignFinalizers.find((name) => finalizers.includes(name));
    if (foreign !== undefined && !finalizers.includes(finalizer)) {
      // The other one writes the status, which asks for nothing: an answer that is kept would be written over it.
      this.#agenda.invalidate(key);
      return { ingress: service.ingress, reason: reason('AwsOtherController', { finalizer: foreign }) };
    }
    await metadata?.addFinalizer(key);
    this.#held.add(key);
    const { state, result, drift, problems, blockedDeletion: stuck } = await this.#link.reconcile(stackOf(member), snapshot);
    state.services.add(key);
    const errors = [...(result.errors.get(key) ?? []), ...(result.errors.get('') ?? [])];
    const standing = result.servingStatus.get(key);
    const isTold = service.ingress.some(({ hostname }) => hostname === standing?.hostname);
    const hasArrived = standing?.serves === true && errors.length === 0 && result.execution.outcomes.every((one) => one.result === 'done');
    const others = this.#link.stacks.stacksWith(key).filter((other) => other !== state);
    const moves = await this.#handover.advance(key, state, others, hasArrived && isTold, snapshot);
    const isKept = await this.#handover.recordArns(service, key, result.unsettled ? [] : [state, ...this.#link.stacks.stacksWith(key)]);
    const left = moves.blocked === undefined ? [] : [moves.blocked];
    const awaited = this.#patience.nextPoll(
      key,
      result,
      { previousStackSeconds: moves.seconds, isMetadataWritten: isKept },
      this.#components.clock.date().getTime(),
    );
    this.#goOn(key, awaited.seconds, [...errors, ...left, ...stuck]);
    // What was told to clients goes on serving them until they can be told of another one.
    const staysElsewhere = others.length > 0 && !hasArrived && service.ingress.length > 0;
    const hostname = staysElsewhere ? undefined : standing?.hostname;
    return {
      ingress: ingressOf(hostname) ?? (staysElsewhere || result.desired === undefined ? service.ingress : []),
      ...combineReasons(errors),
      warnings: [
        ...(result.warnings.get(key) ?? []),
        ...problems,
        ...left,
        ...stuck,
        ...awaited.warnings,
        ...this.#link.takeRefusedArns(key),
      ],
      ...(drift.length === 0 ? {} : { repaired: drift }),
    };
  }

  /** When to look again, after a look that AWS has answered. */
  #goOn(key: ServiceKey, requeueSeconds: number, errors: readonly Reason[]): void {
    const refusal = errors.find((error) => retryClassOf(error) !== undefined);
    if (refusal !== undefined) return this.#failed(key, refusal);
    this.#retries.forgetFailures(key);
    this.#later(key, requeueSeconds < limits.driftSeconds ? requeueSeconds : this.#link.driftSeconds);
  }

  /** What the reason does not tell about may pass by itself. */
  #failed(key: ServiceKey, because: Reason): void {
    const seconds = this.#retries.recordFailure(key, retryClassOf(because) ?? 'transient');
    const failures = this.#retries.failuresOf(key);
    this.#components.log.debug({ service: key, code: because.code, failures, retryInSeconds: Math.round(seconds) }, 'asks AWS again later');
    this.#later(key, seconds);
  }

  /**
   * The Service is gone, and nobody saw that it was to go: somebody took the finalizer away, or a backup without it was restored. That may be a
   * mistake, so what it has goes the way of orphans, which are kept for a while.
   */
  #letBe(key: ServiceKey): void {
    this.#components.log.warn({ service: key }, 'the Service is gone without having been deleted: its load balancer is kept for a while');
    this.#link.stacks.forgetMember(key);
    this.#forget(key);
  }

  #forget(key: ServiceKey): void {
    this.#held.delete(key);
    this.#agenda.forgetService(key);
    this.#retries.forgetFailures(key);
    this.#patience.forgetService(key);
  }

  /** Somebody has taken it away: it must be there again before anything else is done. */
  #hasLostFinalizer(key: ServiceKey, { metadata }: Service): boolean {
    return this.#components.metadata !== undefined && this.#held.has(key) && metadata.finalizers?.includes(finalizer) !== true;
  }

  /** Undefined: nothing of the Service is left in AWS, and it may go. */
  async #vacate(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const left = await this.#handover.release(key, snapshot);
    if (left === undefined) this.#forget(key);
    return left;
  }

  #later(key: ServiceKey, seconds: number): void {
    this.#agenda.requeueAt(key, this.#components.clock.date().getTime() + seconds * 1000);
  }
}

function ingressOf(hostname: string | undefined): readonly Ingress[] | undefined {
  return hostname === undefined ? undefined : [{ hostname, ipMode: 'VIP' }];
}

/** One reason is told as it is; several become one. */
function combineReasons(errors: readonly Reason[]): Pick<Reconciliation, 'reason'> {
  const [first, ...others] = errors;
  if (first === undefined) return {};
  if (others.length === 0) return { reason: first };
  const fixes = [...new Set(errors.map(remedyText))].filter((text) => text !== '');
  return { reason: reason('AwsSeveral', { problems: errors.map(reasonText), lasting: errors.map(conditionText), fixes }) };
}
