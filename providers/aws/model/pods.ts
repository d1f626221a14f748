/** Reads Pods one by one. A watch would cost memory and traffic for all Pods of the cluster, of which few are targets. */
export interface PodReader {
  /** Resolves to undefined when there is no such Pod. Rejects with an error that has a `code` when Pods cannot be read now. */
  read(namespace: string, name: string): Promise<TargetPod | undefined>;
}

/** The fields of a Pod that show whether an address is its own. */
export interface TargetPod {
  readonly addresses: readonly string[];
  /** "" before the Pod is scheduled. */
  readonly node: string;
  /** A Pod that has Succeeded or Failed keeps its addresses in its status, but another Pod may have them already. */
  readonly phase: string;
}
