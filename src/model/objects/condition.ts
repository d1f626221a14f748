/** metav1.Condition without lastTransitionTime, which its writer fills in. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** A stable code in CamelCase. */
  readonly reason: string;
  /** Text for people. The message of a Service's condition is one sentence without counts. */
  readonly message: string;
  /** The generation of the object that the condition refers to. Absent when the object has none. */
  readonly observedGeneration?: number;
}
