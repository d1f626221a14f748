import type { ObjectEvent, ObjectReference } from '../../model/objects/object-event.ts';
import type { Service } from '../../model/objects/service.ts';
import { eventTable, type EventName } from './event-table.ts';

/** Builds an Event. `code`: its reason, when the table gives none. */
export function objectEvent(name: EventName, regarding: ObjectReference, note: string, code?: string): ObjectEvent {
  const { type, action, ...kind } = eventTable[name];
  const reason = 'reason' in kind ? kind.reason : (code ?? name);
  return { regarding, type, reason, action, note };
}

export function serviceReference({ metadata: { namespace, name, uid, resourceVersion } }: Service): ObjectReference {
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion };
}
