/** Which object something is about: as much of core/v1 ObjectReference as tells it from another one of its name. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** "" where it is not known. */
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface VersionedReference extends ObjectReference {
  /** Absent where the API server does not count. */
  readonly generation?: number;
}

/** What happened to an object, for whoever asks `kubectl describe`. */
export interface ObjectEvent {
  readonly regarding: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** A stable code in CamelCase. */
  readonly reason: string;
  /** What was tried, a code in CamelCase. */
  readonly action: string;
  readonly note: string;
}
