import { reasonEntry } from '../../../../src/model/reasons/entry.ts';
import { lastingMessage } from './message.ts';

export interface FailedCall {
  readonly operation: string;
  readonly awsCode: string;
  readonly message: string;
  readonly requestId: string;
}

const requestOf = ({ requestId }: FailedCall): string => (requestId === '' ? '' : ` (request ${requestId})`);

/** The fix by category of AWS error. */
const remedies: Readonly<Record<string, string>> = {
  denied: 'give the controller the IAM policy that `herald aws iam-policy` prints, and the resource the tag that its conditions require',
  quota: 'ask AWS for a higher quota, or delete what is not used',
  certificate: 'name a certificate that exists in the region and is issued',
  subnet: 'name subnets that exist and have free addresses',
  inUse: 'remove what still uses it: a rule, a network interface or a load balancer that Herald did not make',
};

const held = (holders: string): string => (holders === '' ? '' : ` (${holders})`);

export interface InUse extends FailedCall {
  /** What has the addresses, "" when that is not known. */
  readonly holders: string;
  /** The load balancer that serves the Service and has them. Absent: another one has, or none. */
  readonly former?: string;
}

function waysOut({ operation, holders, former }: InUse): string {
  if (former !== undefined)
    return `${former} serves the Service until the new load balancer does, so they cannot move at once: remove the annotation with them, wait until ${former} is deleted, then add it again; zones then change one after the other, which needs a second zone`;
  if (holders !== '')
    return 'release the address there, or name another one; if another load balancer of Herald has it and waits for this one, recreate its Service or give this one other addresses';
  return operation === 'elbv2:DeleteLoadBalancer'
    ? 'delete what uses the load balancer: a VPC link of API Gateway, or an endpoint service that Herald did not make'
    : `${remedies['inUse'] ?? ''}, if it does not end by itself`;
}

/** Reasons why a call to AWS was not made, failed or had no effect. */
export const awsCallReasons = {
  AwsCallFailed: reasonEntry({
    unseen: () => true,
    brief: 'A call to AWS failed',
    says: (d: FailedCall) => `${d.operation} failed: ${d.awsCode === '' ? 'no answer' : d.awsCode}: ${d.message}${requestOf(d)}`,
    // Without the call: which one fails first differs each time.
    lasting: (d) => `calls to AWS fail (${d.awsCode === '' ? 'no answer' : d.awsCode}); the controller logs which`,
    fix: () => 'Herald retries at growing intervals of at most 2 minutes',
  }),
  AwsInUse: reasonEntry({
    brief: 'AWS refuses a call because something is in use',
    says: (d: InUse) => `${d.operation} waits for something that is in use: ${d.awsCode}: ${d.message}${requestOf(d)}${held(d.holders)}`,
    lasting: (d) =>
      `${d.operation} waits for something that is in use: ${d.awsCode}: ${lastingMessage(d.message, d.operation, d.awsCode)}${held(d.holders)}`,
    fix: (d) => `${waysOut(d)}; Herald retries at growing intervals of at most 2 minutes`,
  }),
  AwsThrottled: reasonEntry({
    unseen: () => true,
    brief: 'AWS asks to slow down',
    says: (d: FailedCall) => `${d.operation} was throttled: ${d.awsCode}: ${d.message}${requestOf(d)}`,
    lasting: () => 'AWS throttles calls of the controller',
    fix: () => 'Herald retries at growing intervals of at most 5 minutes; other users of the account share its limits',
  }),
  AwsRefused: reasonEntry({
    unseen: (d) => /:(?:Describe|List|Get)/.test(d.operation),
    brief: 'AWS refuses a call',
    says: (d: FailedCall & { readonly kind: string }) =>
      `${d.operation} was refused (${d.kind}): ${d.awsCode}: ${d.message}${requestOf(d)}`,
    lasting: (d) => `AWS refuses ${d.operation} (${d.kind}): ${d.awsCode}: ${lastingMessage(d.message, d.operation, d.awsCode)}`,
    fix: (d) =>
      `${remedies[d.kind] ?? 'correct what the Service asks for'}; Herald retries when the Service changes, and at least every 10 minutes`,
  }),
  AwsWithoutEffect: reasonEntry({
    brief: 'AWS does not show the effect of a change',
    says: (d: { readonly operation: string; readonly what: string; readonly object: string; readonly times: number }) =>
      `${d.operation} (${d.what}${d.object === '' ? '' : `: ${d.object}`}) succeeded ${d.times} times in a row, and AWS does not show its effect`,
    fix: (d) =>
      `${/:Create/.test(d.operation) ? 'the resource exists without the tag herald.dev/cluster: restore the tag, or delete the resource' : 'another program changes it back, or AWS does not support it: stop the program, or change the setting'}; Herald tries again when the Service or the resource changes`,
  }),
  AwsCredentials: reasonEntry({
    unseen: () => true,
    brief: 'Herald has no credentials that AWS accepts',
    says: (d: { readonly message: string }) => `AWS was not called, or rejected the credentials: ${d.message}`,
    // Without the operation of the message: which one fails first differs each time.
    lasting: (d) => `AWS was not called, or rejected the credentials: ${lastingMessage(d.message.replace(/^\w+:\w+: /, ''))}`,
    fix: () =>
      'give the controller an IAM role (IRSA or EKS Pod Identity); on a terminal set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  }),
};
