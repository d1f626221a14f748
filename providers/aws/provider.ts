import type { Claim, Preview, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import { serviceKey, type ServiceKey } from '../../src/model/metadata.ts';
import { reason, says, type Reason } from '../../src/model/reasons.ts';
import type { Ingress, Service } from '../../src/model/service.ts';
import type { Change, Snapshot } from '../../src/model/snapshot.ts';
import type { Clock } from '../../src/system/clock.ts';
import type { Log } from '../../src/system/log.ts';
import { AwsError } from './cloud/error.ts';
import { decideAwsClaim } from './desire/claim.ts';
import { memberOf, stackOf, type Member } from './desire/stack.ts';
import { AwsLink, type Connect } from './link.ts';
import { callFailed, type PassResult } from './pass.ts';
import type { ClasslessMode } from './settings.ts';
import { finalizer, type ServiceMetadata } from './service-metadata.ts';
import { limits } from './limits.ts';
import type { StackState } from './stacks.ts';

export interface AwsProviderComponents {
  readonly classless: ClasslessMode;
  /** Called when AWS is needed first, with the nodes of the cluster; again where it has rejected. */
  readonly connect: Connect;
  /** Absent: Services cannot be written to (standalone), and what is left of one that went is found by its tags. */
  readonly metadata?: ServiceMetadata;
  readonly clock: Clock;
  readonly log: Log;
}

/** Finalizers by which other controllers say that the load balancer of a Service is theirs. */
const foreignFinalizers = ['service.k8s.aws/resources', 'service.kubernetes.io/load-balancer-cleanup'];

/** Gives Services load balancers in AWS. What it knows can be found again at any time, by names and tags. */
export class AwsProvider implements Provider {
  readonly name = 'aws';
  readonly #components: AwsProviderComponents;
  readonly #link: AwsLink;
  /** When Services are to be looked at again, in milliseconds since the epoch. */
  readonly #due = new Map<ServiceKey, number>();
  readonly #failures = new Map<ServiceKey, number>();
  #nodes = '';
  #snapshot: Snapshot | undefined;

  constructor(components: AwsProviderComponents) {
    this.#components = components;
    this.#link = new AwsLink(components);
  }

  claim(service: Service, { config }: Snapshot): Claim {
    return decideAwsClaim(service, config, this.#components);
  }

  adopt(snapshot: Snapshot, recorded: ReadonlyMap<ServiceKey, unknown>): void {
    this.#snapshot = snapshot;
    this.#link.reserve([...recorded.keys()].filter((key) => !snapshot.services.has(key)));
    this.#nodes = nodesText(snapshot);
  }

  // Addresses are AWS' to give: there is nothing to take over, and nothing that two Services could be given.
  adoptOne(): readonly ServiceKey[] {
    return [];
  }
  withhold(): void {}
  leave(): void {}
  written(): readonly ServiceKey[] {
    return [];
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    this.#snapshot = snapshot;
    const key = serviceKey(service.metadata);
    const claim = decideAwsClaim(service, snapshot.config, this.#components);
    // It may have changed since it was asked for; then the controller asks again.
    if (!claim.mine) return { ingress: service.ingress, reason: claim.reason };
    try {
      const reconciliation = await this.#serve(memberOf(service, claim.kind), key, snapshot);
      this.#failures.delete(key);
      return reconciliation;
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.#later(key, Math.min(limits.driftSeconds, limits.pollSeconds * 2 ** failures));
      return { ingress: service.ingress, reason: callFailed(error) };
    }
  }

  async release(key: ServiceKey): Promise<Released> {
    const released = { addresses: [], retry: [] };
    // Most Services have never been ours.
    if (this.#snapshot === undefined || !this.#mayHave(key, this.#snapshot)) return released;
    try {
      const left = await this.#vacate(key, this.#snapshot);
      if (left !== undefined) this.#later(key, limits.pollSeconds);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      this.#components.log.warn({ service: key, reason: says(callFailed(error)) }, 'load balancer not deleted yet');
      this.#later(key, limits.pollSeconds * 2);
    }
    return released;
  }

  preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    return this.#link.preview(key, snapshot);
  }

  expire(now: number): readonly ServiceKey[] {
    if (this.#snapshot !== undefined) this.#link.tidy(this.#snapshot, now);
    const due = [...this.#due].filter(([, at]) => at <= now).map(([key]) => key);
    for (const key of due) this.#due.delete(key);
    return due;
  }

  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    this.#snapshot = snapshot;
    const concerned = new Set<ServiceKey>();
    const isOurs = (key: ServiceKey): boolean => this.#link.stacks.of(key).length > 0;
    if (changes.some(({ kind }) => kind === 'Node')) {
      // Nodes report themselves all the time; only what decides about targets counts.
      const nodes = nodesText(snapshot);
      if (nodes !== this.#nodes) for (const { services } of this.#link.stacks.all) for (const key of services) concerned.add(key);
      this.#nodes = nodes;
    }
    for (const { kind, key, services = [] } of changes) {
      if (kind === 'EndpointSlice') for (const service of services) if (isOurs(service)) concerned.add(service);
      // Others that share its load balancer: a port may have become free.
      if (kind === 'Service')
        for (const { services } of this.#link.stacks.of(key as ServiceKey)) for (const other of services) concerned.add(other);
    }
    return concerned;
  }

  async #serve(member: Member, key: ServiceKey, snapshot: Snapshot): Promise<Reconciliation> {
    const { service, values } = member;
    const { metadata } = this.#components;
    if (service.metadata.deleting) {
      const left = await this.#vacate(key, snapshot);
      if (left !== undefined) this.#later(key, limits.pollSeconds);
      return left === undefined ? { ingress: [] } : { ingress: [], reason: left };
    }
    if (values.disown === true) {
      const left = await this.#link.disown(key, snapshot);
      if (left !== undefined) {
        this.#later(key, limits.pollSeconds);
        return { ingress: service.ingress, reason: left, warnings: member.warnings };
      }
      await metadata?.removeFinalizer(key);
      return { ingress: service.ingress, ...said(member.errors), warnings: member.warnings };
    }
    const finalizers = service.metadata.finalizers ?? [];
    const foreign = foreignFinalizers.find((name) => finalizers.includes(name));
    if (foreign !== undefined && !finalizers.includes(finalizer)) {
      return { ingress: service.ingress, reason: reason('AwsOtherController', { finalizer: foreign }) };
    }
    await metadata?.addFinalizer(key);
    const { state, result, drift, problems } = await this.#link.pass(stackOf(member), snapshot);
    state.services.add(key);
    await this.#leaveOthers(key, state, result, snapshot);
    this.#later(key, result.requeueSeconds < limits.driftSeconds ? result.requeueSeconds : this.#link.driftSeconds);
    const errors = [...(result.errors.get(key) ?? []), ...(result.errors.get('') ?? [])];
    return {
      ingress: ingressOf(result.hostname) ?? (result.desired === undefined ? service.ingress : []),
      ...said(errors),
      warnings: [...(result.warnings.get(key) ?? []), ...problems],
      ...(drift.length === 0 ? {} : { repaired: drift }),
    };
  }

  /** What served the Service before goes when what serves it now is there. */
  async #leaveOthers(key: ServiceKey, state: StackState, result: PassResult, snapshot: Snapshot): Promise<void> {
    if (result.hostname === undefined) return;
    for (const other of this.#link.stacks.of(key)) {
      if (other !== state && (await this.#link.vacate(other, snapshot)) === undefined) other.services.delete(key);
    }
  }

  /** Undefined: nothing of the Service is left in AWS, and it may go. */
  async #vacate(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const left: Reason[] = [];
    for (const state of await this.#link.stacksOf(key, snapshot)) {
      const problem = await this.#link.vacate(state, snapshot);
      if (problem === undefined) state.services.delete(key);
      else left.push(problem);
    }
    const [first] = left;
    if (first !== undefined) return first;
    this.#due.delete(key);
    this.#failures.delete(key);
    await this.#components.metadata?.removeFinalizer(key);
    return undefined;
  }

  #mayHave(key: ServiceKey, { services }: Snapshot): boolean {
    const finalizers = services.get(key)?.metadata.finalizers ?? [];
    return finalizers.includes(finalizer) || this.#link.stacks.of(key).length > 0;
  }

  #later(key: ServiceKey, seconds: number): void {
    this.#due.set(key, this.#components.clock.date().getTime() + seconds * 1000);
  }
}

function ingressOf(hostname: string | undefined): readonly Ingress[] | undefined {
  return hostname === undefined ? undefined : [{ hostname, ipMode: 'VIP' }];
}

/** One reason is told as it is; several become one, with the code of each. */
function said(errors: readonly Reason[]): Pick<Reconciliation, 'reason' | 'details'> {
  const [first, ...others] = errors;
  if (first === undefined) return {};
  if (others.length === 0) return { reason: first };
  const details = errors.map((error) => ({ of: aboutOf(error), code: error.code }));
  return { reason: reason('AwsSeveral', { problems: errors.map(says) }), details };
}

/** The annotation that a reason is about, or whatever else names it. */
function aboutOf({ details }: Reason): string {
  const [first] = Object.values<unknown>({ ...(details as object | undefined) });
  return typeof first === 'string' || typeof first === 'number' ? `${first}` : 'the Service';
}

function nodesText({ nodes }: Snapshot): string {
  return JSON.stringify(
    [...nodes.values()].map(({ metadata, ready, toBeDeleted, disrupted, providerID }) => [
      metadata.labels,
      metadata.deleting,
      ready,
      toBeDeleted,
      disrupted,
      providerID,
    ]),
  );
}
