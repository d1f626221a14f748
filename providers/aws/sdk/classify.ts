import { AwsError, type AwsErrorCode } from '../cloud/error.ts';
import type { Operation } from '../cloud/operations.ts';
import { limits } from './limits.ts';
import { QueueFullError } from './token-bucket.ts';

/** What the SDK throws: a ServiceException, an error of a socket, or one of the chain of credentials. */
interface Thrown {
  readonly name?: unknown;
  /** Of AWS, as it spells it; the name is the SDK's. */
  readonly Code?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly requestId?: string; readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
}

/** Codes of AWS without the ending "Exception", which one of the two spellings of the SDK has. */
const byAwsCode: Readonly<Record<string, AwsErrorCode>> = {
  ...each('throttled', [
    'Throttling',
    'Throttled',
    'RequestLimitExceeded',
    'RequestThrottled',
    'TooManyRequests',
    'SlowDown',
    'BandwidthLimitExceeded',
    'PriorRequestNotComplete',
  ]),
  ...each('credentials', [
    'CredentialsProviderError',
    'TokenProviderError',
    'ExpiredToken',
    'InvalidClientTokenId',
    'InvalidIdentityToken',
    'InvalidAccessKeyId',
    'UnrecognizedClient',
    'SignatureDoesNotMatch',
    'InvalidSignature',
    'IncompleteSignature',
    'MissingAuthenticationToken',
    'RequestExpired',
    'RequestTimeTooSkewed',
    'AuthFailure',
  ]),
  ...each('denied', ['AccessDenied', 'UnauthorizedOperation', 'NotAuthorized', 'OptInRequired']),
  ...each('unreachable', [
    'InternalFailure',
    'InternalError',
    'InternalServerError',
    'InternalServer',
    'ServiceUnavailable',
    'Unavailable',
    'RequestTimeout',
    'TimeoutError',
  ]),
  ...each('notFound', [
    'LoadBalancerNotFound',
    'AccessPointNotFound',
    'ListenerNotFound',
    'TargetGroupNotFound',
    'PolicyNotFound',
    'ResourceNotFound',
    'AllocationIdNotFound',
  ]),
  ...each('duplicate', [
    'DuplicateLoadBalancerName',
    'DuplicateAccessPointName',
    'DuplicateListener',
    'DuplicateTargetGroupName',
    'DuplicatePolicyName',
    'InvalidGroup.Duplicate',
    'InvalidPermission.Duplicate',
  ]),
  ...each('inUse', ['ResourceInUse', 'DependencyViolation', 'InvalidGroup.InUse']),
  ...each('certificate', ['CertificateNotFound', 'UnsupportedCertificate', 'InvalidCertificate']),
  ...each('subnet', [
    'SubnetNotFound',
    'InvalidSubnet',
    'InvalidSubnetID.NotFound',
    'AvailabilityZoneNotSupported',
    'InsufficientFreeAddressesInSubnet',
  ]),
};

/** What one and the same code means depends on what was asked for. */
const byOperation: Readonly<Partial<Record<Operation, Readonly<Record<string, AwsErrorCode>>>>> = {
  // The only reason that AWS gives this answer to a deletion for.
  'elbv2:DeleteLoadBalancer': { OperationNotPermitted: 'protected' },
  // Registering one that does not exist is a mistake; one that shall go and is not there has gone.
  'elbv2:DeregisterTargets': { InvalidTarget: 'notFound' },
  'elb:DeregisterInstancesFromLoadBalancer': { InvalidInstance: 'notFound', InvalidEndPoint: 'notFound' },
};

/** No connection came about, so that nothing can have been done. */
const notSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const lost = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'EPROTO', 'CERT_HAS_EXPIRED']);

/** Whatever the SDK has thrown, as the error of our own port. */
export function classify(operation: Operation, thrown: unknown): AwsError {
  if (thrown instanceof AwsError) return thrown;
  const { name, Code, message, $metadata, $response } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Thrown;
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  const spelled = typeof Code === 'string' ? Code : name;
  const awsCode = typeof spelled === 'string' && spelled !== 'Error' ? spelled : '';
  return new AwsError({
    code: thrown instanceof QueueFullError ? 'throttled' : codeOf(operation, awsCode, status, socketCode(thrown)),
    operation,
    awsCode: status === undefined ? '' : awsCode,
    requestId: $metadata?.requestId ?? '',
    message: `${operation}: ${describe(awsCode, message).slice(0, limits.quoted)}`,
    cause: thrown,
  });
}

/** Nothing can have been done: it is safe to send the same again, whatever it is. */
export function wasNotSent(error: AwsError): boolean {
  return notSent.has(socketCode(error.cause));
}

function codeOf(operation: Operation, awsCode: string, status: number | undefined, socket: string): AwsErrorCode {
  if (notSent.has(socket) || lost.has(socket)) return 'unreachable';
  const short = awsCode.replace(/Exception$/, '');
  const known = byOperation[operation]?.[short] ?? byAwsCode[short];
  if (known !== undefined) return known;
  // Not an answer of AWS.
  if (status === undefined) return 'other';
  if (/LimitExceeded$|^TooMany|QuotaExceeded$|AssociationLimit$/.test(short)) return 'quota';
  if (short.endsWith('.NotFound')) return 'notFound';
  if (status === 429) return 'throttled';
  if (status >= 500) return 'unreachable';
  return status >= 400 ? 'invalid' : 'other';
}

/** Of Node ("ECONNREFUSED"); where both families were tried, that of the first attempt. */
function socketCode(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return '';
  const { code } = thrown as Thrown;
  if (typeof code === 'string') return code;
  return thrown instanceof AggregateError ? socketCode(thrown.errors[0]) : '';
}

function describe(awsCode: string, message: unknown): string {
  const text = typeof message === 'string' && message !== '' ? message : 'no answer that could be read';
  return awsCode === '' || text.startsWith(awsCode) ? text : `${awsCode}: ${text}`;
}

function each(code: AwsErrorCode, awsCodes: readonly string[]): Record<string, AwsErrorCode> {
  return Object.fromEntries(awsCodes.map((awsCode) => [awsCode, code]));
}
