/** Bounds of the agent. Listed in docs/reference/limits.md. */
export const limits = {
  /** First and longest wait before changes that the data plane did not take are tried again. */
  retryMinimumMilliseconds: 100,
  retryMaximumMilliseconds: 30_000,
  /** A NodeState without news is written this often at most, with jitter. */
  reportEveryMilliseconds: 30_000,
  /** News of a session or a Service is written after this pause, so that a burst of it is one write. */
  reportPauseMilliseconds: 50,
  /** Services listed in a NodeState because their actual state differs from the decision. */
  differingServices: 100,
  /** What a NodeState says of the host itself. */
  hostReasons: 100,
  /** Settings of the kernel that are looked at: two for each interface that clients may come by, and a few. */
  hostSettings: 200,
  /** After the start of the host, kube-proxy is given this long to show its rules before routes go out without them. */
  foreignMilliseconds: 120_000,
  /** Longest time between two looks at the host. */
  hostCheckMilliseconds: 60_000,
  /** Listeners for health-check node ports: the default range of NodePorts has 2768, and each may be of both families, and of several addresses. */
  healthCheckListeners: 6_000,
  /** Pause before a port that could not be listened on is tried again. */
  listenRetryMilliseconds: 1_000,
  /** Of one listener of health checks. Load balancers ask from a handful of addresses every few seconds. */
  healthConnections: 64,
  healthHeaderBytes: 8_192,
  healthRequestMilliseconds: 4_000,
  healthIdleMilliseconds: 5_000,
  /** A router answers with its OPEN at once: one that does not for this long drops what we send, and the status has to say so. */
  openHoldSeconds: 30,
  /**
   * After BFD has lost the way to a peer, BGP waits this long, unless BFD is back before. Longer would help nobody: BGP cannot come up over a
   * way that is still broken, and FRR has BFD with a dynamic neighbour only while it has BGP with it.
   */
  bfdHoldMilliseconds: 1_000,
  /** Pause between two looks at what keeps BFD from sending or receiving. */
  bfdPollMilliseconds: 10_000,
  /** While the node is drained: pause between two looks at other nodes, and at the connections that are left. */
  nodeDrainPollMilliseconds: 5_000,
  /** Before a stop for good: time that routers have to choose other ways. Routers hear of a change within a second or two; Kubernetes waits 30 s. */
  gracefulShutdownMilliseconds: 5_000,
  /** A change that the data plane has not taken for this long makes /healthz and all health checks fail: twice kube-proxy's sync period. */
  syncMilliseconds: 60_000,
  /** Peers whose figures a scrape has: as many as a speaker takes. */
  measuredPeers: 256,
} as const;
