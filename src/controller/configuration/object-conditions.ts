import type { ObjectStatus } from '../../decisions/configuration/object-status.ts';
import type { Condition } from '../../model/objects/condition.ts';
import { conditionText, remedyText, reasonText, type Reason } from '../../model/reasons.ts';

/**
 * Returns the conditions Accepted and Ready. Accepted has the full sentence and the fix, which change only with the objects. Ready has the
 * brief text without current counts.
 */
export function objectConditions({ refused, unready }: ObjectStatus, generation: number | undefined): readonly [Condition, Condition] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return [
    refused === undefined
      ? { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The object is valid and in force', ...observed }
      : { type: 'Accepted', status: 'False', reason: refused.code, message: sentence(refused), ...observed },
    unready === undefined
      ? { type: 'Ready', status: 'True', reason: 'Ready', message: 'The object does what it is there for', ...observed }
      : { type: 'Ready', status: 'False', reason: unready.code, message: conditionText(unready), ...observed },
  ];
}

function sentence(refused: Reason): string {
  const remedy = remedyText(refused);
  return remedy === '' ? reasonText(refused) : `${reasonText(refused)} (${remedy})`;
}
