import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { limits } from '../model/limits.ts';
import type { NodeRules } from '../node-rules/node-rules.ts';
import { retryClassOf } from '../schedule/backoff.ts';
import { retiredSince } from '../stacks/retired-since.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackReconciler } from '../stacks/stack-reconciler.ts';
import type { StackState } from '../stacks/stack-registry.ts';
import { releaseStack } from './release-stack.ts';

interface MigrationProgress {
  /** Seconds until the next step. Absent when there is no previous stack left, or when `blocked`. */
  readonly seconds?: number;
  /** Why AWS refuses to delete a previous stack. */
  readonly blocked?: Reason;
}

interface Components extends SharedComponents {
  readonly stacks: StackReconciler;
  readonly rules: NodeRules;
}

/** The stacks that served a Service before it moved to another stack. They serve until the new stack does, and `retireSeconds` longer. */
export class PreviousStacks {
  readonly #components: Components;

  constructor(components: Components) {
    this.#components = components;
  }

  /**
   * Takes the next step of a Service's move to the stack `state`. Until the new stack serves the Service completely and its host name is
   * published (`hasArrived`), the previous stacks get current targets. After that they are kept for `retireSeconds`, because clients cache
   * names and connections last. Then the part of the Service is released.
   */
  async advance(
    key: ServiceKey,
    state: StackState,
    previous: readonly StackState[],
    hasArrived: boolean,
    snapshot: Snapshot,
  ): Promise<MigrationProgress> {
    const { stacks, registry } = this.#components;
    if (!hasArrived || previous.length === 0) state.servingSince.delete(key);
    if (previous.length === 0) return {};
    if (!hasArrived) {
      for (const one of previous) await stacks.reconcile(one, snapshot, { kind: 'serve' });
      return { seconds: limits.pollSeconds };
    }
    const seconds = await this.#secondsUntilRelease(key, state, previous, snapshot);
    if (seconds > 0) return { seconds };
    for (const one of previous) {
      const remaining = await releaseStack(this.#components, one, snapshot, key);
      // AWS has refused the deletion: polling it every few seconds is no use, and the user is warned.
      if (remaining !== undefined) return retryClassOf(remaining) === undefined ? { seconds: limits.pollSeconds } : { blocked: remaining };
      registry.forgetMember(key, [one]);
    }
    return {};
  }

  /** The start of the time is a tag in AWS, so that a restart does not begin it again. */
  async #secondsUntilRelease(
    key: ServiceKey,
    { servingSince }: StackState,
    previous: readonly StackState[],
    snapshot: Snapshot,
  ): Promise<number> {
    const { account, now: clock } = this.#components;
    const now = clock();
    const { cloud, settings } = await account.open(snapshot);
    const since = servingSince.get(key) ?? (await retiredSince(cloud, settings, previous, key, clock));
    servingSince.set(key, since);
    return Math.ceil(since / 1000 + settings.retireSeconds - now / 1000);
  }
}
