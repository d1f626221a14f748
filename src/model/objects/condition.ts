/** metav1.Condition without the field that its writer fills in (lastTransitionTime). */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** A stable code in CamelCase. */
  readonly reason: string;
  /** For people. That of a Service is one sentence without counts. */
  readonly message: string;
  /** The generation of the object that it is about; absent where the object has none. */
  readonly observedGeneration?: number;
}
