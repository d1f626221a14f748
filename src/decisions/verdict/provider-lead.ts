import type { Reason, ReasonCode } from '../../model/reasons.ts';

const exists = 'Its load balancer exists, but not as it asks';
const unseen = 'Not known whether its load balancer is as it asks';
const absent = 'Not served';

/** By these reasons nobody has looked at the load balancer. */
const unlooked: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'AwsSwitchedOff',
  'AwsOtherController',
  'AwsCallFailed',
  'AwsThrottled',
  'AwsCredentials',
  'AwsPlaceUnknown',
  'AwsPodsUnreadable',
]);

/** How the verdict begins on a Service that has the load balancer of a provider, and what keeps it from having what it asks for. */
export function leadOfLoadBalancer(because: Reason): string {
  const isRefusedRead = because.code === 'AwsRefused' && /:(?:Describe|List|Get)/.test(because.details.operation);
  return unlooked.has(because.code) || isRefusedRead ? unseen : exists;
}

/** Returns the recorded message of a condition as a verdict. Only records of earlier versions have no lead. */
export function withLead(message: string, hasLoadBalancer: boolean): string {
  if ([exists, unseen, absent].some((lead) => message.startsWith(`${lead}:`))) return message;
  return `${hasLoadBalancer ? exists : absent}: ${message}`;
}
