import type { Reason } from '../../../src/model/reasons.ts';
import type { Operation } from './operations.ts';

/**
 * Why a call to AWS failed, grouped by what can be done about it. Decisions use only this code, never `awsCode` or a message.
 *
 * - throttled: too many requests; the edge has already retried
 * - unreachable: no answer, or a 5xx answer; it is unknown whether the call took effect
 * - credentials: credentials are missing or have expired
 * - place: the region or VPC of the cluster is unknown, so AWS was not called
 * - pods: a Pod behind a Service could not be read, so AWS was not called
 * - otherCluster: another cluster has the name of this one, so AWS was not called
 * - denied: the IAM policy lacks the action
 * - notFound: the resource of the call does not exist (any more)
 * - duplicate: the resource exists already, with other settings
 * - inUse: another resource (a listener, a network interface) still refers to it, or AWS still works on it; this may end by itself
 * - protected: deletion protection is on
 * - quota: a quota of the account or of the resource is reached
 * - certificate: a certificate does not exist or cannot be used
 * - subnet: a subnet does not exist, or cannot be used, for example because it has too few free addresses
 * - invalid: AWS refused the request itself
 * - other: anything else
 */
export type AwsErrorCode =
  | 'throttled'
  | 'unreachable'
  | 'credentials'
  | 'place'
  | 'pods'
  | 'otherCluster'
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
  /** AWS' own code, such as "ThrottlingException". "" without an answer. */
  readonly awsCode: string;
  /** "" without an answer. */
  readonly requestId: string;
  readonly message: string;
  readonly cause?: unknown;
  /** The reason that users see. Absent: it follows from the code. */
  readonly reason?: Reason;
}

/** A failed call to AWS. */
export class AwsError extends Error {
  readonly code: AwsErrorCode;
  readonly operation: Operation;
  readonly awsCode: string;
  readonly requestId: string;
  readonly reason: Reason | undefined;

  constructor({ code, operation, awsCode, requestId, message, cause, reason }: AwsErrorDetails) {
    super(message, { cause });
    this.name = 'AwsError';
    this.code = code;
    this.operation = operation;
    this.awsCode = awsCode;
    this.requestId = requestId;
    this.reason = reason;
  }
}

/** Resolves to undefined if AWS answers with an error that `isExpected`, by default any. */
export async function unlessFailed<T>(
  ask: () => Promise<T>,
  isExpected: (error: AwsError) => boolean = () => true,
): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AwsError && isExpected(error)) return undefined;
    throw error;
  }
}

/** True if the same call may succeed later without any change by a user. */
export function isTransient(code: AwsErrorCode): boolean {
  return (
    code === 'throttled' || code === 'unreachable' || code === 'inUse' || code === 'credentials' || code === 'place' || code === 'pods'
  );
}

/**
 * A call was not made, because this controller is stopping or leads no more. That is no failure of AWS, so it is reported nowhere: the next
 * controller makes the call.
 */
export class StoppedError extends Error {
  readonly code = 'stopping';

  constructor(message: string) {
    super(message);
    this.name = 'StoppedError';
  }
}
