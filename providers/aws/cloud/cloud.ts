import type { Input, Operation, Output, ReadOperation } from './operations.ts';

/**
 * The port to AWS: one call in, one answer out, in AWS' own terms. Implemented by the SDK and by the fake of the tests; what bounds the
 * rate, counts or logs calls wraps one of them.
 *
 * - A read answers in full: whoever implements this follows pages, and splits what AWS takes only in batches.
 * - A write is one request to AWS, repeated only where that is safe (throttled, or not sent).
 * - A call that fails rejects with AwsError, whatever was wrong.
 */
export interface Cloud {
  call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>>;
}

/** The same port for those that must not change anything. Any Cloud is one. */
export interface ReadOnlyCloud {
  call<O extends ReadOperation>(operation: O, input: Input<O>): Promise<Output<O>>;
}
