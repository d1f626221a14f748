import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Clock } from '../../../src/system/clock.ts';
import { limits } from '../model/limits.ts';
import type { StackReconciler } from './stack-reconciler.ts';
import { isClassicName, isLoadBalancerArn } from '../observe/known-resources.ts';
import { retryClassOf } from '../schedule/backoff.ts';
import { arnAnnotation, type ServiceMetadata } from '../model/service-metadata.ts';
import type { StackState } from '../stacks/stack-registry.ts';

/** How far a Service has come in leaving the load balancers that served it before. */
interface MigrationProgress {
  /** When to go on with that; absent: there is nothing left, or something is in the way. */
  readonly seconds?: number;
  /** What is in the way, by the word of AWS. */
  readonly blocked?: Reason;
}

interface Components {
  readonly link: StackReconciler;
  /** Absent: Services cannot be written to. */
  readonly metadata?: ServiceMetadata | undefined;
  readonly clock: Clock;
}

/** From one load balancer of a Service to the next, or to none: what served it goes when it may, and what is its own is written on it. */
export class PreviousStacks {
  readonly #link: StackReconciler;
  readonly #metadata: ServiceMetadata | undefined;
  readonly #clock: Clock;

  constructor({ link, metadata, clock }: Components) {
    this.#link = link;
    this.#metadata = metadata;
    this.#clock = clock;
  }

  /** Writes down on the Service which load balancers are its own, so that they are found again without listing the account. False: not yet. */
  async recordArns({ metadata: { annotations } }: Service, key: ServiceKey, states: readonly StackState[]): Promise<boolean> {
    const metadata = this.#metadata;
    if (metadata === undefined || states.length === 0) return true;
    const all = new Set(states.flatMap(({ known }) => known.ids));
    const ids = [...all].filter((id) => isLoadBalancerArn(id) || isClassicName(id)).toSorted();
    const text = ids.length === 0 ? undefined : ids.join(' ');
    return annotations[arnAnnotation] === text || (await metadata.annotate(key, { [arnAnnotation]: text }));
  }

  /** What served the Service before goes when all that it asks for serves it now, and has done so for a while: names are cached, and connections last. */
  async advance(
    key: ServiceKey,
    state: StackState,
    others: readonly StackState[],
    hasArrived: boolean,
    snapshot: Snapshot,
  ): Promise<MigrationProgress> {
    const { servingSince: arrived } = state;
    if (!hasArrived || others.length === 0) arrived.delete(key);
    if (others.length === 0) return {};
    if (!hasArrived) {
      for (const other of others) await this.#link.refreshTargets(other, snapshot);
      return { seconds: limits.pollSeconds };
    }
    const now = this.#clock.date().getTime();
    const since = arrived.get(key) ?? (await this.#link.retiredSince(others, key, snapshot));
    arrived.set(key, since);
    const seconds = Math.ceil(since / 1000 + (await this.#link.retireSeconds(snapshot)) - now / 1000);
    if (seconds > 0) return { seconds };
    for (const other of others) {
      const left = await this.#link.release(other, snapshot, key);
      // What AWS refuses need not be asked every few seconds, and somebody has to hear of it.
      if (left !== undefined) return retryClassOf(left) === undefined ? { seconds: limits.pollSeconds } : { blocked: left };
      this.#link.stacks.forgetMember(key, [other]);
    }
    return {};
  }

  /** Undefined: nothing of the Service is left in AWS, and it may go. */
  async release(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const left: Reason[] = [];
    for (const state of await this.#link.stacksOf(key, snapshot)) {
      const problem = await this.#link.release(state, snapshot, key);
      if (problem === undefined) this.#link.stacks.forgetMember(key, [state]);
      else left.push(problem);
    }
    const [first] = left;
    if (first !== undefined) return first;
    const unwritten = await this.removeMetadata(key, snapshot);
    if (unwritten !== undefined) return unwritten;
    this.#link.departed.releasing.delete(key);
    return undefined;
  }

  /** The Service goes on without us, or goes. Resolves to why not yet: somebody else has just written to it. */
  async removeMetadata(key: ServiceKey, { services }: Snapshot): Promise<Reason | undefined> {
    const goesOn = services.get(key)?.metadata.deleting === false;
    if (goesOn && (await this.#metadata?.annotate(key, { [arnAnnotation]: undefined })) === false)
      return reason('AwsProvisioning', { waitsFor: 'the annotation of its Service to be removed' });
    await this.#metadata?.removeFinalizer(key);
    return undefined;
  }
}
