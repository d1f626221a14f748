import { isWrite, type Operation } from '../cloud/operations.ts';

/**
 * What a controller that others stand in for asks before each request that changes something: AWS has no versions to compare, so that
 * whoever leads no more must not even ask. What was sent before is harmless, as the next one looks at what is there.
 */
export class Fence {
  readonly #mayWrite: () => boolean;

  constructor(mayWrite: () => boolean = () => true) {
    this.#mayWrite = mayWrite;
  }

  /** To be called with nothing to wait for between it and the request. Throws what is classified as unreachable: the next one does it. */
  assertMayWrite(operation: Operation): void {
    if (!isWrite(operation) || this.#mayWrite()) return;
    throw abortedError('not asked for: the Lease was not renewed in time');
  }
}

/** The error of a request that was not sent because nothing shall be sent any more. */
export function abortedError(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNABORTED' });
}
