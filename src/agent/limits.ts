/** Bounds of the agent, listed in docs/reference/limits.md. */
export const limits = {
  /** First and longest delay before the agent retries changes that the data plane did not take. */
  retryMinimumMilliseconds: 100,
  retryMaximumMilliseconds: 30_000,
  /**
   * Passes at once, and the interval at which one more is allowed after them. A pass has a cost of its own, so under steady changes each
   * pass takes several; kube-proxy waits a second between two.
   */
  passBurst: 10,
  passRefillMilliseconds: 100,
  /** Longest interval between two writes of an unchanged NodeState. The agent varies it at random. */
  reportEveryMilliseconds: 30_000,
  /** The same while the kubelet shows that the agent lives. Such a write repeats the last one, which changes nothing unless it was deleted. */
  reportRepeatMilliseconds: 1_800_000,
  /** Shortest interval between two writes of which frontends were answered, when nothing else has changed. The agent varies it at random. */
  answersEveryMilliseconds: 5_000,
  /** Delay between a change of a session or a Service and the write of the NodeState, so that a burst of changes causes one write. */
  reportPauseMilliseconds: 50,
  /** Writes of the NodeState at once, and the interval at which one more is allowed after them. */
  reportBurst: 10,
  reportRefillMilliseconds: 1_000,
  /** For each node of the cluster: the time over which agents spread a write that only acknowledges a change of their Node. */
  reportSpreadMilliseconds: 10,
  /**
   * For each node of the cluster: part of the interval at which the NodeState has new counts when nothing else has changed, and of the time
   * over which agents spread such a write.
   */
  detailsSpreadMilliseconds: 100,
  /** Services listed in a NodeState because their actual state differs from the decision. */
  differingServices: 100,
  /** Problems of the host that a NodeState lists. */
  hostReasons: 100,
  /** Rules of other programs that a NodeState lists as not judged. */
  undecidedFilters: 10,
  /** Kernel settings that the agent checks: two for each interface that clients may use, a few more, and one for each interface to endpoints as far as there is room. */
  hostSettings: 200,
  /** Time after the start of the host in which kube-proxy may install its rules before routes are announced without them. */
  foreignMilliseconds: 120_000,
  /** Pods of this node whose paths the agent checks, pods of other nodes (one of each node and family), other nodes with endpoints, and routers. */
  checkedPods: 500,
  /** Endpoints among which the agent looks for such pods. */
  checkedEndpoints: 20_000,
  /** Addresses of endpoints whose ways the agent follows. */
  wayEndpoints: 20_000,
  /** Addresses about which the agent asks the kernel in one turn, and the shortest time between two turns. */
  waysPerTurn: 500,
  wayTurnMilliseconds: 1_000,
  /** Delay between a change of routes or endpoints and the turn. A program changes several routes at once. */
  wayPauseMilliseconds: 200,
  /** Interval of the rounds, in which the agent looks at neighbours and again at routes without a reported change. */
  wayRoundMilliseconds: 30_000,
  /** Addresses without a reported change about which the agent asks in a round. */
  waysPerRound: 100,
  /** The same while a neighbour of an endpoint has failed. */
  wayRetryMilliseconds: 5_000,
  /** Time for which a neighbour counts as missing after its last failure. Nobody may send to it later. */
  wayFailureMilliseconds: 600_000,
  /** Clients without complete connections whose ways back the agent looks at, and the shortest time between two looks. */
  askedClients: 32,
  answerWayMilliseconds: 3_000,
  /** Endpoints that a node may probe (`checks: active`). */
  probedEndpoints: 20_000,
  /** Nodes that probe an endpoint, beside the one on which it runs. */
  probingNodes: 5,
  /** Connections that a node opens in one turn, the shortest time between two turns, and connections that may be open. */
  probesPerTurn: 5,
  probeTurnMilliseconds: 1_000,
  openProbes: 20,
  /** Longest interval between two probes of an endpoint that answers. */
  probeMilliseconds: 120_000,
  /** The same for one that does not: after the first failure, and after several. */
  probeRetryMilliseconds: 10_000,
  probeRetryMaximumMilliseconds: 300_000,
  /** Interval at which the agent reads the endpoints to probe, beside changes. */
  probeRefreshMilliseconds: 30_000,
  /** Time for a connection to be established, and for the other side to close it. */
  probeAnswerMilliseconds: 3_000,
  probeCloseMilliseconds: 3_000,
  /** Addresses of the host that a reason names. */
  namedAddresses: 4,
  /** Longest interval between two checks of the host. */
  hostCheckMilliseconds: 60_000,
  /** Interval at which the agent reads the kernel settings again. The kernel does not report changes of all of them. */
  forwardingCheckMilliseconds: 3_000,
  /** Pause between two readings of the settings because the kernel reported a change. */
  settingPauseMilliseconds: 250,
  /** Characters of an error that a problem of the host repeats. */
  hostErrorLength: 200,
  /**
   * Interval at which the agent lists the filters of other programs. While one of them is a problem, they are listed with every check of
   * forwarding.
   */
  filterCheckMilliseconds: 12_000,
  /** Number of links that a NodeState lists. */
  nodeLinks: 100,
  /** Numbers of interfaces, addresses of one interface, and routers that a NodeState lists. */
  nodeInterfaces: 100,
  interfaceAddresses: 100,
  routers: 100,
  /** Number of addresses that a NodeState lists as announced by ARP and NDP. */
  nodeClaims: 10_000,
  /** Interval at which the agent looks whether the candidates of its links notice each other's failures. */
  linkProblemMilliseconds: 5_000,
  /** Time for which a node reports that another one did not hear it. */
  disputeMilliseconds: 60_000,
  /** How long two nodes must say that they answer for an address before it is reported: a moving address has two owners for a moment. */
  twoOwnersMilliseconds: 5_000,
  /** Interval at which the agent looks for better placed nodes while an address waits to be given back to one (`failback: after`). */
  failbackCheckMilliseconds: 1_000,
  /** Interval at which the agent reads the links of the node while addresses are answered on links, beside the kernel's events. */
  linkCheckMilliseconds: 10_000,
  /** Time for which a node does not forward before it withdraws its routes. */
  holdBackMilliseconds: 10_000,
  /** Time for which a node forwards again before it announces its routes again. */
  resumeMilliseconds: 30_000,
  /** Listeners for health-check node ports: of 2768 NodePorts by default, each in both families and at several addresses. */
  healthCheckListeners: 12_000,
  /** Delay before the agent tries again to listen on a port. */
  listenRetryMilliseconds: 1_000,
  /** Bounds of one listener for health checks. Load balancers ask from a handful of addresses every few seconds. */
  healthConnections: 64,
  healthHeaderBytes: 8_192,
  healthAnswerMilliseconds: 4_000,
  healthIdleMilliseconds: 5_000,
  /** A working router answers with its OPEN at once. One that does not within this time drops our packets, and the status says so. */
  openHoldSeconds: 30,
  /**
   * After BFD lost the path to a peer, BGP waits this long, or less if BFD comes back earlier. A longer wait would not help: BGP cannot
   * come up over a broken path, and FRR runs BFD with a dynamic neighbour only while it has a BGP session with it.
   */
  bfdHoldMilliseconds: 1_000,
  /** Interval at which the agent reads why BFD cannot send or receive. */
  bfdPollMilliseconds: 10_000,
  /** While the node is drained: interval at which the agent checks the other nodes and counts the remaining connections. */
  nodeDrainPollMilliseconds: 5_000,
  /**
   * Before a permanent stop: the time that routers have to choose other paths. They learn of a change within a second or two; Kubernetes
   * waits 30 s before it kills the process.
   */
  gracefulShutdownMilliseconds: 5_000,
  /** A change that the data plane has not taken for this long makes /healthz and all health checks fail: twice kube-proxy's sync period. */
  syncMilliseconds: 60_000,
  /** Received routes that a node puts into its kernel. */
  receivedRoutes: 10_000,
  /** Time for which a session has been up when the peer has sent its routes. */
  receivedSettleMilliseconds: 10_000,
  /** Longest time for which received routes of an earlier process stay although no peer has sent them again. */
  receivedAdoptMilliseconds: 180_000,
  /** Time for which the agent remembers what became of connections. */
  evidenceMilliseconds: 600_000,
  /**
   * Time without an answer after which a frontend no longer counts as answered, where answers came often: three times their longest distance,
   * and at least this.
   */
  quietMilliseconds: 30_000,
  /** Time in which routers decide about routes that they have asked for. Answers of then still come by the old ones. */
  renewalMilliseconds: 2_000,
  /** Time after which the agent has read that a connection was refused. */
  refusalMilliseconds: 2_000,
  /** Connections that failed in another way for this long show that an earlier cause is gone. */
  kindMilliseconds: 30_000,
  /** Frontends, and pairs of a frontend and an endpoint, of which the agent remembers connections. */
  evidencePairs: 10_000,
  /** Pause between two judgements of what became of connections, unless a look has ended. */
  judgePauseMilliseconds: 1_000,
  /** Addresses and ports at which connections were answered that a NodeState lists. */
  answeredFrontends: 500,
  /** Ports of Services with endpoints that the node does not reach that a NodeState lists, once for each reason. */
  failingEndpoints: 100,
  /** For how long the agent relies on which endpoints clients use before it looks again. */
  knownEndpointsMilliseconds: 5_000,
  /** Interval at which the agent compares the connections of its uplinks, where it has several. */
  uplinkMilliseconds: 10_000,
  /** Endpoints that a reason names. */
  namedEndpoints: 3,
  /**
   * Bounds of one check of a Service (`herald check`): probes, probes that are open at once, time for one, silent or refused probes that are
   * followed up, and the TTLs and the time of such a follow-up.
   */
  checkProbes: 1_000,
  checkAtOnce: 32,
  checkMilliseconds: 3_000,
  checkFollowUps: 8,
  checkHops: 8,
  checkHopMilliseconds: 1_000,
  /** Large packets that are sent before they count as lost, time for each answer, and their largest size in octets. */
  checkPackets: 3,
  checkPacketMilliseconds: 700,
  checkPacketBytes: 9_216,
  /** Peers that a scrape has metrics of: as many as a speaker takes. */
  measuredPeers: 1_024,
  /** Milliseconds for which a count of connections by endpoint is used again. */
  tallyAge: 1_000,
  /** Milliseconds of pause for each millisecond that such a count takes, and the longest pause. */
  tallyPauseFactor: 10,
  tallyLongestPause: 2_000,
} as const;
