import type { SessionFacts } from './session-facts.ts';
import { limits } from '../../../model/limits.ts';
import type { Node } from '../../../model/objects/cluster.ts';
import type { NodeState } from '../../../model/objects/node-state.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import {
  bitsOf,
  familyOfText,
  formatAddress,
  isLinkLocal,
  parseAddress,
  parseAddressLeniently,
  sameAddress,
  type Address,
} from '../../../net/address.ts';
import { prefixContains, type Prefix } from '../../../net/prefix.ts';
import type { HostInterface } from '../../../system/host.ts';
import { addressesOfOthers } from '../../addresses-of-others.ts';
import { peersOfNode, routerIDOf } from '../peers.ts';

/** The attributes of a path that tell its speaker. */
interface PathOrigin {
  readonly nextHops: readonly string[];
  readonly asPath: readonly number[];
  readonly originatorId?: string;
}

/** A path that a router announces for a prefix of ours, or for a part of it. */
export interface RouterPath extends PathOrigin {
  /** The prefix that the node announces to the router. */
  readonly own: string;
  readonly prefix: string;
}

/** The session over which a path came. */
interface PathSession {
  readonly peerASN: number;
  /** The router's address. */
  readonly address: string;
}

/** How the speakers of this cluster appear in paths. */
export interface OwnSpeakers {
  readonly asns: ReadonlySet<number>;
  /** Computed when it is asked for, because it grows with nodes and peers. */
  readonly routerIDs: () => ReadonlySet<string>;
  /** True for an address of a link of this node that certainly no Node of the cluster has, and no router that is known. */
  readonly isForeign: (address: Address) => boolean;
}

/** The node that looks, with the interfaces of its host. */
interface Observer {
  readonly node: string;
  readonly interfaces: () => readonly HostInterface[];
}

export function ownSpeakers(snapshot: Snapshot, observer: Observer): OwnSpeakers {
  const { peers, nodes } = snapshot;
  const all = [...peers.values()];
  return {
    asns: new Set(all.flatMap(({ myASN, localASN }) => [myASN, ...(localASN === undefined ? [] : [localASN])])),
    routerIDs: () => new Set([...nodes.values()].flatMap((node) => all.map((peer) => formatAddress(routerIDOf(peer, node))))),
    isForeign: (address) => isForeign(snapshot, observer, address),
  };
}

function isForeign(snapshot: Snapshot, { node, interfaces }: Observer, address: Address): boolean {
  const own = interfaces().flatMap(({ address: text, length }) => {
    const read = parseAddressLeniently(text);
    return read.ok ? [{ address: read.value, length }] : [];
  });
  if (own.some((one) => sameAddress(one.address, address))) return false;
  return isForeignOn(own, address, snapshot, node);
}

/** True for a next hop of a router that is an address of a link of nodes, and certainly of no Node of the cluster and no router that is known. */
export function isForeignNextHop(snapshot: Snapshot, text: string): boolean {
  const read = parseAddress(text);
  const interfaces = [...snapshot.nodeStates.values()].flatMap((state) => state.interfaces ?? []);
  return (
    read.ok &&
    isForeignOn(
      interfaces.flatMap(({ addresses }) => addresses),
      read.value,
      snapshot,
    )
  );
}

/** `links`: networks. `observer`: the node whose addresses are not among them. */
function isForeignOn(links: readonly Prefix[], address: Address, snapshot: Snapshot, observer?: string): boolean {
  const link = links.find((one) => one.length < bitsOf(one.address.family) && prefixContains(one, address));
  if (link === undefined || addressesOfOthers(snapshot).hosts.has(formatAddress(address))) return false;
  return [...snapshot.nodes].every(
    ([name, other]) =>
      name === observer ||
      areAllReported(snapshot.nodeStates.get(name)) ||
      hasAddressOn(link, other) ||
      peersOfNode(snapshot, name).length === 0,
  );
}

/** True when the report has every address of the node: it was not cut. */
function areAllReported({ interfaces = [] }: Pick<NodeState, 'interfaces'> = {}): boolean {
  const isWhole = (list: readonly unknown[]): boolean => list.length < limits.nodeInterfaces;
  return interfaces.length > 0 && isWhole(interfaces) && interfaces.every(({ addresses }) => isWhole(addresses));
}

const hasAddressOn = (link: Prefix, { internalIPs, externalIPs = [] }: Node): boolean =>
  [...internalIPs, ...externalIPs].some((address) => prefixContains(link, address));

/**
 * True when a speaker outside of this cluster has certainly announced the path. Paths that may come from another node are left out: one with an
 * AS of ours whose next hop may be a node or a router, one whose last AS is the router's own (an aggregate, or as-override), and one of the same
 * AS whose first router is a node of ours, or is not named.
 */
export function isOfOtherSpeaker(origin: PathOrigin, session: PathSession, ours: OwnSpeakers): boolean {
  const { asPath, originatorId } = origin;
  const { peerASN } = session;
  if (hasOwnAs(origin, ours)) return isOfForeignNextHop(origin, session, ours);
  if (asPath.length > 0) return asPath.at(-1) !== peerASN;
  return originatorId !== undefined && !ours.routerIDs().has(originatorId);
}

const hasOwnAs = ({ asPath }: PathOrigin, { asns }: Pick<OwnSpeakers, 'asns'>): boolean => asPath.some((asn) => asns.has(asn));

/**
 * True for a path that the router has from a direct neighbour in an AS of ours, and whose next hop is foreign. A router keeps the next hop of a
 * neighbour on a link that it shares with this node (RFC 4271 5.1.3), and else puts itself there. Of its addresses only those of the family of the
 * session are known, so next hops of the other family tell nothing.
 */
function isOfForeignNextHop({ asPath, nextHops }: PathOrigin, { peerASN, address }: PathSession, ours: OwnSpeakers): boolean {
  const behind = asPath.findIndex((asn) => asn !== peerASN);
  if (behind < 1 || !asPath.slice(behind).every((asn) => ours.asns.has(asn))) return false;
  const read = nextHops.map((text) => parseAddress(text)).flatMap((one) => (one.ok && !isLinkLocal(one.value) ? [one.value] : []));
  const [hop] = read;
  if (hop === undefined || read.length > 1 || address === '' || hop.family !== familyOfText(address)) return false;
  return formatAddress(hop) !== address && ours.isForeign(hop);
}

/** AS numbers of a path that a sentence names. */
const namedAsns = 8;

export function prefixContended(
  path: RouterPath,
  { peer, router }: Pick<SessionFacts, 'peer' | 'router'>,
  ours: Pick<OwnSpeakers, 'asns'>,
): Reason {
  const { own, prefix, nextHops, asPath } = path;
  const shown = asPath.slice(0, namedAsns).join(' ');
  return reason('PrefixContended', {
    peer,
    router,
    prefix: own,
    received: prefix,
    nextHop: nextHops[0] ?? '',
    asPath: asPath.length > namedAsns ? `${shown} ...` : shown,
    ...(hasOwnAs(path, ours) ? { ownAS: true } : {}),
  });
}
