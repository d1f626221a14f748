import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import { SerialQueue } from '../../../src/lang/serial-queue.ts';
import type { StackIdentity } from '../model/circumstances.ts';
import { DeletionWatch } from './execution/deletion-watch.ts';
import type { StackTargets } from '../model/stack-targets.ts';
import { KnownResources } from '../observe/known-resources.ts';
import { RecentObservation } from '../observe/recent-observation.ts';
import { Refusals } from './execution/refusals.ts';
import { RepeatedWrites } from './execution/repeated-writes.ts';
import type { Owned } from '../observe/scan.ts';
import type { StackResult } from './stack-result.ts';
import { limits } from '../model/limits.ts';
import { tagKeys } from '../model/tags.ts';

/** The memory of one stack. All of it can be rebuilt from AWS. */
export interface StackState {
  readonly identity: StackIdentity;
  readonly known: KnownResources;
  /** Services that it serves, or has served and not released yet. */
  readonly services: Set<ServiceKey>;
  /** Services with a part in it according to tags: those that moved away before this process started. */
  readonly tagged: Set<ServiceKey>;
  /** Since when it has served a Service that a previous stack serves as well, in milliseconds since the epoch. */
  readonly servingSince: Map<ServiceKey, number>;
  /**
   * Runs its reconciles one after the other: concurrent ones would create the same resources. Services that share a stack are reconciled
   * concurrently.
   */
  readonly queue: SerialQueue;
  readonly deletionWatch: DeletionWatch;
  readonly repeated: RepeatedWrites;
  readonly refused: Refusals;
  readonly recent: RecentObservation;
  /** The deletion that AWS has refused for a long time, because something uses the resource. */
  blockedDeletion?: Reason | undefined;
  /** The targets that node rules must admit it to. Undefined: not read yet. */
  targets?: StackTargets;
  /** The desired state, as JSON, when nothing was left to do. Actions that the same state needs later are drift. */
  convergedDesired?: string;
  last?: StackResult;
}

/** All stacks that serve Services, or of which something is left. */
export class StackRegistry {
  readonly #states = new Map<string, StackState>();

  get all(): Iterable<StackState> {
    return this.#states.values();
  }

  /** Seconds between two checks of a stack with which nothing is wrong. Grows with the number of stacks, to limit the reads per second. */
  get driftSeconds(): number {
    return Math.max(limits.driftSeconds, (this.#states.size * limits.driftReadsPerStack) / limits.driftReadsPerSecond);
  }

  /** The longest time between two scans of the account, in seconds. */
  get sweepMaximumSeconds(): number {
    const affordable = (4 * 3600 * limits.sweepReads) / Math.max(1, this.#states.size);
    return Math.max(limits.sweepMaximumSeconds, affordable);
  }

  get(key: string): StackState | undefined {
    return this.#states.get(key);
  }

  getOrCreate(identity: StackIdentity): StackState {
    const state = this.#states.get(identity.key) ?? {
      identity,
      known: new KnownResources(),
      services: new Set<ServiceKey>(),
      tagged: new Set<ServiceKey>(),
      servingSince: new Map<ServiceKey, number>(),
      queue: new SerialQueue(),
      deletionWatch: new DeletionWatch(),
      repeated: new RepeatedWrites(),
      refused: new Refusals(),
      recent: new RecentObservation(),
    };
    this.#states.set(identity.key, state);
    return state;
  }

  forgetStack(key: string): void {
    this.#states.delete(key);
  }

  /** Returns the stacks in which the Service has, or may have, a part. */
  stacksWith(service: ServiceKey): StackState[] {
    return [...this.#states.values()].filter(
      ({ identity, services, tagged }) => services.has(service) || tagged.has(service) || identity.key === service,
    );
  }

  /** True when a load balancer of the Service sends to pods, so that its targets change with its pods. True until the targets are known. */
  hasPodTargets(service: ServiceKey): boolean {
    return this.stacksWith(service).some(({ last }) => {
      const { desired } = last ?? {};
      return desired === undefined || (desired.kind === 'nlb' && desired.targetGroups.some(({ targetType }) => targetType === 'ip'));
    });
  }

  /** The Service has no part in these stacks any more. */
  forgetMember(service: ServiceKey, states: readonly StackState[] = this.stacksWith(service)): void {
    for (const { services, tagged, servingSince: arrived } of states) {
      services.delete(service);
      tagged.delete(service);
      arrived.delete(service);
    }
  }

  /** Records resources that a scan of the account has found, for known and unknown stacks. */
  recordFound(owned: ReadonlyMap<string, readonly Owned[]>): void {
    for (const [key, things] of owned) {
      const state = this.getOrCreate(parseStackKey(key));
      for (const { id, tags } of things) {
        state.known.recordFound(id);
        const service = tags[tagKeys.service];
        if (service !== undefined) state.tagged.add(service as ServiceKey);
      }
    }
  }
}

/** Records the result of a reconcile. When the desired state is unknown, the targets are those that are registered now. */
export function recordResult(state: StackState, result: StackResult): void {
  state.last = result;
  if (result.targets !== undefined) state.targets = result.targets;
  else if (result.kept !== undefined && state.targets !== undefined) state.targets = { ...state.targets, ...result.kept };
}

/**
 * Returns the actions that were needed although the desired state has not changed since the last reconcile without any action: drift, which
 * others have caused. Remembers the desired state once nothing is left to do, and forgets it when a different one is desired.
 */
export function recordDrift(state: StackState, { desired, plan: { actions, waits } }: StackResult): readonly string[] {
  if (desired === undefined) return [];
  const text = JSON.stringify(desired);
  const drift = state.convergedDesired === text ? actions.map(({ id, reason }) => `${id}: ${reason}`) : [];
  if (actions.length === 0 && waits.length === 0) state.convergedDesired = text;
  else if (state.convergedDesired !== text) delete state.convergedDesired;
  return drift;
}

/** Returns the identity of a stack that was found by its tags: the reverse of its key. */
export function parseStackKey(key: string): StackIdentity {
  const [namespace = '', name = ''] = key.replace(/^shared:/, '').split('/');
  return { key, namespace, name };
}
