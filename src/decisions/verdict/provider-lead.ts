import { findEntry, type Reason } from '../../model/reasons.ts';

const exists = 'Its load balancer exists, but not as it asks';
const unseen = 'Not known whether its load balancer is as it asks';
const absent = 'Not served';

/** How the verdict begins on a Service that has the load balancer of a provider, and what keeps it from having what it asks for. */
export function leadOfLoadBalancer(because: Reason): string {
  return findEntry(because.code)?.unseen?.(because.details as never) === true ? unseen : exists;
}

/** Returns the recorded message of a condition as a verdict. Only records of earlier versions have no lead. */
export function withLead(message: string, hasLoadBalancer: boolean): string {
  if ([exists, unseen, absent].some((lead) => message.startsWith(`${lead}:`))) return message;
  return `${hasLoadBalancer ? exists : absent}: ${message}`;
}
