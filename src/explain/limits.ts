/** Bounds of what an explanation holds. Listed in docs/reference/limits.md. */
export const limits = {
  /** Pods of a Service for which the explanation says why they are not ready endpoints. */
  pods: 20,
  /** Services that an explanation of a pool, a peer or a node lists. */
  services: 100,
  /** Rows of a table of routes. */
  routes: 10_000,
  /** Rows of a table of endpoints. */
  endpointRows: 10_000,
  /** Services that one row of a route table names. */
  servicesOfRoute: 10,
  /** Names that a line of `herald status` lists. */
  names: 5,
  /** Seconds after which connections that failed are told of in the past tense. Agents may look every 30 s only, and after a failure is certain. */
  presentSeconds: 90,
  /** Processes whose earlier entries `herald history --watch` remembers. */
  followedProcesses: 400,
} as const;
