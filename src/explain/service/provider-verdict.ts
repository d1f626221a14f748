import type { ReasonCode } from '../../model/reasons.ts';
import { withLead } from '../../decisions/verdict/verdict-text.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import type { ServiceExplanation } from './service.ts';

/**
 * Returns the verdict of a Service that a provider with resources outside Kubernetes serves: its recorded refusal, else its addresses.
 * Herald does not see whether clients are answered there. Undefined: the pools or another program serve it.
 */
export function providerVerdict({ type, provider, record, status = [] }: ServiceExplanation): Verdict | undefined {
  const name = provider?.provider;
  if (type !== 'LoadBalancer' || name === 'bare-metal' || (name === undefined && provider?.isUnnamed !== true)) return undefined;
  const by = name === undefined ? "the controller's provider" : `provider ${name}`;
  const refusal = record?.conditions.find((one) => one.type === 'herald.dev/AddressAssigned' && one.status === 'False');
  if (refusal !== undefined) {
    return {
      outcome: status.length > 0 ? 'unknown' : 'notServed',
      line: withLead(refusal.message, status.length > 0),
      code: refusal.reason as ReasonCode,
    };
  }
  if (status.length > 0)
    return { outcome: 'unknown', line: `Served by ${by} at ${status.join(' and ')}, which decides where connections go.` };
  return { outcome: 'notServed', line: `Not served: ${by} has given it no address yet.`, code: 'NoAddress' };
}
