/** Quotas of AWS that are looked at before a call, and bounds of our own. Listed in docs/reference/limits.md. */
export const limits = {
  listenersPerNlb: 50,
  certificatesPerNlb: 25,
  targetsPerTargetGroup: 1000,
  targetsPerNlb: 3000,
  listenersPerClassic: 100,
  instancesPerClassic: 1000,
  rulesPerSecurityGroup: 60,
  securityGroupsPerLoadBalancer: 5,
  tagsPerResource: 50,
  /** Targets or instances in one call. */
  registrationBatch: 200,
  /** Resources whose tags are asked for at once when the whole account is looked at (AWS: 20). */
  tagBatch: 20,
  /** How long something that was just made may be missing from what AWS lists. */
  visibilitySeconds: 60,
  /** Waits between two looks at something that AWS is working on, and while nothing is wrong. */
  pollSeconds: 5,
  driftSeconds: 300,
  /** After a "no" of AWS: the first wait, which doubles each time, and the longest. By what waiting does about it. */
  transientRetrySeconds: 5,
  transientRetryMaximumSeconds: 120,
  throttledRetrySeconds: 20,
  throttledRetryMaximumSeconds: 300,
  permanentRetrySeconds: 30,
  permanentRetryMaximumSeconds: 600,
  /** How long AWS may say that something is in use that is to go, before that is told and asked seldom. */
  inUseSeconds: 300,
  /** Reads that looking for drift may take of AWS' ten a second, and about how many one load balancer costs. */
  driftReadsPerSecond: 4,
  driftReadsPerStack: 12,
  /** Load balancers that the annotation of a Service may name: two, while one replaces the other. */
  keptIds: 10,
  /** Certificates whose keys are remembered. */
  certificateKeys: 1000,
  /** How long ACM is left alone after it has not told which keys certificates have. */
  certificateKeysRefusedSeconds: 3600,
  /** A wait that is told to somebody: most end before. */
  longWaitSeconds: 600,
  /** How long what is known of subnets, security groups and certificates is used. */
  factsSeconds: 60,
  /** Time between two looks at the whole account, for what has no Service any more. */
  sweepSeconds: 900,
} as const;
