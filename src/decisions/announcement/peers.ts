import { defined } from '../../lang/defined.ts';
import { formatAddress, isLinkLocal, sameAddress, type Address, type Family } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Node } from '../../model/objects/cluster.ts';
import type { BGPPeer } from '../../model/kinds/types.ts';
import type { SessionStatus } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { anySelects } from '../../model/objects/label-selector.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** A BGPPeer that selects the node. */
export interface NodePeer {
  readonly peer: string;
  readonly result: PeerSession | { readonly reason: Reason };
}

export interface PeerSession {
  readonly session: SessionIntent;
  /** The Secret with the password is missing. A running session keeps its last password; `session` has none. */
  readonly passwordGone?: MissingPassword;
  /** Name of a BFDProfile that does not exist. `session` has no BFD; a running session keeps its own. */
  readonly missingProfile?: string;
}

interface MissingPassword {
  readonly peer: string;
  readonly secret: string;
  readonly why: string;
}

/** Returns a problem that a session has although it runs. */
export function sessionWarning(peer: string, { session, passwordGone, missingProfile }: PeerSession): Reason | undefined {
  if (passwordGone !== undefined) return reason('PeerPasswordGone', passwordGone);
  if (missingProfile === undefined) return undefined;
  return reason(session.bfdStrict ? 'StrictBFDProfileMissing' : 'BFDProfileMissing', { peer, profile: missingProfile });
}

/** The settings of one session, with everything resolved. */
export interface SessionIntent {
  readonly peer: string;
  readonly localASN: number;
  /** A number, or any ASN equal to ours (internal) or different from it (external). */
  readonly peerASN: number | 'internal' | 'external';
  /** Absent when the peer is discovered on `interface`, which is then present. */
  readonly peerAddress?: Address;
  readonly interface?: string;
  /** The routers that may connect. Present: `peerAddress` and `interface` are absent, and `passive` is true. */
  readonly dynamicNeighbors?: NonNullable<BGPPeer['dynamicNeighbors']>;
  /** Name of the device. Absent: the session is in no VRF, or in that of `interface`. */
  readonly vrf?: string;
  readonly peerPort: number;
  readonly sourceAddress?: Address;
  /** The interface whose address is the source. */
  readonly sourceInterface?: string;
  readonly holdTimeSeconds: number;
  readonly keepaliveTimeSeconds: number;
  readonly connectTimeSeconds?: number;
  /** IPv4, not 0.0.0.0. */
  readonly routerID: Address;
  /** Never empty. Must never be logged. */
  readonly password?: string;
  /** The address families that the session carries, IPv4 first. */
  readonly families: readonly Family[];
  /** Next hop for routes of the other family than peerAddress's: the node's primary InternalIP of that family, or an address of the link to the peer. */
  readonly otherNextHop?: Address;
  readonly ebgpMultiHop: boolean;
  readonly ttlSecurityHops?: number;
  readonly gracefulRestart: boolean;
  readonly passive: boolean;
  readonly flapDamping: boolean;
  readonly adminDown: boolean;
  readonly shutdownMessage?: string;
  /** Which routes of the peer the node accepts. Absent: none. */
  readonly import?: ImportIntent;
  readonly bfd?: BfdIntent;
  /** The session waits until BFD is up. */
  readonly bfdStrict: boolean;
}

export type ImportIntent = NonNullable<BGPPeer['import']>;

/** How BFD monitors the path to a peer. Intervals in milliseconds. */
export interface BfdIntent {
  readonly receiveInterval: number;
  readonly transmitInterval: number;
  readonly detectMultiplier: number;
  readonly passive: boolean;
  /** Minimum TTL of packets from a multihop peer. Absent for a neighbour. */
  readonly minimumTtl?: number;
}

/**
 * Returns the BGPPeers that select the node, by name. Empty without a Node object or a matching BGPPeer. The sessions in the node's last
 * report are an input too: a mistake in another object must not end a running session.
 */
