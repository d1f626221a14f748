/** Numbers of the BGP Monitoring Protocol (RFC 7854). */
export const bmpVersion = 3;

/** Message types (RFC 7854 4.1). */
export const bmpType = { routeMonitoring: 0, statisticsReport: 1, peerDown: 2, peerUp: 3, initiation: 4, termination: 5 } as const;

/** Flags of the per-peer header (RFC 7854 4.2; the last one RFC 8671 4). */
export const bmpPeerFlag = { ipv6: 0x80, postPolicy: 0x40, twoOctetAsPath: 0x20, adjRibOut: 0x10 } as const;

/** TLVs of an Initiation (RFC 7854 4.4). */
export const bmpInitiation = { string: 0, systemDescription: 1, systemName: 2 } as const;

/** TLVs of a Termination (RFC 7854 4.5). */
export const bmpTermination = { string: 0, reason: 1 } as const;

/** Reasons of a Termination (RFC 7854 4.5). */
export const bmpTerminationReason = { administrativelyClosed: 0, unspecified: 1, outOfResources: 2, redundant: 3, permanent: 4 } as const;

/** Reasons of a Peer Down (RFC 7854 4.9). */
export const bmpPeerDown = { localNotification: 1, localEvent: 2, remoteNotification: 3, remoteClosed: 4, notMonitored: 5 } as const;

/** Statistics (RFC 7854 4.8, RFC 8671 6.2). */
export const bmpStatistic = {
  rejected: 0,
  invalidatedByAsPathLoop: 4,
  invalidatedByOriginatorId: 5,
  adjRibIn: 7,
  adjRibInOfFamily: 9,
  adjRibOutPostPolicy: 15,
  adjRibOutPostPolicyOfFamily: 17,
} as const;
