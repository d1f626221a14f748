import { reasonText, type Reason } from '../../../../src/model/reasons.ts';
import type { Log } from '../../../../src/system/log.ts';
import type { Outcome } from './execute.ts';

/** Logs one executed action. `stack` is empty for actions that concern all stacks. */
export function logOutcome(log: Log, stack: string, outcome: Outcome): void {
  const { id, operation, reason } = outcome.action;
  if (outcome.result === 'done') log.info({ stack, action: id, operation, reason }, 'AWS changed');
  else if (outcome.result === 'failed' || outcome.result === 'partial') {
    const { code, awsCode, requestId, message } = outcome.error;
    log.warn({ stack, action: id, operation, code, awsCode, requestId, message }, 'call to AWS failed');
  }
}

/** Logs that AWS has refused a deletion for a long time because something else uses the resource. */
export function logBlockedDeletion(log: Log, stack: string, blocked: Reason): void {
  log.warn({ stack, reason: reasonText(blocked) }, 'AWS refuses to delete a resource because something else still uses it');
}
