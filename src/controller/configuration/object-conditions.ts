import type { ObjectStatus } from '../../decisions/configuration/object-status.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ObjectEvent, ObjectReference } from '../../model/objects/object-event.ts';
import { conditionText, remedyText, reasonText, type Reason } from '../../model/reasons.ts';
import { objectEvent } from '../events/object-event.ts';

/** Returns Accepted, with the full sentence and the fix, which change only with the objects, and Ready, brief, without counts. */
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

/** Returns the Events to record when the conditions of a configuration object change from `before`. */
export function objectEvents(
  regarding: ObjectReference,
  before: readonly Condition[],
  [accepted, ready]: readonly [Condition, Condition],
): ObjectEvent[] {
  const was = ({ type }: Condition): Condition | undefined => before.find((condition) => condition.type === type);
  const events: ObjectEvent[] = [];
  const [accepting, working] = [was(accepted), was(ready)];
  if (accepted.status === 'False' && accepting?.reason !== accepted.reason)
    events.push(objectEvent('refused', regarding, accepted.message, accepted.reason));
  if (accepted.status === 'True' && accepting?.status === 'False') events.push(objectEvent('accepted', regarding, accepted.message));
  const isOtherTrouble = ready.status === 'False' && working !== undefined && working.reason !== ready.reason;
  // A refused object is never ready, so that needs no second Event.
  if (isOtherTrouble && ready.reason !== accepted.reason) events.push(objectEvent('notReady', regarding, ready.message, ready.reason));
  if (ready.status === 'True' && working?.status === 'False') events.push(objectEvent('ready', regarding, ready.message));
  return events;
}

function sentence(refused: Reason): string {
  const remedy = remedyText(refused);
  return remedy === '' ? reasonText(refused) : `${reasonText(refused)} (${remedy})`;
}
