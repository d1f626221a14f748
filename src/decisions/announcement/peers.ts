import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { Node } from '../../model/cluster.ts';
import type { BGPPeer } from '../../model/configuration.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { anySelects } from '../../model/selector.ts';
import type { Snapshot } from '../../model/snapshot.ts';

/** A BGPPeer that selects the node. */
export interface NodePeer {
  readonly peer: string;
  readonly result: PeerSession | { readonly reason: Reason };
}

export interface PeerSession {
  readonly session: SessionIntent;
  /** The Secret with the password is gone: a session that runs keeps its last password, which `session` has not. */
  readonly passwordGone?: MissingPassword;
}

export interface MissingPassword {
  readonly peer: string;
  readonly secret: string;
  readonly why: string;
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

/**
 * The BGPPeers that select the node, by name. Empty where there is no Node object or no BGPPeer selects it. The sessions in
 * the node's last report are part of what is decided upon: a mistake in another object must not end one that runs.
 */
export function peersOfNode(snapshot: Snapshot, nodeName: string): readonly NodePeer[] {
  const node = snapshot.nodes.get(nodeName);
  if (node === undefined) return [];
  const reported = snapshot.nodeStates.get(nodeName)?.sessions ?? [];
  const running = new Map(reported.filter(({ since }) => since !== '').map(({ peer, address }) => [peer, address]));
  const selected = [...snapshot.peers.values()]
    .filter(({ nodeSelectors }) => anySelects(nodeSelectors, node.metadata.labels))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const owners = ownersOfAddresses(selected, running);
  return selected.map((peer): NodePeer => {
    const { name } = peer.metadata;
    const address = formatAddress(peer.peerAddress);
    const owner = owners.get(address) ?? name;
    if (owner !== name) return { peer: name, result: { reason: reason('DuplicatePeer', { address, other: owner }) } };
    return { peer: name, result: resolve(snapshot, node, peer, running.has(name)) };
  });
}

/**
 * A router tells sessions apart by their addresses (RFC 4271 6.8), so of several BGPPeers with one address all but one could
 * only disturb it: that whose session runs, else the oldest, else the first by name. `running`: address of the peer by name.
 */
function ownersOfAddresses(peers: readonly BGPPeer[], running: ReadonlyMap<string, string>): Map<string, string> {
  const owners = new Map<string, string>();
  const rank = ({ metadata: { name, creationTimestamp }, peerAddress }: BGPPeer): string => {
    const runs = running.get(name) === formatAddress(peerAddress);
    return [runs ? '0' : '1', creationTimestamp === '' ? '~' : creationTimestamp, name].join(' ');
  };
  for (const peer of peers.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
    const address = formatAddress(peer.peerAddress);
    if (!owners.has(address)) owners.set(address, peer.metadata.name);
  }
  return owners;
}

/** Whether a session with the peer carries the family. */
export function carriesFamily({ peerAddress, dualStackAddressFamily }: BGPPeer, family: Family): boolean {
  return dualStackAddressFamily || peerAddress.family === family;
}

function resolve(snapshot: Snapshot, node: Node, peer: BGPPeer, runs: boolean): NodePeer['result'] {
  const found = passwordOf(snapshot, peer);
  const missing = typeof found === 'object' ? found : undefined;
  if (missing !== undefined && !runs) return { reason: reason('PeerPasswordMissing', missing) };
  const password = typeof found === 'object' ? undefined : found;
  const families: readonly Family[] = [4, 6];
  return {
    ...(missing === undefined ? {} : { passwordGone: missing }),
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
      routerID: routerIDOf(peer, node),
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

/** A password that was asked for and is not there must not become a session without one. */
function passwordOf(snapshot: Snapshot, peer: BGPPeer): string | undefined | MissingPassword {
  const { passwordSecret } = peer;
  if (passwordSecret === undefined) return peer.password === '' ? undefined : peer.password;
  const name = `${passwordSecret.namespace}/${passwordSecret.name}`;
  const missing = (why: string): MissingPassword => ({ peer: peer.metadata.name, secret: name, why });
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
function routerIDOf({ routerID }: BGPPeer, { metadata: { name }, internalIPs }: Node): Address {
  return routerID ?? internalIPs.find(({ family }) => family === 4) ?? { family: 4, value: BigInt(hash(name) || 1) };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
