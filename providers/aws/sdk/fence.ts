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
   * Throws if a write is not allowed. Must be called immediately before the request, with no await between. The error is classified as
   * unreachable, because the next leader will make the change.
   */
  assertMayWrite(operation: Operation): void {
    if (!isWrite(operation) || this.#mayWrite()) return;
    throw abortedError('request not sent: the Lease was not renewed in time');
  }
}

/** The error of a request that was not sent because this controller must not send any more. */
export function abortedError(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNABORTED' });
}
