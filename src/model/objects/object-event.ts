import type { ObjectName } from './metadata.ts';

/** Identifies the object of an Event: the fields of core/v1 ObjectReference that distinguish it from another object of the same name. */
export interface ObjectReference extends ObjectName {
  /** "" when unknown. */
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface VersionedReference extends ObjectReference {
  /** Absent when the API server does not count. */
  readonly generation?: number;
}

/** An Event about an object, shown by `kubectl describe`. */
export interface ObjectEvent {
  readonly regarding: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** A stable code in CamelCase. */
  readonly reason: string;
  /** The attempted action, a code in CamelCase. */
  readonly action: string;
  readonly note: string;
}
