import { problemLine } from '../../decisions/verdict/verdict-text.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import type { LiveProcess, RefusedStatuses } from '../../live/contract.ts';
import { reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { ServiceExplanation } from './service.ts';

/** `who`: "the controller herald-controller-0". */
export function statusRefusal(who: string, { services, names: [service = ''], problem }: RefusedStatuses): Reason {
  return reason('StatusWriteRefused', { process: who, services, service, problem });
}

/**
 * Returns the verdict of a Service without an address whose status a controller says it may not write. Undefined: none says so of this
 * Service.
 */
export function refusedVerdict(
  { service, status = [] }: Pick<ServiceExplanation, 'service' | 'status'>,
  processes: readonly { readonly who: string; readonly process: LiveProcess }[],
): Verdict | undefined {
  if (status.length > 0) return undefined;
  const found = processes.find(({ process }) => process.refused?.names.includes(service));
  const { who, process: { refused } = {} } = found ?? {};
  if (who === undefined || refused === undefined) return undefined;
  const because = statusRefusal(who, { ...refused, services: 1, names: [service] });
  const { line, fix } = problemLine('Not served', reasonText(because), because);
  return { outcome: 'notServed', line, code: because.code, object: who, ...(fix === undefined ? {} : { fix }) };
}
