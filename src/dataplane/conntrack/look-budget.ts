import { askedFactor, askedLookPause, longestDebt, longestLookPause, lookPause, pauseFactor, usualLook } from './limits.ts';

/**
 * Decides when looks begin. Looks that nobody asked for and looks that were asked for each have a share of a core. So looks that are asked for all
 * the time never delay the others, and one that is asked for seldom comes at once. The time of a look includes other work of the process, so it counts
 * as twice that of the look before at most, and delays the next one by `longestLookPause` at most (one that is asked for by twice that). Times are
 * milliseconds of the clock.
 */
export class LookBudget {
  #ended = Number.NEGATIVE_INFINITY;
  #regular: number;
  /** When so much time will have passed that the looks that were asked for cost little of it. */
  #paid = Number.NEGATIVE_INFINITY;
  /** The milliseconds of a processor that the last look counted. */
  #cost = usualLook;

  /** `first`: when the first look is due. */
  constructor(first: number) {
    this.#regular = first;
  }

  /** When the next look is due that nobody asks for. */
  get regular(): number {
    return this.#regular;
  }

  /** When the last look ended. */
  get ended(): number {
    return this.#ended;
  }

  /** Returns when a look may begin that is asked for. */
  asked(at: number): number {
    return Math.max(at, this.#ended + askedLookPause, this.#paid - longestDebt);
  }

  /** Notes a look that took `spent` milliseconds of a processor. */
  note({ began, ended, spent }: { readonly began: number; readonly ended: number; readonly spent: number }): void {
    this.#cost = Math.max(1, Math.min(spent, 2 * this.#cost));
    if (began < this.#regular) {
      const paid = Math.max(this.#paid, ended) + this.#cost * askedFactor;
      this.#paid = Math.min(paid, ended + longestDebt + 2 * longestLookPause);
    }
    this.#ended = ended;
    this.#regular = ended + Math.min(Math.max(lookPause, this.#cost * pauseFactor), longestLookPause);
  }
}
