import type {
  ChangeListener,
  OrderedWork,
  PeriodicWork,
  Preview,
  Previewable,
  Recovery,
  ResourceHolder,
  Urgency,
} from '../../src/controller/provider-parts.ts';
import type { Claim, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import { serviceKey, type ServiceKey } from '../../src/model/objects/metadata.ts';
import type { Service } from '../../src/model/objects/service.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import { sameContent } from '../../src/model/store/same-content.ts';
import type { Change, Snapshot } from '../../src/model/store/snapshot.ts';
import type { Prefix } from '../../src/net/prefix.ts';
import type { Clock } from '../../src/system/clock.ts';
import type { Log } from '../../src/system/log.ts';
import type { Random } from '../../src/system/random.ts';
import { reasonOfThrown } from './cloud/error-reason.ts';
import { StoppedError } from './cloud/error.ts';
import { withUrgency } from './cloud/urgency.ts';
import { decideAwsClaim } from './desire/claim.ts';
import { memberOf, stackOf, type Member } from './desire/stack.ts';
import { limits } from './model/limits.ts';
import type { PodReader } from './model/pods.ts';
import type { ServiceMetadata } from './model/service-metadata.ts';
import type { ClasslessMode } from './model/settings.ts';
import { NodeRules } from './node-rules/node-rules.ts';
import { BackgroundReconciler } from './reconcile/background-reconciler.ts';
import { JoinedTargetGroups } from './reconcile/joined-target-groups.ts';
import { Previewer } from './reconcile/previewer.ts';
import { PreviousStacks } from './reconcile/previous-stacks.ts';
import { ServiceMetadataWriter } from './reconcile/service-metadata-writer.ts';
import { ServiceReconciler } from './reconcile/service-reconciler.ts';
import { BackendUsers } from './schedule/backend-users.ts';
import { Backoff, retryClassOf } from './schedule/backoff.ts';
import { emptyFingerprint, fingerprintNodes, type NodeFingerprint } from './schedule/node-fingerprint.ts';
import { DriftIntervals } from './schedule/drift-intervals.ts';
import { PolicyChanges } from './schedule/policy-changes.ts';
import { ResultCache } from './schedule/result-cache.ts';
import { AwsAccount, type Connect } from './stacks/aws-account.ts';
import { DepartedServices } from './stacks/departed-services.ts';
import type { OwnerObserver } from './stacks/single-owner.ts';
import { TargetRecords } from './stacks/targets/target-records.ts';
import { StackReconciler } from './stacks/stack-reconciler.ts';
import { StackRegistry, type StackState } from './stacks/stack-registry.ts';
import { awsConfig } from './tables/config/config.ts';

interface AwsProviderComponents {
  readonly classless: ClasslessMode;
  /** Called at the first use of AWS with the nodes of the cluster, and again after it has rejected. */
  readonly connect: Connect;
  /** Absent without write access to Services (standalone). Then the resources of a Service that is gone are found by their tags. */
  readonly metadata?: ServiceMetadata;
  /** Absent where there are no Pods (standalone). Then every endpoint of a Service can be a target. */
  readonly pods?: PodReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: nothing is counted. */
  readonly observer?: OwnerObserver;
}

/**
 * Gives Services load balancers in AWS. All its memory can be rebuilt from names and tags in AWS.
 *
 * This class implements the provider contract: it caches results, and turns errors of AWS into reasons and retries. A reconcile continues
 * in ServiceReconciler (one Service), StackReconciler (one load balancer with all that belongs to it), `reconcileStack` (observe, desire,
 * plan, execute).
 */
export class AwsProvider implements Provider, Recovery, ResourceHolder, ChangeListener, PeriodicWork, OrderedWork, Previewable {
  readonly name = 'aws';
  readonly remote = true;
  readonly #components: AwsProviderComponents;
  readonly #registry = new StackRegistry();
  readonly #departed = new DepartedServices();
  readonly #services: ServiceReconciler;
  readonly #background: BackgroundReconciler;
  readonly #previewer: Previewer;
  readonly #results = new ResultCache();
  readonly #driftIntervals = new DriftIntervals();
  readonly #backoff: Backoff;
  #nodes: NodeFingerprint = emptyFingerprint;
  #targetCIDRs: readonly Prefix[] = [];
  readonly #backendUsers = new BackendUsers();
  readonly #policies = new PolicyChanges();
  #snapshot: Snapshot | undefined;

  constructor(components: AwsProviderComponents) {
    const { classless, random, log } = components;
    const now = (): number => this.#now();
    const account = new AwsAccount(components);
    const common = { account, registry: this.#registry, departed: this.#departed, now, log };
    const records = new TargetRecords(components.metadata);
    const stacks = new StackReconciler({ ...common, records });
    const rules = new NodeRules({ ...common, random });
    const previous = new PreviousStacks({ ...common, stacks, rules });
    const metadata = new ServiceMetadataWriter(components.metadata);
    this.#components = components;
    const joined = new JoinedTargetGroups({ ...common, records });
    this.#services = new ServiceReconciler({ ...common, records, joined, stacks, rules, previous, metadata });
    this.#background = new BackgroundReconciler({ ...common, classless, stacks, rules });
    this.#previewer = new Previewer({ ...common, joined, stacks });
    this.#backoff = new Backoff(random);
  }

  claim(service: Service, { config }: Snapshot): Claim {
    return decideAwsClaim(service, config, this.#components);
  }

  adopt(snapshot: Snapshot, recorded: ReadonlyMap<ServiceKey, unknown>): void {
    this.#snapshot = snapshot;
    this.#departed.markUnreadable([...recorded.keys()].filter((key) => !snapshot.services.has(key)));
    this.#nodes = fingerprintNodes(snapshot, emptyFingerprint);
    this.#targetCIDRs = awsConfig.of(snapshot.config).targetCIDRs;
    this.#policies.take(snapshot);
  }

  holds(key: ServiceKey, service: Service | undefined): boolean {
    return this.#services.holds(key, service);
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    this.#snapshot = snapshot;
    const key = serviceKey(service.metadata);
    const claim = decideAwsClaim(service, snapshot.config, this.#components);
    // The claim has changed since the controller asked for it. The controller will ask again.
    if (!claim.mine) return { ingress: service.ingress, reason: claim.reason };
    const urgency = this.urgencyOf(key, service);
    const cached = this.#results.result(key, service, this.#now());
    if (cached !== undefined && !this.#services.hasLostFinalizer(key, service)) return cached;
    // Earlier failures and waits do not delay a changed Service.
    if (this.#results.isChanged(key, service)) {
      this.#backoff.forgetFailures(key);
      this.#services.resetPolling(key);
    }
    this.#results.startReconcile(key);
    this.#backendUsers.record(key, service);
    const reconciliation = await withUrgency(urgency, () => this.#reconcile(memberOf(service, claim.kind), key, snapshot));
    this.#results.storeResult(key, service, reconciliation);
    return reconciliation;
  }

  async release(key: ServiceKey, snapshot: Snapshot): Promise<Released> {
    this.#departed.clearUnreadable(key);
    const service = snapshot.services.get(key);
    if (!this.#services.holds(key, service)) {
      this.#forgetService(key);
      return {};
    }
    // Without write access to Services there is no finalizer, so a deletion is noticed only after the Service is gone.
    if (service !== undefined || this.#components.metadata === undefined) this.#departed.releasing.add(key);
    if (!this.#departed.releasing.has(key)) {
      this.#forgetVanished(key);
      return {};
    }
    const remaining = await withUrgency('change', () => this.#services.release(key, snapshot)).catch(reasonOfThrown);
    if (remaining === undefined) {
      this.#forgetService(key);
      return {};
    }
    this.#retry(key, remaining);
    // AWS needs time for many changes: that is not worth reporting.
    return remaining.code === 'AwsProvisioning' ? {} : { remaining };
  }

  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    return this.#previewer.preview(key, snapshot).catch((error: unknown) => {
      const failed = error instanceof StoppedError ? interrupted(error) : reasonOfThrown(error);
      return { observed: [], desired: [], actions: [], waits: [], reasons: [failed], failed };
    });
  }

  runDue(now: number): readonly ServiceKey[] {
    const snapshot = this.#snapshot;
    if (snapshot !== undefined) withUrgency('reread', () => this.#background.startDue(snapshot, now));
    const drifted = this.#background.takeDrifted();
    for (const key of drifted) this.#results.invalidate(key);
    return [...new Set([...drifted, ...this.#results.takeDue(now)])];
  }

  urgencyOf(key: ServiceKey, service: Service | undefined): Urgency {
    if (service === undefined || service.metadata.deleting) return 'change';
    if (this.#backoff.failuresOf(key) > 0 && !this.#results.isChanged(key, service)) return 'repair';
    const next = this.#services.nextOfNew(key);
    if (service.ingress.length === 0) return this.#results.isKnown(key) && next !== 'host name' ? 'change' : 'new';
    if (this.#results.isChanged(key, service)) return 'change';
    return this.#results.isAffected(key) || next === 'check' ? 'repair' : 'reread';
  }

  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    this.#snapshot = snapshot;
    const affected = new Set<ServiceKey>();
    if (changes.some(({ kind }) => kind === 'Node') && this.#haveNodesChanged(snapshot)) {
      for (const { services } of this.#registry.all) for (const key of services) affected.add(key);
      // AWS may not have been reached for these yet: nodes tell the region and the VPC.
      for (const key of this.#backoff.failing) affected.add(key);
      this.#background.refreshTargetsSoon();
    }
    // HeraldConfig may allow targets that are no pods.
    if (changes.some(({ kind }) => kind === 'HeraldConfig') && this.#haveTargetsChanged(snapshot)) {
      for (const { services } of this.#registry.all) for (const key of services) if (this.#registry.hasPodTargets(key)) affected.add(key);
      this.#background.refreshTargetsSoon();
    }
    if (changes.some(({ kind }) => kind === 'HeraldConfig' || kind === 'Namespace')) {
      const namespaces = this.#policies.take(snapshot);
      for (const [key, service] of snapshot.services)
        if (namespaces.has(service.metadata.namespace) && this.claim(service, snapshot).mine) affected.add(key);
    }
    for (const { kind, key, services = [] } of changes) {
      // Instance targets do not change with pods: health checks find the nodes that have one.
      if (kind === 'EndpointSlice')
        for (const service of services.flatMap((one) => [one, ...this.#backendUsers.of(one)])) {
          if (!this.#registry.hasPodTargets(service)) continue;
          affected.add(service);
          this.#background.refreshTargetsSoon();
        }
      // A port may have become free for other Services that share the load balancer.
      if (kind === 'Service') {
        for (const user of this.#backendUsers.of(key as ServiceKey)) affected.add(user);
        for (const { services } of this.#stacksOf(key as ServiceKey, snapshot))
          for (const other of services) if (other !== key) affected.add(other);
      }
    }
    for (const key of affected) this.#results.invalidate(key);
    return affected;
  }

  /** The stacks in which the Service has a part, and the one that it asks for. */
  #stacksOf(key: ServiceKey, { services }: Snapshot): StackState[] {
    const service = services.get(key);
    const wanted = service === undefined ? undefined : this.#registry.get(stackOf(memberOf(service, 'nlb')).key);
    return [...this.#registry.stacksWith(key), ...(wanted === undefined ? [] : [wanted])];
  }

  #haveTargetsChanged({ config }: Snapshot): boolean {
    const before = this.#targetCIDRs;
    this.#targetCIDRs = awsConfig.of(config).targetCIDRs;
    return !sameContent(before, this.#targetCIDRs);
  }

  #haveNodesChanged(snapshot: Snapshot): boolean {
    const before = this.#nodes;
    this.#nodes = fingerprintNodes(snapshot, before);
    return this.#nodes.fingerprint !== before.fingerprint;
  }

  /** Reconciles the Service and schedules the next reconcile. Errors of AWS become the reason of the result; others reject. */
  async #reconcile(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<Reconciliation> {
    try {
      const outcome = await this.#services.reconcile(member, snapshot);
      if (outcome.kind === 'released') this.#forgetService(key);
      else if (outcome.kind === 'foreign') this.#results.invalidate(key);
      else if (outcome.kind === 'unchecked') this.#requeueAfter(key, outcome.pollSeconds);
      else if (outcome.kind === 'blocked') this.#retry(key, outcome.remaining);
      else if (outcome.refusal !== undefined) this.#retry(key, outcome.refusal);
      else this.#poll(key, outcome.pollSeconds, outcome.reconciliation);
      return { ...outcome.reconciliation, ...this.#again(key) };
    } catch (error) {
      const failed = reasonOfThrown(error);
      this.#retry(key, failed);
      return { ingress: member.service.ingress, reason: failed, ...this.#again(key) };
    }
  }

  /** Requeues the Service after a reconcile without a refusal. When nothing is waited for, it is checked for drift. */
  #poll(key: ServiceKey, seconds: number, { reason, warnings = [], repaired = [] }: Reconciliation): void {
    this.#backoff.forgetFailures(key);
    const isQuiet = seconds >= limits.driftSeconds && reason === undefined && warnings.length === 0 && repaired.length === 0;
    const drift = this.#driftIntervals.next(key, isQuiet, this.#registry.driftSeconds);
    this.#requeueAfter(key, seconds < limits.driftSeconds ? seconds : drift);
  }

  /** Requeues the Service with back-off. A reason without a retry class counts as transient. */
  #retry(key: ServiceKey, because: Reason): void {
    const seconds = this.#backoff.recordFailure(key, retryClassOf(because) ?? 'transient');
    const failures = this.#backoff.failuresOf(key);
    this.#components.log.debug(
      { service: key, code: because.code, failures, retryInSeconds: Math.round(seconds) },
      'retrying with back-off',
    );
    this.#requeueAfter(key, seconds);
  }

  #again(key: ServiceKey): Pick<Reconciliation, 'againAfterMilliseconds'> {
    const due = this.#results.dueAt(key);
    return due === undefined ? {} : { againAfterMilliseconds: due - this.#now() };
  }

  #requeueAfter(key: ServiceKey, seconds: number): void {
    this.#results.requeueAt(key, this.#now() + seconds * 1000);
  }

  /**
   * The Service is gone without a deletion that Herald saw: its finalizer was removed, or a backup without the finalizer was restored. That
   * may be a mistake, so its resources become orphans, which are kept for a while.
   */
  #forgetVanished(key: ServiceKey): void {
    this.#components.log.warn({ service: key }, 'the Service is gone without having been deleted: its load balancer is kept for a while');
    this.#registry.forgetMember(key);
    this.#background.sweepSoon();
    this.#forgetService(key);
  }

  #forgetService(key: ServiceKey): void {
    this.#services.forgetService(key);
    this.#results.forgetService(key);
    this.#backendUsers.forget(key);
    this.#driftIntervals.forgetService(key);
    this.#backoff.forgetFailures(key);
  }

  #now(): number {
    return this.#components.clock.date().getTime();
  }
}

/** A preview changes nothing and is shown to the user who has stopped it. */
function interrupted({ message }: StoppedError): Reason {
  return reason('AwsCallFailed', { operation: 'the preview', awsCode: '', message, requestId: '' });
}
