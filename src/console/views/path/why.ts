import { reasonText, remedyText, type Reason } from '../../../model/reasons.ts';
import type { Health, Why } from '../../contract.ts';

export function whyOf(because: Reason): Why {
  return { code: because.code, text: reasonText(because), fix: remedyText(because) };
}

/** Returns reasons in words, each once. */
export function whysOf(reasons: readonly Reason[]): Why[] {
  const found = new Map(reasons.map((one) => [JSON.stringify(one), whyOf(one)]));
  return [...found.values()];
}

/** Reasons that say that the state is not known. */
const uncertain = new Set<string>(['AgentSilent', 'AgentOtherVersion', 'Undecided']);

export function healthOf(reasons: readonly Reason[]): Health {
  if (reasons.length === 0) return 'good';
  return reasons.every(({ code }) => uncertain.has(code)) ? 'unknown' : 'bad';
}
