import { isUnserved, reason, reasonText, tellsUnserved, type ReasonCode } from '../../model/reasons.ts';
import { problemLine, withLead } from '../../decisions/verdict/verdict-text.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import { withoutPoolRecord } from '../../model/objects/pool-record.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceExplanation } from './service.ts';

/**
 * Returns the verdict of a Service that a provider with resources outside Kubernetes serves, or that some provider serves which is not known
 * here, as when the caller may not read HeraldConfig: the recorded refusal, what the Service itself lacks, what the provider has seen, else its
 * addresses. `knowsEndpoints`: EndpointSlices were read. Undefined: the pools or another program serve it.
 */
export function providerVerdict(explanation: ProvidedService, knowsEndpoints: boolean): Verdict | undefined {
  const { service, type, provider, record, endpoints, status = [] } = explanation;
  const name = provider?.provider;
  if (type !== 'LoadBalancer' || name === 'bare-metal' || (name === undefined && provider?.isUnnamed !== true)) return undefined;
  const conditions = record?.conditions ?? [];
  const seen = provider?.preview?.seen;
  const refusal = recorded(conditions, 'False').find((one) => name === undefined || one.type === 'herald.dev/AddressAssigned');
  if (refusal !== undefined && seen !== undefined) {
    const isServed = seen.outcome === 'served' || seen.outcome === 'announced';
    return { ...seen, line: `${seen.line} ${refusal.message}`, ...(isServed ? { code: refusal.reason as ReasonCode } : {}) };
  }
  if (refusal !== undefined) {
    const isPools = refusal.type !== 'herald.dev/AddressAssigned';
    return {
      outcome: status.length > 0 && !isPools ? 'unknown' : 'notServed',
      line: isPools ? refusal.message : withLead(withoutPoolRecord(refusal.message), status.length > 0),
      code: refusal.reason as ReasonCode,
    };
  }
  const by = name === undefined ? "the controller's provider" : `provider ${name}`;
  if (status.length === 0) return { outcome: 'notServed', line: `Not served: ${by} has given it no address yet.`, code: 'NoAddress' };
  if (knowsEndpoints && endpoints.ready + endpoints.terminating === 0) {
    const because = reason('NoEndpoints', { endpoints: endpoints.unusable });
    const { line, fix } = problemLine('Not served', reasonText(because), because);
    return { outcome: 'notServed', line, code: 'NoEndpoints', object: `Service/${service}`, ...(fix === undefined ? {} : { fix }) };
  }
  const unserved = unservedVerdict(explanation);
  if (unserved !== undefined) return unserved;
  if (seen !== undefined) return { ...seen, object: `Service/${service}` };
  const at = status.join(' and ');
  // Only the pools have nodes announce an address.
  if (name === undefined && recorded(conditions, 'True').some((one) => one.type === 'herald.dev/Announced'))
    return {
      outcome: 'announced',
      line: `Announced, not checked: ${at}, as the controller recorded; what nodes and routers do cannot be read here.`,
    };
  return { outcome: 'unknown', line: `Announced, not checked: ${by} serves it at ${at} and decides where connections go.` };
}

/** What the verdict takes of an explanation. */
type ProvidedService = Pick<ServiceExplanation, 'service' | 'type' | 'provider' | 'record' | 'endpoints' | 'status'>;

/** Undefined unless the provider, or else its record, says why nobody answers clients. */
function unservedVerdict({ service, provider, record }: ProvidedService): Verdict | undefined {
  const object = `Service/${service}`;
  const preview = provider?.preview?.failed === undefined ? provider?.preview : undefined;
  const because = preview?.reasons.find(isUnserved);
  if (because !== undefined) {
    const { line, fix } = problemLine('Not served', reasonText(because), because);
    return { outcome: 'notServed', line, code: because.code, object, ...(fix === undefined ? {} : { fix }) };
  }
  if (preview !== undefined) return undefined;
  const noted = recorded(record?.conditions ?? [], 'True').find(({ reason: code }) => tellsUnserved(code));
  return noted === undefined ? undefined : { outcome: 'notServed', line: noted.message, code: noted.reason as ReasonCode, object };
}

const recorded = (conditions: readonly Condition[], status: string): readonly Condition[] =>
  conditions.filter((one) => one.type.startsWith('herald.dev/') && one.status === status);
