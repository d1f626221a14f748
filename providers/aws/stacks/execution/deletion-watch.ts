import { reason, type Reason } from '../../../../src/model/reasons.ts';
import type { Execution } from './execute.ts';
import { limits } from '../../model/limits.ts';

/**
 * Measures how long AWS has refused a deletion because something else uses the resource. That is usual for a while, and reported when it
 * takes longer.
 */
export class DeletionWatch {
  #since: number | undefined;

  /** Records the outcomes of a plan. Returns the refusal when it has lasted for `inUseSeconds`. `now`: milliseconds since the epoch. */
  record({ outcomes }: Execution, now: number): Reason | undefined {
    const held = outcomes.find((outcome) => outcome.result === 'inUse');
    if (held === undefined) {
      this.#since = undefined;
      return undefined;
    }
    this.#since ??= now;
    if (now - this.#since < limits.inUseSeconds * 1000) return undefined;
    const { operation, awsCode, message } = held.error;
    // Without the request id, which differs each time: the same refusal is reported once.
    return reason('AwsRefused', { operation, awsCode, message: `${held.action.id}: ${message}`, requestId: '', kind: 'inUse' });
  }
}
