import type { Input, Operation, Output, ReadOperation } from './operations.ts';

/**
 * The port to AWS: one call, one answer, in AWS' own terms. The SDK edge and the fake of the tests implement it. Rate limits, counters and
 * logs wrap an implementation.
 *
 * - A read answers completely: the implementation follows pages and splits what AWS accepts only in batches.
 * - A write is one request to AWS. It is repeated only where that is safe (throttled, or not sent).
 * - A failed call always rejects with AwsError.
 */
export interface Cloud {
  call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>>;
}

/** The part of the port that changes nothing. Every Cloud satisfies it. */
export interface ReadOnlyCloud {
  call<O extends ReadOperation>(operation: O, input: Input<O>): Promise<Output<O>>;
}
