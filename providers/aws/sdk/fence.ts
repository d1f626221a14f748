import { StoppedError } from '../cloud/error.ts';
import { isWrite, type Operation } from '../cloud/operations.ts';

/**
 * Stops a controller that is no longer leader from writing to AWS. AWS has no resource versions to detect a conflict, so the check comes
 * before each request. Requests sent earlier are harmless, because the next leader reads the actual state.
 */
export class Fence {
  readonly #mayWrite: () => boolean;

  constructor(mayWrite: () => boolean = () => true) {
    this.#mayWrite = mayWrite;
  }

  /**
   * Throws if a write is not allowed. Must be called immediately before the request, with no await between.
   */
  assertMayWrite(operation: Operation): void {
    if (!isWrite(operation) || this.#mayWrite()) return;
    throw new StoppedError('request not sent: the Lease was not renewed in time');
  }
}
