import { isKnownCode, reason, type Reason, type ReasonCode } from '../model/reasons.ts';
import type { KindName, Snapshot } from '../model/store/snapshot.ts';
import type { UnreadableKind } from '../model/store/unreadable-kind.ts';
import { listText } from '../decisions/verdict/verdict-text.ts';

/**
 * Kinds that a reason rests on. If objects of one of them could not be read, the decision may be wrong. Reasons that are not listed depend
 * only on the Service itself, or on nothing that can be missing.
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
  BeyondMaxNextHops: ['NodeState'],
  ServiceNotSelected: ['BGPAdvertisement'],
  UnknownCommunity: ['Community'],
  UnknownPool: ['IPAddressPool'],
  L2NoCandidate: ['L2Advertisement', 'Node', 'NodeState'],
  L2NoInterface: ['NodeState'],
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

/** The objects as far as they could be read. */
export interface PartlyRead {
  readonly snapshot: Pick<Snapshot, 'pools'>;
  readonly unread: readonly UnreadableKind[];
}

/**
 * Replaces every reason that rests on unreadable objects by the reason Undecided. Kinds that were read in `namespace` alone count as read.
 * `explanation` is plain data.
 */
export function markUndecided<T>(explanation: T, { snapshot, unread }: PartlyRead, namespace: string): T {
  const forbidden = unread.filter(({ why, readableNamespace: except }) => why === 'forbidden' && except !== namespace);
  const missing = new Map(forbidden.map(({ kind, resource }) => [kind, resource]));
  if (missing.size === 0) return explanation;
  const judge = (found: Reason): Reason => {
    const resources = kindsBehind(found, snapshot).flatMap((kind) => missing.get(kind) ?? []);
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

function kindsBehind(found: Reason, { pools }: PartlyRead['snapshot']): readonly KindName[] {
  // A pool that selects namespaces only by name needs no labels of them.
  if (found.code === 'PoolNamespaceNotSelected' && pools.get(found.details.pool)?.serviceAllocation?.namespaceSelectors.length === 0)
    return [];
  return kindsBehindReason[found.code] ?? [];
}

function isReason(value: object): value is Reason {
  return 'code' in value && 'details' in value && typeof value.code === 'string' && isKnownCode(value.code);
}

/** For people: the consequences when a kind could not be read. */
const consequences: Readonly<Record<KindName, string>> = {
  Service: 'the addresses of other Services are unknown, so one that seems free may be in use',
  EndpointSlice: 'ready endpoints are unknown, and so are forwarding and routes',
  Node: 'no node can be explained',
  Namespace: 'pools and policies that select namespaces by label are assumed not to select this one',
  Secret: 'it is assumed to exist, with a password',
  ServiceCIDR: 'aggregates of ClusterIPs are unknown',
  IPAddressPool: 'the pool of an address is unknown, and so is whether it is announced',
  BGPPeer: 'the expected sessions are unknown',
  BGPAdvertisement: 'announcements are unknown',
  L2Advertisement: 'announcements by ARP and NDP are unknown',
  BFDProfile: 'it is unknown whether BFD watches the sessions',
  Community: 'aliases of communities are unknown',
  ExternalIPPolicy: 'the allowed externalIPs are unknown',
  HeraldConfig: 'its defaults are assumed',
  NodeState: 'sessions and kernel rules of the nodes are unknown',
};

/** Lists kinds that could not be read. Kinds that are not installed are listed only if they are Herald's own. */
export function unreadLines(unread: readonly UnreadableKind[]): string[] {
  const [absent, forbidden] = [ownAbsent(unread), unread.filter(({ why }) => why === 'forbidden')];
  return [
    ...forbidden.map(({ kind, resource, readableNamespace: except }) => {
      const part = except === undefined ? '' : ` outside of namespace ${except}`;
      return `not read: ${resource}${part}: you may not list them; ${consequences[kind]}`;
    }),
    ...(absent.length === 0 ? [] : [`not installed: ${listText(absent)} (install the CRDs of Herald, manifests/crds)`]),
  ];
}

/**
 * Says why nothing is shown of these kinds, if none of their objects could be read: they may well exist. Empty: they could be read, at least in
 * one namespace.
 */
export function unshownLines(unread: readonly UnreadableKind[], kinds: readonly KindName[]): string[] {
  const missing = unread.filter(({ kind, readableNamespace }) => kinds.includes(kind) && readableNamespace === undefined);
  const [absent, forbidden] = [ownAbsent(missing), missing.filter(({ why }) => why === 'forbidden')];
  const resources = forbidden.map(({ resource }) => resource);
  return [
    ...(forbidden.length === 0
      ? []
      : [
          `Not known: ${callerText(forbidden)} may not list ${listText(resources)}. Fix: ask a person with the ClusterRole herald-explain, or have it bound to you.`,
        ]),
    ...(absent.length === 0
      ? []
      : [
          `Herald is not installed in this cluster, or not all of it: there is no ${listText(absent)}. Fix: install the chart, or the CRDs of manifests/crds.`,
        ]),
  ];
}

function ownAbsent(unread: readonly UnreadableKind[]): string[] {
  return unread.filter(({ why, resource }) => why === 'absent' && resource.endsWith('.herald.dev')).map(({ resource }) => resource);
}

/** Returns the name by which the API server knows the caller, as its messages of RBAC say it. */
function callerText(forbidden: readonly UnreadableKind[]): string {
  const [name] = forbidden.flatMap(({ message }) => /User "([^"]{1,253})"/.exec(message)?.[1] ?? []);
  return name === undefined ? 'you' : `you (${name})`;
}
