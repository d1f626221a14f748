import type { Condition } from '../../model/objects/condition.ts';
import type { ObjectEvent, ObjectReference } from '../../model/objects/object-event.ts';
import { objectEvent } from '../events/object-event.ts';

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
  // A refused object is never ready, so that needs no second Event.
  if (ready.status === 'False' && working?.status === 'True' && ready.reason !== accepted.reason)
    events.push(objectEvent('notReady', regarding, ready.message, ready.reason));
  if (ready.status === 'True' && working?.status === 'False') events.push(objectEvent('ready', regarding, ready.message));
  return events;
}
