import { anySelects } from '../model/objects/label-selector.ts';
import { requestedDrain } from '../model/kinds/requested-drain.ts';
import type { BGPAdvertisement, BGPPeer, IPAddressPool } from '../model/kinds/types.ts';
import type { Namespace, Node, Secret } from '../model/objects/cluster.ts';
import { recordedPoolOf } from '../model/objects/pool-record.ts';
import { assignedAddresses, type Service } from '../model/objects/service.ts';
import type { HeraldObject, Snapshot } from '../model/store/snapshot.ts';
import type { Address } from '../net/address.ts';
import { prefixContains } from '../net/prefix.ts';
import { decideAllocationClaim } from './allocation/claim.ts';
import { whyPoolRefuses } from './allocation/pools/pool-eligibility.ts';
import { containsAddress } from './allocation/pools/pools.ts';
import { allocationRequest } from './allocation/request.ts';
import { coversPool, type NamedPool } from './announcement/advertisements.ts';
import { poolsOfAddress } from './announcement/pool-of-address.ts';
import { linkAdvertisements, type LinkAdvertisement } from './l2/link-advertisements.ts';

/** Who decides about a Service: the agent of a node, or the controller, which decides for all nodes. */
interface Decision {
  readonly snapshot: Snapshot;
  readonly service: Service;
  /** Absent: the controller. */
  readonly node?: Node;
}

/**
 * Returns whether the decisions about a Service rest on an object: they do if they rest on any of `versions`, the object before and after a
 * change. `nodeName`: the node whose agent decides; absent for the controller.
 */
export function serviceDependsOn(snapshot: Snapshot, service: Service, versions: readonly HeraldObject[], nodeName?: string): boolean {
  const node = nodeName === undefined ? undefined : snapshot.nodes.get(nodeName);
  const decision = { snapshot, service, ...(node === undefined ? {} : { node }) };
  return versions.some((object) => dependsOn(decision, object));
}

/** Returns whether a node's session with a BGPPeer rests on an object. See `serviceDependsOn`. */
export function sessionDependsOn(snapshot: Snapshot, peer: string, versions: readonly HeraldObject[], nodeName: string): boolean {
  const settings = snapshot.peers.get(peer);
  const names: Partial<Record<HeraldObject['kind'], string | undefined>> = {
    BGPPeer: peer,
    Node: nodeName,
    BFDProfile: settings?.bfdProfile,
  };
  return versions.some((object) =>
    object.kind === 'Secret' ? settings !== undefined && hasPasswordIn(settings, object) : object.metadata.name === names[object.kind],
  );
}

function dependsOn(decision: Decision, object: HeraldObject): boolean {
  const { service } = decision;
  switch (object.kind) {
    case 'Service':
    case 'EndpointSlice':
    case 'HeraldConfig':
      return true;
    case 'IPAddressPool':
      return dependsOnPool(decision, object);
    case 'BGPAdvertisement':
      return isAdvertisedBy(decision, object);
    case 'L2Advertisement':
      return isOnLinksBy(decision, object);
    case 'BGPPeer':
      return dependsOnPeer(decision, object);
    case 'Community':
      return advertisementsOf(decision).some(({ communities }) => object.communities.some(({ name }) => communities.includes(name)));
    case 'BFDProfile':
      return peersOf(decision).some(({ bfdProfile }) => bfdProfile === object.metadata.name);
    case 'Secret':
      return peersOf(decision).some((peer) => hasPasswordIn(peer, object));
    case 'Node':
      return dependsOnNode(decision, object);
    case 'Namespace':
      return dependsOnNamespace(decision, object);
    case 'ServiceCIDR':
      return service.clusterIPs.some((address) => object.cidrs.some((cidr) => prefixContains(cidr, address)));
    case 'ExternalIPPolicy':
      return service.externalIPs.length > 0;
    case 'NodeState':
      return false;
  }
}

/** A Service without an address depends on all pools that may give it one. */
function dependsOnPool({ snapshot, service }: Decision, pool: IPAddressPool): boolean {
  const addresses = assignedAddresses(service);
  const isRecorded = (address: Address): boolean => recordedPoolOf(service, address)?.pool === pool.metadata.name;
  if (addresses.some((address) => containsAddress(pool, address) || isRecorded(address))) return true;
  if (service.requestedPool === pool.metadata.name || service.requestedAddresses.some((one) => containsAddress(pool, one))) return true;
  if (addresses.length > 0 || service.requestedPool !== undefined || !decideAllocationClaim(service, snapshot.config).mine) return false;
  return pool.autoAssign && whyPoolRefuses(pool, allocationRequest(service, snapshot)) === undefined;
}

