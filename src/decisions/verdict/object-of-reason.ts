import { serviceKey } from '../../model/objects/metadata.ts';
import { findEntry, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

interface Place {
  readonly object?: string;
  readonly field?: string;
}

type Details = Readonly<Record<string, unknown>>;

const pool = (field?: string) => place('IPAddressPool', 'pool', field);
const peer = (field?: string) => place('BGPPeer', 'peer', field);
const node = (field?: string) => place('Node', 'node', field);
const advertisement = (field: string) => place('BGPAdvertisement', 'advertisement', field);

/** The object and field that the fix of a reason changes. Reasons that are not listed concern the Service, or no object. */
const places: Partial<Record<ReasonCode, (details: Details) => Place>> = {
  NoPoolFits: pool(),
  PoolNotFound: pool(),
  PoolOverlaps: pool('spec.addresses'),
  PoolNamespaceNotSelected: pool('spec.serviceAllocation'),
  PoolServiceNotSelected: pool('spec.serviceAllocation.serviceSelectors'),
  PoolHasNoFamily: pool('spec.addresses'),
  PoolFull: pool('spec.addresses'),
  PoolDraining: pool('spec.draining'),
  QuotaReached: pool('spec.quota'),
  AddressReserved: pool('spec.reservations'),
  AddressAvoided: pool('spec.avoidBuggyIPs'),
  AddressInUseBy: (details) => (details['pool'] === '' ? {} : pool('spec.addresses')(details)),
  AddressNotInPools: pool('spec.addresses'),
  HeldOutsidePools: pool('spec.addresses'),
  AddressNotFromPool: pool('spec.addresses'),
  UnknownCommunity: advertisement('spec.communities'),
  AggregationTooShort: advertisement('spec.aggregationLength'),
  NodeUnknown: node(),
  NodeNetworkUnavailable: node(),
  NodeExcluded: node('metadata.labels'),
  EndpointsCutOff: node(),
  EndpointUnroutable: node(),
  EndpointAnswersLost: node(),
  ServiceFiltered: node(),
  PassedFiltered: node(),
  ServiceLimited: node(),
  NodeDraining: node('metadata.annotations'),
  NodeDrained: node('metadata.annotations'),
  LastNextHop: node('metadata.annotations'),
  NoPeers: node(),
  AgentSilent: node(),
  AgentStopped: node(),
  AgentOtherVersion: node(),
  PeerFamilyNotCarried: (details) => peer(details['others'] === 'carry' ? undefined : 'spec.dualStackAddressFamily')(details),
  PeerFamilyNotNegotiated: peer(),
  PeerNotPossible: peer(),
  PeerIsOwnAddress: peer('spec.peerAddress'),
  PeerSourceMissing: peer('spec.sourceInterface'),
  RouteNotPossible: peer(),
  PrefixContended: peer(),
  SessionDown: peer(),
  PeerASMismatch: (details) => peer(typeof details['field'] === 'string' ? details['field'] : undefined)(details),
  PeerPasswordRejected: peer('spec.passwordSecret'),
  PeerTTLMismatch: peer('spec.ttlSecurityHops'),
  PeerRefusesConnection: peer('spec.peerAddress'),
  PeerUnreachable: peer(),
  PeerVRFMissing: peer('spec.vrf'),
  PeerClosed: peer(),
  PeerProtocolError: peer(),
  PeerFamilyMismatch: peer('spec.dualStackAddressFamily'),
  PeerAdminDown: peer('spec.adminDown'),
  HoldTimeExpired: peer(),
  HoldTimeRejected: peer('spec.holdTime'),
  RouterIDRejected: peer('spec.routerID'),
  BFDDown: peer('spec.bfdProfile'),
  SessionHeldBack: peer('spec.flapDamping'),
  PeerPasswordMissing: peer('spec.passwordSecret'),
  StrictBFDProfileMissing: peer('spec.bfdProfile'),
  BFDAwaited: peer('spec.bfdStrict'),
};

/** Fields of the Service that a fix changes. */
const fields: Partial<Record<ReasonCode, string>> = {
  NotLoadBalancer: 'spec.type',
  OtherLoadBalancerClass: 'spec.loadBalancerClass',
  PoolNotAutoAssigned: 'metadata.annotations[herald.dev/address-pool]',
  AddressTaken: 'metadata.annotations[herald.dev/load-balancer-ips]',
  AddressInOtherPool: 'metadata.annotations[herald.dev/address-pool]',
  TooManyAddresses: 'metadata.annotations[herald.dev/keep-addresses]',
  RequestedFamilyMismatch: 'spec.ipFamilies',
  ServiceDrained: 'metadata.annotations[herald.dev/drain]',
  NoEndpoints: 'spec.selector',
  NoLocalEndpoints: 'spec.externalTrafficPolicy',
  PortWithoutEndpoint: 'spec.ports',
};

export function objectOfReason(service: Pick<Service, 'metadata'>, { code, details }: Reason): Place {
  const found = places[code]?.((details ?? {}) as Details);
  if (found?.object !== undefined) return found;
  const field = code === 'InvalidRequest' ? details.field : (fields[code] ?? findEntry(code)?.field);
  return { object: `Service/${serviceKey(service.metadata)}`, ...(field === undefined ? {} : { field }) };
}

/** `key` is the detail that names the object. */
function place(kind: string, key: string, field: string | undefined): (details: Details) => Place {
  return (details) => {
    const name = details[key];
    if (typeof name !== 'string' || name === '') return {};
    return { object: `${kind}/${name}`, ...(field === undefined ? {} : { field }) };
  };
}
