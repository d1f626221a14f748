/** Quotas of AWS that are looked at before a call, and bounds of our own. Listed in docs/reference/limits.md. */
export const limits = {
  listenersPerNlb: 50,
  certificatesPerNlb: 25,
  targetsPerTargetGroup: 1000,
  targetsPerNlb: 3000,
  listenersPerClassic: 100,
  instancesPerClassic: 1000,
  rulesPerSecurityGroup: 60,
  /** Targets or instances in one call. */
  registrationBatch: 200,
  /** How long something that was just made may be missing from what AWS lists. */
  visibilitySeconds: 60,
  /** Waits between two looks at something that AWS is working on, and while nothing is wrong. */
  pollSeconds: 5,
  driftSeconds: 300,
  /** Reads that looking for drift may take of AWS' ten a second, and about how many one load balancer costs. */
  driftReadsPerSecond: 4,
  driftReadsPerStack: 12,
  /** How long what is known of subnets, security groups and certificates is used. */
  factsSeconds: 60,
  /** Time between two looks at the whole account, for what has no Service any more. */
  sweepSeconds: 900,
} as const;
