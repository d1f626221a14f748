/** Quotas of AWS that are checked before a call, and our own limits. Listed in docs/reference/limits.md. */
export const limits = {
  /** Policies of HeraldConfig, and entries in one list of a policy. The API server bounds the cost of checking all of them. */
  policies: 50,
  allowedPerList: 100,
  listenersPerNlb: 50,
  certificatesPerNlb: 25,
  targetGroupsPerListener: 5,
  targetsPerTargetGroup: 1000,
  targetsPerNlb: 3000,
  /** Of one NLB in one zone. With cross-zone load balancing it is the quota of the whole NLB. A target of several ports counts for each. */
  targetsPerZone: 500,
  listenersPerClassic: 100,
  instancesPerClassic: 1000,
  rulesPerSecurityGroup: 60,
  securityGroupsPerLoadBalancer: 5,
  tagsPerResource: 50,
  /** Targets or instances in one call. */
  registrationBatch: 200,
  /** Calls by which the entries of one refused call are found that AWS refuses: eight of 200 take some 50. */
  dividedCalls: 64,
  /** Targets that a message names. */
  shownTargets: 5,
  /** A zone that AWS refuses because something is in use is tried this long before it returns to what it was. */
  zoneInUseSeconds: 60,
  /** A zone that AWS refuses, and that serves as it was, is left again this much later, then at doubling intervals. */
  zoneRetrySeconds: 3600,
  zoneRetryMaximumSeconds: 86_400,
  /** Resources in one request for tags, when the account is scanned (AWS allows 20). */
  tagBatch: 20,
  /** How often the last targets of a Service are looked at while they stay: an address may pass to another Pod. */
  lastTargetCheckSeconds: 30,
  /** How long a new resource may be missing from AWS' lists. */
  visibilitySeconds: 60,
  /** Time between two polls of something that AWS is working on, to the first of them, and between two checks for drift. */
  pollSeconds: 5,
  firstPollSeconds: 1,
  driftSeconds: 300,
  /** Longest time between two checks for drift. A check costs some twelve reads, so this is half a read per hour. */
  driftMaximumSeconds: 86_400,
  /** The first wait after a refusal of AWS, which doubles each time, and the longest, by retry class. */
  transientRetrySeconds: 5,
  transientRetryMaximumSeconds: 120,
  throttledRetrySeconds: 20,
  throttledRetryMaximumSeconds: 300,
  permanentRetrySeconds: 30,
  permanentRetryMaximumSeconds: 600,
  /** How long AWS may refuse a deletion because the resource is in use, before this is reported and retried less often. */
  inUseSeconds: 300,
  /** Reads per second that checks for drift may use of AWS' ten, and roughly how many one load balancer needs. */
  driftReadsPerSecond: 4,
  driftReadsPerStack: 12,
  /** How many times the same write is made, while AWS does not show its effect. */
  sameWrites: 3,
  /** Endpoints that a message lists. */
  shownEndpoints: 10,
  /** Load balancers that the annotation of a Service may name. Two are usual while one replaces the other. */
  keptIds: 10,
  /** Certificates whose keys are cached. */
  certificateKeys: 1000,
  /** How long a new load balancer waits for ACM's answer about its certificates. */
  certificateWaitSeconds: 10,
  /** How long ACM is not asked again about a certificate that it has refused to describe, or at all when it does not answer. */
  certificateKeysRefusedSeconds: 3600,
  /** Refusals of one account, without a description between them, after which ACM is not asked about its certificates either. */
  certificateRefusals: 3,
  /** Pods that are read at the same time to check targets, and results that are cached. */
  podReads: 10,
  checkedPods: 20_000,
  /** How long a target counts as a pod before it is read again, and how long a refused one is not read again. */
  checkedPodSeconds: 240,
  refusedPodSeconds: 30,
  /** How long a Pod that waits for the load balancer is not read again. */
  gatedPodSeconds: 4,
  /** A wait of this length is reported. Most end earlier. */
  longWaitSeconds: 600,
  /** Lists of addresses whose state is cached. */
  addressLists: 1000,
  /** How long the facts about subnets, security groups and certificates are cached. */
  factsSeconds: 60,
  /** Time between two scans of the account for orphans, and the longest if scans find nothing. */
  sweepSeconds: 900,
  sweepMaximumSeconds: 3600,
  /** Roughly how many reads a scan costs. With few load balancers it is made less often, for a quarter of a read per load balancer and hour. */
  sweepReads: 13,
} as const;
