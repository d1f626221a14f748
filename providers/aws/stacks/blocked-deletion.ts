import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Execution } from './execute.ts';
import { limits } from '../model/limits.ts';

/** Since when AWS has not let something go because something else uses it: that takes a while, and where it takes longer somebody has to hear of it. */
export class DeletionWatch {
  #since: number | undefined;

  /** Notes what came of a plan. `now`: milliseconds since the epoch. Returns what does not go; undefined: nothing, or it need not be told yet. */
  record({ outcomes }: Execution, now: number): Reason | undefined {
    const held = outcomes.find((outcome) => outcome.result === 'inUse');
    if (held === undefined) {
      this.#since = undefined;
      return undefined;
    }
    this.#since ??= now;
    if (now - this.#since < limits.inUseSeconds * 1000) return undefined;
    const { operation, awsCode, message } = held.error;
    // Each request has another id, and the same "no" is told once.
    return reason('AwsRefused', { operation, awsCode, message: `${held.action.id}: ${message}`, requestId: '', kind: 'inUse' });
  }
}
