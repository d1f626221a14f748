import { reason, type Reason } from '../../../src/model/reasons.ts';
import { AwsError, type AwsErrorCode } from './error.ts';

/** Errors that remain until a user or an AWS administrator changes something. */
const refusals: ReadonlySet<AwsErrorCode> = new Set(['denied', 'protected', 'quota', 'certificate', 'subnet', 'invalid']);

/** Turns the error of an AWS call into the reason that users see. */
export function reasonOfError({
  code,
  operation,
  awsCode,
  message,
  requestId,
  reason: given,
}: Pick<AwsError, 'code' | 'operation' | 'awsCode' | 'message' | 'requestId'> & Partial<Pick<AwsError, 'reason'>>): Reason {
  if (given !== undefined) return given;
  if (code === 'credentials') return reason('AwsCredentials', { message });
  if (code === 'place') return reason('AwsPlaceUnknown', { message });
  if (code === 'pods') return reason('AwsPodsUnreadable', { message });
  const details = { operation, awsCode, message, requestId };
  if (code === 'throttled') return reason('AwsThrottled', details);
  if (code === 'inUse') return reason('AwsInUse', { ...details, holders: '' });
  return refusals.has(code) ? reason('AwsRefused', { ...details, kind: code }) : reason('AwsCallFailed', details);
}

/** Returns the reason for an AwsError, and throws every other error again. */
export function reasonOfThrown(error: unknown): Reason {
  if (!(error instanceof AwsError)) throw error;
  return reasonOfError(error);
}