export function peersOfNode(snapshot: Snapshot, nodeName: string): readonly NodePeer[] {
  const node = snapshot.nodes.get(nodeName);
  if (node === undefined) return [];
  const reported = snapshot.nodeStates.get(nodeName)?.sessions ?? [];
  const running = new Map(reported.filter(({ since }) => since !== '').map((session) => [session.peer, session]));
  const selected = [...snapshot.peers.values()]
    .filter(({ nodeSelectors }) => anySelects(nodeSelectors, node.metadata.labels))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const owners = ownersOfRouters(selected, running);
  return selected.map((peer): NodePeer => {
    const { name } = peer.metadata;
    const owner = owners.get(name);
    if (owner !== undefined) return { peer: name, result: { reason: reason('DuplicatePeer', { address: routerOf(peer), other: owner }) } };
    return { peer: name, result: resolve(snapshot, node, peer, running.has(name)) };
  });
}

/**
 * Returns peers that lose their router to another BGPPeer, with that peer. A router tells sessions apart by their addresses (RFC 4271 6.8),
 * so of several BGPPeers for one router all but one would only disturb it. The one whose session runs wins, else the oldest, else the first
 * by name. `running` holds the reported sessions by peer name.
 */
function ownersOfRouters(peers: readonly BGPPeer[], running: ReadonlyMap<string, SessionStatus>): ReadonlyMap<string, string> {
  const rank = (peer: BGPPeer): string => {
    const { name, creationTimestamp } = peer.metadata;
    return [runsSession(peer, running.get(name)) ? '0' : '1', creationTimestamp === '' ? '~' : creationTimestamp, name].join(' ');
  };
  const owners = new Map<string, string>();
  const settled = new Map<string, BGPPeer[]>();
  for (const peer of peers.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))) {
    const onLink = peer.dynamicNeighbors === undefined && (peer.peerAddress === undefined || isLinkLocal(peer.peerAddress));
    // An address means another router in each VRF.
    const place = onLink ? `%${peer.interface}` : `${routerOf(peer)} ${peer.vrf ?? ''}`;
    const others = settled.get(place) ?? [];
    const owner = others.find((other) => mayBeOneRouter(peer, other));
    if (owner === undefined) settled.set(place, [...others, peer]);
    else owners.set(peer.metadata.name, owner.metadata.name);
  }
  return owners;
}

/** True when the reported session is with the router of the BGPPeer. */
export function runsSession({ peerAddress, interface: networkInterface }: BGPPeer, session: SessionStatus | undefined): boolean {
  if (session === undefined) return false;
  return peerAddress === undefined ? session.interface === networkInterface : session.address === formatAddress(peerAddress);
}

/** One address on two interfaces may belong to two routers. A link may have several routers with link-local addresses. */
function mayBeOneRouter(a: BGPPeer, b: BGPPeer): boolean {
  const interfaces = a.interface === undefined || b.interface === undefined || a.interface === b.interface;
  return interfaces && (a.peerAddress === undefined || b.peerAddress === undefined || sameAddress(a.peerAddress, b.peerAddress));
}

/** Names the router in messages. */
export function routerOf({ peerAddress, interface: networkInterface, dynamicNeighbors }: BGPPeer): string {
  if (dynamicNeighbors !== undefined) return dynamicNeighbors.ranges.map(formatPrefix).join(', ');
  return peerAddress === undefined ? `the router on ${networkInterface}` : formatAddress(peerAddress);
}

/** True when a session with the peer carries the family. */
export function carriesFamily(peer: BGPPeer, family: Family): boolean {
  const address = addressOfSession(peer);
  return peer.dualStackAddressFamily || address === undefined || address.family === family;
}

/** Returns an address of the family that the sessions with the peer run over. Undefined: the peer is unnumbered. */
export function addressOfSession({ peerAddress, dynamicNeighbors }: Partial<BGPPeer | SessionIntent>): Address | undefined {
  return peerAddress ?? dynamicNeighbors?.ranges[0]?.address;
}