function isAdvertisedBy(decision: Decision, advertisement: BGPAdvertisement): boolean {
  const { snapshot, service, node } = decision;
  const { addressTypes: types, nodeSelectors, serviceSelectors } = advertisement;
  if (node !== undefined && !anySelects(nodeSelectors, node.metadata.labels)) return false;
  if (!anySelects(serviceSelectors, service.metadata.labels)) return false;
  if (types.includes('LoadBalancer') && hasAddressIn(decision, (pool) => coversPool(advertisement, pool))) return true;
  if (types.includes('ExternalIP') && service.externalIPs.length > 0) return true;
  return types.includes('ClusterIP') && (service.advertiseClusterIP ?? snapshot.config.advertiseClusterIPs);
}

function isOnLinksBy(decision: Decision, advertisement: LinkAdvertisement): boolean {
  if (!anySelects(advertisement.serviceSelectors, decision.service.metadata.labels)) return false;
  return hasAddressIn(decision, (pool) => coversPool(advertisement, pool));
}

function hasAddressIn({ snapshot, service }: Decision, isWanted: (pool: NamedPool) => boolean): boolean {
  return assignedAddresses(service).some((address) => poolsOfAddress(snapshot, [service], address).some(isWanted));
}

function advertisementsOf(decision: Decision): BGPAdvertisement[] {
  return [...decision.snapshot.advertisements.values()].filter((one) => isAdvertisedBy(decision, one));
}

function dependsOnPeer(decision: Decision, peer: BGPPeer): boolean {
  const { node } = decision;
  if (node !== undefined && !anySelects(peer.nodeSelectors, node.metadata.labels)) return false;
  return advertisementsOf(decision).some(({ peers }) => peers.length === 0 || peers.includes(peer.metadata.name));
}

function peersOf(decision: Decision): BGPPeer[] {
  return [...decision.snapshot.peers.values()].filter((peer) => dependsOnPeer(decision, peer));
}

function hasPasswordIn({ passwordSecret }: BGPPeer, { metadata: { namespace, name } }: Secret): boolean {
  return passwordSecret?.namespace === namespace && passwordSecret.name === name;
}

/**
 * Other nodes matter to a node that drains or cannot forward, because one of them has to announce, where they share a link, and where
 * `maxNextHops` lets only some of them announce.
 */
function dependsOnNode(decision: Decision, { metadata: { name, labels } }: Node): boolean {
  const { snapshot, node } = decision;
  if (node?.metadata.name === name) return true;
  const onLinks = linkAdvertisements(snapshot).filter((one) => isOnLinksBy(decision, one));
  if (onLinks.some(({ nodeSelectors }) => anySelects(nodeSelectors, labels))) return true;
  if (node === undefined) return advertisementsOf(decision).some(({ nodeSelectors }) => anySelects(nodeSelectors, labels));
  if (advertisementsOf(decision).some((one) => one.maxNextHops !== undefined && anySelects(one.nodeSelectors, labels))) return true;
  const isLeaving =
    requestedDrain(snapshot.config, node) !== undefined || snapshot.nodeStates.get(node.metadata.name)?.heldBack !== undefined;
  return isLeaving && advertisementsOf({ ...decision, node: { ...node, metadata: { ...node.metadata, labels } } }).length > 0;
}

/** Only selectors read a Namespace. */
function dependsOnNamespace({ snapshot, service, node }: Decision, { metadata: { name } }: Namespace): boolean {
  if (name !== service.metadata.namespace) return false;
  const { externalIPPolicies, pools, config } = snapshot;
  if (service.externalIPs.length > 0 && externalIPPolicies.size > 0) return true;
  if (node !== undefined || service.type !== 'LoadBalancer') return false;
  // A provider may have selectors of its own.
  if (!decideAllocationClaim(service, config).mine) return true;
  return pools.values().some(({ serviceAllocation }) => (serviceAllocation?.namespaceSelectors.length ?? 0) > 0);
}
