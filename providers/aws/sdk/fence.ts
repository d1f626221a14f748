import { StoppedError } from '../cloud/error.ts';
import { isWrite, type Operation } from '../cloud/operations.ts';

/**
 * Throws if a write is not allowed: a controller that is no longer leader must not write to AWS. AWS has no resource versions to detect a
 * conflict, so this must be called immediately before the request, with no await between. Requests sent earlier are harmless, because the
 * next leader reads the actual state.
 */
export function assertMayWrite(operation: Operation, mayWrite: () => boolean = () => true): void {
  if (!isWrite(operation) || mayWrite()) return;
  throw new StoppedError('request not sent: the Lease was not renewed in time');
}