function resolve(snapshot: Snapshot, node: Node, peer: BGPPeer, isRunning: boolean): NodePeer['result'] {
  const found = passwordOf(snapshot, peer);
  const missing = typeof found === 'object' ? found : undefined;
  if (missing !== undefined && !isRunning) return { reason: reason('PeerPasswordMissing', missing) };
  const password = typeof found === 'object' ? undefined : found;
  const families: readonly Family[] = [4, 6];
  const bfd = bfdOf(snapshot, peer);
  const bfdStrict = peer.bfdStrict && !peer.adminDown;
  if (bfd === 'missing' && peer.bfdProfile !== undefined && bfdStrict && !isRunning) {
    return { reason: reason('StrictBFDProfileMissing', { peer: peer.metadata.name, profile: peer.bfdProfile }) };
  }
  return {
    ...defined({ passwordGone: missing }),
    ...(bfd === 'missing' && peer.bfdProfile !== undefined ? { missingProfile: peer.bfdProfile } : {}),
    session: {
      peer: peer.metadata.name,
      localASN: peer.localASN ?? peer.myASN,
      // The model guarantees exactly one of the two.
      peerASN: peer.peerASN ?? peer.dynamicASN ?? 'external',
      ...defined({ peerAddress: peer.peerAddress, interface: peer.interface, vrf: peer.vrf, dynamicNeighbors: peer.dynamicNeighbors }),
      peerPort: peer.peerPort,
      ...defined({ sourceAddress: peer.sourceAddress, sourceInterface: peer.sourceInterface }),
      holdTimeSeconds: peer.holdTimeSeconds,
      keepaliveTimeSeconds: peer.keepaliveTimeSeconds,
      ...defined({ connectTimeSeconds: peer.connectTimeSeconds }),
      routerID: routerIDOf(peer, node),
      ...defined({ password }),
      families: families.filter((family) => carriesFamily(peer, family)),
      ...otherNextHop(peer, node),
      ebgpMultiHop: peer.ebgpMultiHop,
      ...defined({ ttlSecurityHops: peer.ttlSecurityHops }),
      gracefulRestart: peer.enableGracefulRestart,
      passive: peer.passive || peer.dynamicNeighbors !== undefined,
      flapDamping: peer.flapDamping,
      adminDown: peer.adminDown,
      ...defined({ shutdownMessage: peer.shutdownMessage, import: peer.import }),
      ...(bfd === undefined || bfd === 'missing' ? {} : { bfd }),
      bfdStrict,
    },
  };
}

/** On a link without addresses the next hop is link-local for IPv4 too (RFC 8950): the router can reach no other. */
function otherNextHop(peer: BGPPeer, { internalIPs }: Node): Pick<SessionIntent, 'otherNextHop'> {
  const [peerAddress, { dualStackAddressFamily }] = [addressOfSession(peer), peer];
  if (peerAddress === undefined || isLinkLocal(peerAddress)) return {};
  const address = internalIPs.find(({ family }) => family !== peerAddress.family);
  return dualStackAddressFamily && address !== undefined ? { otherNextHop: address } : {};
}

/** A session that is administratively down needs no BFD. */
function bfdOf(snapshot: Snapshot, peer: BGPPeer): BfdIntent | 'missing' | undefined {
  if (peer.bfdProfile === undefined || peer.adminDown) return undefined;
  const profile = snapshot.bfdProfiles.get(peer.bfdProfile);
  if (profile === undefined) return 'missing';
  const { receiveInterval, transmitInterval, detectMultiplier, passiveMode, minimumTtl } = profile;
  // RFC 5883 applies to a router several hops away. TTL security with one hop means a neighbour.
  const isFar = peer.ebgpMultiHop || (peer.ttlSecurityHops ?? 1) > 1;
  return { receiveInterval, transmitInterval, detectMultiplier, passive: passiveMode, ...(isFar ? { minimumTtl } : {}) };
}

/** A session must never start without a password that was configured and cannot be found. */
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
 * Returns the BGP Identifier: the configured one, else the node's first IPv4 address. A node without one gets a hash of its name, which RFC
 * 6286 2.1 allows as long as identifiers are unique within the AS and not zero. Routers that follow RFC 4271 accept only addresses of hosts.
 */
export function routerIDOf({ routerID }: BGPPeer, { metadata: { name }, internalIPs }: Node): Address {
  return routerID ?? internalIPs.find(({ family }) => family === 4) ?? hashedHostAddress(name);
}

function hashedHostAddress(name: string): Address {
  const value = hash(name);
  const octet = value >>> 24;
  const isOfHost = octet !== 0 && octet !== 127 && octet < 224;
  return { family: 4, value: BigInt(isOfHost ? value : (((octet % 126) + 1) << 24) | (value & 0xff_ffff)) };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
