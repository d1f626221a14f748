import type { Reason } from '../../../../src/model/reasons.ts';
import type { KeptTargets } from '../../plan/kept-targets.ts';
import type { PlanInput } from '../../plan/steps/input.ts';
import type { Execution } from './execute.ts';
import { RefusedTargets } from './refused-targets.ts';
import { RefusedZones } from './refused-zones.ts';

/** Remembers the parts of a stack that AWS has refused, so that the rest does not wait for them. */
export class Refusals {
  readonly #targets = new RefusedTargets();
  readonly #zones = new RefusedZones();

  /** Returns the desired state without what AWS has refused. `now`: milliseconds since the epoch. */
  withoutRefused(input: PlanInput, now: number): PlanInput['desired'] {
    return this.#targets.withoutRefused(this.#zones.withoutRefused(input, now), input.observed, now);
  }

  /** Returns the targets to keep current without those that AWS has refused and does not have. */
  withoutRefusedOf(kept: KeptTargets, { desired, observed }: PlanInput, now: number): KeptTargets {
    this.#targets.retain(desired, kept);
    return this.#targets.withoutRefusedOf(kept, observed, now);
  }

  /** Records the refusals of an execution. Returns the ids of failed actions that `reasons` reports. `input`: the state before it. */
  record(execution: Execution, input: PlanInput, now: number): ReadonlySet<string> {
    this.#targets.record(execution, input.observed, now);
    return this.#zones.record(execution, input, now);
  }

  /** Why something is missing. `input`: with everything that the Service asks for. */
  reasons(input: Pick<PlanInput, 'desired'>): Reason[] {
    return [...this.#targets.reasons, ...this.#zones.reasons(input)];
  }

  /** The Service asks for something else: everything is tried again. */
  forget(): void {
    this.#targets.forget();
    this.#zones.forget();
  }
}
