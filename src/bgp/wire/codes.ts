/** IANA's numbers for BGP-4, and their names. */

export const messageType = { open: 1, update: 2, notification: 3, keepalive: 4, routeRefresh: 5 } as const;

export const errorCode = { header: 1, open: 2, update: 3, holdTimer: 4, fsm: 5, cease: 6, routeRefresh: 7, sendHoldTimer: 8 } as const;

export const headerError = { notSynchronized: 1, badLength: 2, badType: 3 } as const;

export const openError = {
  unspecific: 0,
  version: 1,
  peerAs: 2,
  routerId: 3,
  optionalParameter: 4,
  holdTime: 6,
  capability: 7,
  roleMismatch: 11,
} as const;

export const updateError = {
  malformedAttributes: 1,
  unrecognizedWellKnown: 2,
  missingWellKnown: 3,
  attributeFlags: 4,
  attributeLength: 5,
  origin: 6,
  nextHop: 8,
  optionalAttribute: 9,
  network: 10,
  asPath: 11,
} as const;

export const routeRefreshError = { invalidLength: 1 } as const;

export const cease = {
  maximumPrefixes: 1,
  administrativeShutdown: 2,
  peerDeconfigured: 3,
  administrativeReset: 4,
  connectionRejected: 5,
  configurationChange: 6,
  connectionCollision: 7,
  outOfResources: 8,
  hardReset: 9,
  bfdDown: 10,
} as const;

/** A request, and the markers before and after the routes that answer it (RFC 7313 3.2). */
export const refreshSubtype = { request: 0, begin: 1, end: 2 } as const;

export const afi = { ipv4: 1, ipv6: 2 } as const;
export const safi = { unicast: 1 } as const;

/** Returns "IPv6 unicast", or "AFI 25 SAFI 70" for an unknown family. */
export function familyName(afiNumber: number, safiNumber: number): string {
  const known = safiNumber === safi.unicast && (afiNumber === afi.ipv4 || afiNumber === afi.ipv6);
  return known ? `IPv${afiNumber === afi.ipv4 ? 4 : 6} unicast` : `AFI ${afiNumber} SAFI ${safiNumber}`;
}

export const capabilityCode = {
  multiprotocol: 1,
  routeRefresh: 2,
  extendedNextHop: 5,
  extendedMessage: 6,
  role: 9,
  gracefulRestart: 64,
  fourOctetAsn: 65,
  addPath: 69,
  enhancedRouteRefresh: 70,
  longLivedGracefulRestart: 71,
  fqdn: 73,
  softwareVersion: 75,
} as const;

export const attributeType = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  med: 4,
  localPref: 5,
  atomicAggregate: 6,
  aggregator: 7,
  communities: 8,
  originatorId: 9,
  clusterList: 10,
  mpReach: 14,
  mpUnreach: 15,
  extendedCommunities: 16,
  as4Path: 17,
  as4Aggregator: 18,
  ipv6ExtendedCommunities: 25,
  largeCommunities: 32,
  onlyToCustomer: 35,
} as const;

/** Stands for an AS number that needs four octets (RFC 6793). */
export const asTrans = 23456;

interface ErrorNames {
  readonly name: string;
  readonly subcodes: Readonly<Record<number, string>>;
}

const errorNames: Readonly<Record<number, ErrorNames>> = {
  1: { name: 'Message Header Error', subcodes: { 1: 'Connection Not Synchronized', 2: 'Bad Message Length', 3: 'Bad Message Type' } },
  2: {
    name: 'OPEN Message Error',
    subcodes: {
      1: 'Unsupported Version Number',
      2: 'Bad Peer AS',
      3: 'Bad BGP Identifier',
      4: 'Unsupported Optional Parameter',
      6: 'Unacceptable Hold Time',
      7: 'Unsupported Capability',
      11: 'Role Mismatch',
    },
  },
  3: {
    name: 'UPDATE Message Error',
    subcodes: {
      1: 'Malformed Attribute List',
      2: 'Unrecognized Well-known Attribute',
      3: 'Missing Well-known Attribute',
      4: 'Attribute Flags Error',
      5: 'Attribute Length Error',
      6: 'Invalid ORIGIN Attribute',
      8: 'Invalid NEXT_HOP Attribute',
      9: 'Optional Attribute Error',
      10: 'Invalid Network Field',
      11: 'Malformed AS_PATH',
    },
  },
  4: { name: 'Hold Timer Expired', subcodes: {} },
  5: {
    name: 'Finite State Machine Error',
    subcodes: {
      1: 'Unexpected Message in OpenSent State',
      2: 'Unexpected Message in OpenConfirm State',
      3: 'Unexpected Message in Established State',
    },
  },
  6: {
    name: 'Cease',
    subcodes: {
      1: 'Maximum Number of Prefixes Reached',
      2: 'Administrative Shutdown',
      3: 'Peer De-configured',
      4: 'Administrative Reset',
      5: 'Connection Rejected',
      6: 'Other Configuration Change',
      7: 'Connection Collision Resolution',
      8: 'Out of Resources',
      9: 'Hard Reset',
      10: 'BFD Down',
    },
  },
  7: { name: 'ROUTE-REFRESH Message Error', subcodes: { 1: 'Invalid Message Length' } },
  8: { name: 'Send Hold Timer Expired', subcodes: {} },
};

/** Returns for example "Cease: Administrative Shutdown (6/2)". Unknown numbers are shown as numbers. */
export function errorName(code: number, subcode: number): string {
  const names = errorNames[code];
  const detail = names?.subcodes[subcode];
  return `${names?.name ?? 'Unknown Error'}${detail === undefined ? '' : `: ${detail}`} (${code}/${subcode})`;
}

/** Tells whether an RFC names the error. Subcode 0 means the same as the code alone. */
export function isKnownError(code: number, subcode: number): boolean {
  const names = errorNames[code];
  return names !== undefined && (subcode === 0 || names.subcodes[subcode] !== undefined);
}

/** Inverse of `errorName`. The part in parentheses may be missing. */
export function errorNumbers(name: string): { readonly code: number; readonly subcode: number } | undefined {
  const [head, detail] = name.replace(/ \(.*\)$/, '').split(': ');
  for (const [code, names] of Object.entries(errorNames)) {
    if (names.name !== head) continue;
    if (detail === undefined) return { code: Number(code), subcode: 0 };
    const subcode = Object.entries(names.subcodes).find(([, text]) => text === detail);
    if (subcode !== undefined) return { code: Number(code), subcode: Number(subcode[0]) };
  }
  return undefined;
}
