/** A resource of a provider outside Kubernetes, on the way of connections: from load balancers over listeners and target groups to targets. */
export interface OutsideResource {
  /** Unique among all resources of the provider, such as an ARN. */
  readonly id: string;
  readonly kind: 'loadBalancer' | 'listener' | 'targetGroup' | 'target';
  readonly name: string;
  /** Further facts for people. */
  readonly detail: string;
  /**
   * - good: connections pass
   * - doubtful: some do not
   * - bad: none does
   * - unknown: the provider cannot say yet
   * - off: none is meant to
   */
  readonly health: 'good' | 'doubtful' | 'bad' | 'unknown' | 'off';
  /** Why it is not good. */
  readonly why?: string;
  /** IDs of the resources to which it sends. */
  readonly to: readonly string[];
}
