import type { SessionOptions } from '../../bfd/index.ts';
import type { L2Candidate, L2Settings } from '../../decisions/l2/candidates.ts';
import type { AddressEntry, Link, Peer } from '../../l2/index.ts';
import type { NodeLink, NodeState } from '../../model/objects/node-state.ts';
import { formatAddress, isLinkLocal, type Address } from '../../net/address.ts';

/** Candidates watch each other at this interval, so that a failed one is noticed within three of them. */
const watchInterval = 50;

/** An address that this node may have to announce by ARP or NDP. */
export interface L2Plan {
  readonly address: string;
  /** The best one first. */
  readonly candidates: readonly L2Candidate[];
  readonly settings: L2Settings;
  /** A node of ours announced it before. Otherwise a foreign host may have it, for which the first owner looks before it claims it. */
  readonly everHeld: boolean;
}

/** Returns the entries of an address: one for each link on which this node is a candidate. */
export function entriesOf(plan: L2Plan, node: string, isForwarded: boolean): AddressEntry[] {
  const own = plan.candidates.find((candidate) => candidate.node === node);
  const names = plan.candidates.map((candidate) => candidate.node).filter((name) => isForwarded || name !== node);
  const { onConflict, refreshInterval } = plan.settings;
  return (own?.links ?? []).map((link) => ({
    address: plan.address,
    interface: link.name,
    candidates: names,
    everHeld: plan.everHeld,
    onConflict,
    refreshInterval: refreshInterval * 1000,
  }));
}

/** Returns the name of the BFD session with a node on a link. */
export function sessionName(networkInterface: string, node: string): string {
  return `l2/${networkInterface}/${node}`;
}

export interface Segment {
  readonly link: Link;
  readonly sessions: readonly SessionOptions[];
}

/**
 * Returns the link as the responder sees it: with every other node that reports a network in common, whose frames are no conflicts, and a BFD
 * session with each that is a candidate together with this node.
 */
export function segmentOf(
  own: NodeLink,
  node: string,
  others: Iterable<NodeState>,
  candidates: { has(node: string): boolean },
  promiscuous: boolean,
): Segment {
  const peers: Peer[] = [];
  const sessions: SessionOptions[] = [];
  for (const { metadata, links = [] } of others) {
    if (metadata.name === node) continue;
    const theirs = links.find((link) => sharesNetwork(own, link)) ?? links.find(({ name }) => name === own.name);
    if (theirs === undefined) continue;
    const options = candidates.has(metadata.name) ? sessionWith(own, theirs, sessionName(own.name, metadata.name)) : undefined;
    if (options !== undefined) sessions.push(options);
    peers.push({ node: metadata.name, mac: theirs.linkAddress, ...(options === undefined ? {} : { session: options.name }) });
  }
  return { link: { interface: own.name, mac: own.linkAddress, promiscuous, peers }, sessions };
}

function sharesNetwork(own: NodeLink, theirs: NodeLink): boolean {
  const key = ({ address, length }: NodeLink['networks'][number]): string => `${formatAddress(address)}/${length}`;
  const networks = new Set(own.networks.map(key));
  return theirs.networks.some((network) => networks.has(key(network)));
}

/** Undefined: the two nodes have no addresses of one family there, so they watch each other by ARP and NDP only. */
function sessionWith(own: NodeLink, theirs: NodeLink, name: string): SessionOptions | undefined {
  const pair = pairOf(own.addresses, theirs.addresses);
  if (pair === undefined) return undefined;
  const [localAddress, peer] = pair;
  return { name, peer, localAddress, interface: own.name, transmitInterval: watchInterval, receiveInterval: watchInterval };
}

/** Chooses the addresses of a session: IPv4, else IPv6, else link-local. Both nodes choose the same family. */
function pairOf(own: readonly Address[], theirs: readonly Address[]): readonly [Address, Address] | undefined {
  const kinds: readonly ((address: Address) => boolean)[] = [
    ({ family }) => family === 4,
    (address) => address.family === 6 && !isLinkLocal(address),
    isLinkLocal,
  ];
  for (const isOf of kinds) {
    const [local, peer] = [own.find(isOf), theirs.find(isOf)];
    if (local !== undefined && peer !== undefined) return [local, peer];
  }
  return undefined;
}
