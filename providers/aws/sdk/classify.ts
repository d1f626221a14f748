import { AwsError, StoppedError, type AwsErrorCode } from '../cloud/error.ts';
import type { Operation } from '../cloud/operations.ts';
import { limits } from './limits.ts';
import { QueueFullError } from './token-bucket.ts';

/** An error that the SDK throws: a ServiceException, a socket error, or an error of the credential chain. */
interface Thrown {
  readonly name?: unknown;
  /** AWS' own code. `name` is the SDK's. */
  readonly Code?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly requestId?: string; readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
}

/** AWS codes without the ending "Exception". Only one of the SDK's two spellings has that ending. */
const byAwsCode: Readonly<Record<string, AwsErrorCode>> = {
  ...each('throttled', [
    'Throttling',
    'Throttled',
    'RequestLimitExceeded',
    'RequestThrottled',
    'TooManyRequests',
    'SlowDown',
    'BandwidthLimitExceeded',
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
  // PriorRequestNotComplete, CapacityReservationPending: AWS is still working on the previous reservation. The last: clients are connected to an endpoint service.
  ...each('inUse', [
    'ResourceInUse',
    'DependencyViolation',
    'InvalidGroup.InUse',
    'PriorRequestNotComplete',
    'CapacityReservationPending',
    'ExistingVpcEndpointConnections',
  ]),
  ...each('quota', ['InsufficientCapacity']),
  ...each('certificate', ['CertificateNotFound', 'UnsupportedCertificate', 'InvalidCertificate']),
  ...each('subnet', [
    'SubnetNotFound',
    'InvalidSubnet',
    'InvalidSubnetID.NotFound',
    'AvailabilityZoneNotSupported',
    'InsufficientFreeAddressesInSubnet',
  ]),
};

/** Codes whose meaning depends on the operation. */
const byOperation: Readonly<Partial<Record<Operation, Readonly<Record<string, AwsErrorCode>>>>> = {
  // For this operation, AWS returns the code only because of deletion protection.
  'elbv2:DeleteLoadBalancer': { OperationNotPermitted: 'protected' },
  // Registering a missing target is a mistake. Deregistering a missing target has nothing left to do.
  'elbv2:DeregisterTargets': { InvalidTarget: 'notFound' },
  'elb:DeregisterInstancesFromLoadBalancer': { InvalidInstance: 'notFound', InvalidEndPoint: 'notFound' },
};

/** Socket errors without a connection, so the request had no effect. */
const notSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const lost = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'EPROTO', 'CERT_HAS_EXPIRED']);

/**
 * Converts any error of the SDK to AwsError. A request that was not sent because Herald is stopping is no failure: throws its error again.
 */
export function classify(operation: Operation, thrown: unknown): AwsError {
  if (thrown instanceof StoppedError) throw thrown;
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

/** True if the request had no effect because it was never sent. Any operation may then be repeated. */
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

/** Returns Node's code, such as "ECONNREFUSED". If both address families were tried, the code of the first attempt. */
function socketCode(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return '';
  const { code } = thrown as Thrown;
  if (typeof code === 'string') return code;
  return thrown instanceof AggregateError ? socketCode(thrown.errors[0]) : '';
}

function describe(awsCode: string, message: unknown): string {
  const text = typeof message === 'string' && message !== '' ? message : 'no readable answer';
  return awsCode === '' || text.startsWith(awsCode) ? text : `${awsCode}: ${text}`;
}

function each(code: AwsErrorCode, awsCodes: readonly string[]): Record<string, AwsErrorCode> {
  return Object.fromEntries(awsCodes.map((awsCode) => [awsCode, code]));
}
