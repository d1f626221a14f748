import type { Operation } from './operations.ts';

/**
 * What AWS said no to, sorted by what can be done about it. Nobody looks at `awsCode` or at messages to decide.
 *
 * - throttled: too many requests; the edge has already retried
 * - unreachable: no answer, or one of the 5xx kind: nobody knows whether the call took effect
 * - credentials: there are none, or they have expired
 * - place: it is not known which region and VPC are the cluster's: nothing was asked
 * - denied: the IAM policy lacks the action
 * - notFound: what the call is about does not exist (any more)
 * - duplicate: it exists already, with other settings
 * - inUse: it is referenced by something that may go by itself (a listener, a network interface)
 * - protected: deletion protection is on
 * - quota: a quota of the account or of the resource is reached
 * - certificate: a certificate does not exist or cannot be used
 * - subnet: a subnet does not exist or cannot be used, also for lack of addresses
 * - invalid: the request itself was refused
 * - other: anything else
 */
export type AwsErrorCode =
  | 'throttled'
  | 'unreachable'
  | 'credentials'
  | 'place'
  | 'denied'
  | 'notFound'
  | 'duplicate'
  | 'inUse'
  | 'protected'
  | 'quota'
  | 'certificate'
  | 'subnet'
  | 'invalid'
  | 'other';

interface AwsErrorDetails {
  readonly code: AwsErrorCode;
  readonly operation: Operation;
  /** As AWS spells it: "ThrottlingException". "" where there was no answer. */
  readonly awsCode: string;
  /** "" where there was no answer. */
  readonly requestId: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** A call to AWS that did not succeed. */
export class AwsError extends Error {
  readonly code: AwsErrorCode;
  readonly operation: Operation;
  readonly awsCode: string;
  readonly requestId: string;

  constructor({ code, operation, awsCode, requestId, message, cause }: AwsErrorDetails) {
    super(message, { cause });
    this.name = 'AwsError';
    this.code = code;
    this.operation = operation;
    this.awsCode = awsCode;
    this.requestId = requestId;
  }
}

/** The same call may succeed later without anybody changing anything. */
export function isTransient(code: AwsErrorCode): boolean {
  return code === 'throttled' || code === 'unreachable' || code === 'inUse' || code === 'credentials' || code === 'place';
}
