import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { Node } from '../../model/cluster.ts';
import type { BGPPeer } from '../../model/configuration.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { anySelects } from '../../model/selector.ts';
import type { Snapshot } from '../../model/snapshot.ts';

/** A BGPPeer that selects the node. */
export interface NodePeer {
  readonly peer: string;
  readonly result: { readonly session: SessionIntent } | { readonly reason: Reason };
}

/** The settings of one session, with everything resolved. */
export interface SessionIntent {
  readonly peer: string;
  readonly localASN: number;
  /** A number, or any ASN of the kind: the same as ours (internal), another (external). */
  readonly peerASN: number | 'internal' | 'external';
  readonly peerAddress: Address;
  readonly peerPort: number;
  readonly sourceAddress?: Address;
  readonly holdTimeSeconds: number;
  readonly keepaliveTimeSeconds: number;
  readonly connectTimeSeconds?: number;
  /** IPv4, not 0.0.0.0. */
  readonly routerID: Address;
  /** Never empty, never to be logged. */
  readonly password?: string;
  /** The address families that the session carries, IPv4 first. */
  readonly families: readonly Family[];
  /** Where routes of the other family than peerAddress's lead: the node's primary InternalIP of it. */
  readonly otherNextHop?: Address;
  readonly ebgpMultiHop: boolean;
  readonly passive: boolean;
  readonly adminDown: boolean;
  readonly shutdownMessage?: string;
}

/** The BGPPeers that select the node, by name. Empty where there is no Node object or no BGPPeer selects it. */
export function peersOfNode(snapshot: Snapshot, nodeName: string): readonly NodePeer[] {
  const node = snapshot.nodes.get(nodeName);
  if (node === undefined) return [];
  const selected = [...snapshot.peers.values()]
    .filter(({ nodeSelectors }) => anySelects(nodeSelectors, node.metadata.labels))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const owners = new Map<string, string>();
  return selected.map((peer): NodePeer => {
    const { name } = peer.metadata;
    const address = formatAddress(peer.peerAddress);
    const other = owners.get(address);
    // A router tells sessions apart by their addresses (RFC 4271 6.8), so the second could only disturb the first.
    if (other !== undefined) return { peer: name, result: { reason: reason('DuplicatePeer', { address, other }) } };
    owners.set(address, name);
    return { peer: name, result: resolve(snapshot, node, peer, routerIDOf(peer, nodeName, node.internalIPs)) };
  });
}

/** Whether a session with the peer carries the family. */
export function carriesFamily({ peerAddress, dualStackAddressFamily }: BGPPeer, family: Family): boolean {
  return dualStackAddressFamily || peerAddress.family === family;
}

function resolve(snapshot: Snapshot, node: Node, peer: BGPPeer, routerID: Address): NodePeer['result'] {
  const password = passwordOf(snapshot, peer);
  if (typeof password === 'object') return { reason: password };
  const families: readonly Family[] = [4, 6];
  return {
    session: {
      peer: peer.metadata.name,
      localASN: peer.myASN,
      // The model has exactly one of the two.
      peerASN: peer.peerASN ?? peer.dynamicASN ?? 'external',
      peerAddress: peer.peerAddress,
      peerPort: peer.peerPort,
      ...(peer.sourceAddress === undefined ? {} : { sourceAddress: peer.sourceAddress }),
      holdTimeSeconds: peer.holdTimeSeconds,
      keepaliveTimeSeconds: peer.keepaliveTimeSeconds,
      ...(peer.connectTimeSeconds === undefined ? {} : { connectTimeSeconds: peer.connectTimeSeconds }),
      routerID,
      ...(password === undefined ? {} : { password }),
      families: families.filter((family) => carriesFamily(peer, family)),
      ...otherNextHop(peer, node),
      ebgpMultiHop: peer.ebgpMultiHop,
      passive: peer.passive,
      adminDown: peer.adminDown,
      ...(peer.shutdownMessage === undefined ? {} : { shutdownMessage: peer.shutdownMessage }),
    },
  };
}

function otherNextHop({ peerAddress, dualStackAddressFamily }: BGPPeer, { internalIPs }: Node): Pick<SessionIntent, 'otherNextHop'> {
  const address = internalIPs.find(({ family }) => family !== peerAddress.family);
  return dualStackAddressFamily && address !== undefined ? { otherNextHop: address } : {};
}

/** A password that was asked for and is not there must not become a session without one: then there is no session. */
function passwordOf(snapshot: Snapshot, peer: BGPPeer): string | undefined | Reason {
  const { passwordSecret } = peer;
  if (passwordSecret === undefined) return peer.password === '' ? undefined : peer.password;
  const name = `${passwordSecret.namespace}/${passwordSecret.name}`;
  const missing = (why: string): Reason => reason('PeerPasswordMissing', { peer: peer.metadata.name, secret: name, why });
  const secret = snapshot.secrets.get(name);
  if (secret === undefined) return missing('it does not exist');
  if (secret.type !== 'kubernetes.io/basic-auth') return missing(`its type is "${secret.type}", not kubernetes.io/basic-auth`);
  if (secret.password === undefined || secret.password === '') return missing('its key password is missing or empty');
  return secret.password;
}

/**
 * The BGP identifier: as configured, else the node's first IPv4 address. A node without one gets 32 bits from its name,
 * which RFC 6286 2.1 allows as long as they are unique within the AS and not zero.
 */
function routerIDOf({ routerID }: BGPPeer, nodeName: string, internalIPs: readonly Address[]): Address {
  return routerID ?? internalIPs.find(({ family }) => family === 4) ?? { family: 4, value: BigInt(hash(nodeName) || 1) };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
