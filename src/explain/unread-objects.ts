import { catalogue, reason, type Reason, type ReasonCode } from '../model/reasons.ts';
import type { KindName } from '../model/store/snapshot.ts';
import type { UnreadableKind } from '../model/unreadable-kind.ts';

/**
 * The kinds that a "no" is about: where one of them could not be read, the same decision may well say yes. What is not here depends on nothing
 * that is missing, or on the Service itself.
 */
const kindsBehindReason: Partial<Record<ReasonCode, readonly KindName[]>> = {
  NoPools: ['IPAddressPool'],
  NoPoolFits: ['IPAddressPool', 'Namespace'],
  PoolNotFound: ['IPAddressPool'],
  PoolNamespaceNotSelected: ['Namespace'],
  AddressNotInPools: ['IPAddressPool'],
  HeldOutsidePools: ['IPAddressPool'],
  AddressInOtherPool: ['IPAddressPool'],
  AddressNotFromPool: ['IPAddressPool'],
  NoAdvertisement: ['BGPAdvertisement', 'IPAddressPool'],
  NodeNotSelected: ['BGPAdvertisement'],
  ServiceNotSelected: ['BGPAdvertisement'],
  UnknownCommunity: ['Community'],
  UnknownPool: ['IPAddressPool'],
  UnknownPeer: ['BGPPeer'],
  AdvertisesNothing: ['IPAddressPool', 'BGPPeer', 'Node'],
  NodeUnknown: ['Node'],
  NoNodes: ['Node'],
  NoLocalEndpoints: ['EndpointSlice'],
  NoEndpoints: ['EndpointSlice'],
  NoPeers: ['BGPPeer', 'Node'],
  PeerSelectsNoNode: ['Node'],
  BFDProfileMissing: ['BFDProfile'],
  ExternalIPNotAllowed: ['ExternalIPPolicy', 'Namespace'],
  AgentSilent: ['NodeState'],
  SessionsMissing: ['NodeState'],
  DirectReturnNotReported: ['NodeState'],
  AggregationTooShort: ['ServiceCIDR'],
};

/**
 * The explanation with every "no" that rests on objects which could not be read replaced by one that says so. `namespace`: what was read of it alone
 * counts as read. `explanation` is plain data.
 */
export function markUndecided<T>(explanation: T, unread: readonly UnreadableKind[], namespace: string): T {
  const missing = new Map(
    unread.flatMap(({ kind, resource, why, readableNamespace: except }) =>
      why === 'forbidden' && except !== namespace ? [[kind, resource] as const] : [],
    ),
  );
  if (missing.size === 0) return explanation;
  const judge = (found: Reason): Reason => {
    const resources = (kindsBehindReason[found.code] ?? []).flatMap((kind) => missing.get(kind) ?? []);
    return resources.length === 0 ? found : reason('Undecided', { resource: resources.join(' and ') });
  };
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    if (isReason(value)) return judge(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
  };
  return walk(explanation) as T;
}

function isReason(value: object): value is Reason {
  return 'code' in value && 'details' in value && typeof value.code === 'string' && Object.hasOwn(catalogue, value.code);
}

/** What the absence of a kind leaves open, for people. */
const consequences: Readonly<Record<KindName, string>> = {
  Service: 'which addresses other Services hold is not known: one that seems free may be taken',
  EndpointSlice: 'which endpoints are ready is not known, nor what follows for forwarding and routes',
  Node: 'nothing can be said node by node',
  Namespace: 'pools and policies that select namespaces by label are taken not to select this one',
  Secret: 'it is taken to be there, with a password',
  ServiceCIDR: 'aggregates of ClusterIPs are not known',
  IPAddressPool: 'which pool an address is from is not known, nor whether it is announced',
  BGPPeer: 'which sessions there should be is not known',
  BGPAdvertisement: 'what is announced is not known',
  BFDProfile: 'whether sessions are watched by BFD is not known',
  Community: 'aliases of communities are not known',
  ExternalIPPolicy: 'which externalIPs are allowed is not known',
  HeraldConfig: 'its defaults are taken to be in force',
  NodeState: 'what nodes have really done is not known: sessions, and rules in the kernel',
};

/** What a kind that is not installed means: only ours matter, others are the cluster's choice. */
export function unreadLines(unread: readonly UnreadableKind[]): string[] {
  return unread.flatMap(({ kind, resource, why, readableNamespace: except }) => {
    if (why === 'absent')
      return resource.endsWith('.herald.dev') ? [`not installed: ${resource} (install the CRDs of Herald, manifests/crds)`] : [];
    const part = except === undefined ? '' : ` outside of namespace ${except}`;
    return [`not read: ${resource}${part}: you may not list them; ${consequences[kind]}`];
  });
}
