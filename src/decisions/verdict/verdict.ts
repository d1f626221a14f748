import { defined } from '../../lang/defined.ts';
import type { Service } from '../../model/objects/service.ts';
import type { ReasonCode } from '../../model/reasons.ts';
import type { Cause } from './causes/causes.ts';
import { objectOfReason } from './object-of-reason.ts';
import { causeText, problemLine } from './verdict-text.ts';

/** Says if clients outside the cluster reach a Service, with the first cause if they do not, and the fix. Plain data. */
export interface Verdict {
  /**
   * served: connections to every target were answered in the last ten minutes, or the health checks of a cloud find targets of every port healthy. announced: nothing is known to prevent it, but no agent saw a
   * connection to some target. partly: clients of some targets or endpoints are not answered. unknown: no report says it, or an object could
   * not be read.
   */
  readonly outcome: 'served' | 'announced' | 'partly' | 'notServed' | 'unknown';
  /** The outcome, its cause and the fix. It contains no number that changes while the cause stays. */
  readonly line: string;
  /** The cause. A served Service has one when something that it asks for is missing although clients are answered. */
  readonly code?: ReasonCode;
  /** Why clients may get no answer, where nothing shows that they get none. `line` has it. Absent with a `code`. */
  readonly doubt?: ReasonCode;
  /** The object to change: "IPAddressPool/public". */
  readonly object?: string;
  /** The field to change: "spec.addresses". */
  readonly field?: string;
  /** The action that helps, as an imperative. */
  readonly fix?: string;
}

/** Builds a verdict from its causes, the first of which decides. `nodes`: how many nodes there are. */
export function verdictOf(service: Service, outcome: Verdict['outcome'], lead: string, causes: readonly Cause[], nodes: number): Verdict {
  const [first] = causes;
  if (first === undefined) return { outcome, line: `${lead}.` };
  const { line, fix } = problemLine(lead, causeText(causes, nodes), first.reason);
  return { outcome, line, code: first.reason.code, ...objectOfReason(service, first.reason), ...defined({ fix }) };
}
