import type { SessionFacts } from './session-facts.ts';
import { limits } from '../../../model/limits.ts';
import type { Node } from '../../../model/objects/cluster.ts';
import type { NodeState } from '../../../model/objects/node-state.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { bitsOf, formatAddress, parseAddress, type Address } from '../../../net/address.ts';
import { prefixContains, type Prefix } from '../../../net/prefix.ts';
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

/** How the speakers of this cluster appear in paths. */
export interface OwnSpeakers {
  readonly asns: ReadonlySet<number>;
  /** Computed when it is asked for, because it grows with nodes and peers. */
  readonly routerIDs: () => ReadonlySet<string>;
}

export function ownSpeakers({ peers, nodes }: Pick<Snapshot, 'peers' | 'nodes'>): OwnSpeakers {
  const all = [...peers.values()];
  return {
    asns: new Set(all.flatMap(({ myASN, localASN }) => [myASN, ...(localASN === undefined ? [] : [localASN])])),
    routerIDs: () => new Set([...nodes.values()].flatMap((node) => all.map((peer) => formatAddress(routerIDOf(peer, node))))),
  };
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

/** `links`: networks. */
function isForeignOn(links: readonly Prefix[], address: Address, snapshot: Snapshot): boolean {
  const link = links.find((one) => one.length < bitsOf(one.address.family) && prefixContains(one, address));
  if (link === undefined || addressesOfOthers(snapshot).hosts.has(formatAddress(address))) return false;
  return [...snapshot.nodes].every(
    ([name, other]) =>
      areAllReported(snapshot.nodeStates.get(name)) || hasAddressOn(link, other) || peersOfNode(snapshot, name).length === 0,
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
 * AS of ours, one whose last AS is the router's own (an aggregate, or as-override), and one of the same AS whose first router is a node of ours,
 * or is not named. The next hop tells nothing: FRR sends no UPDATE when only the next hop of its best path changes.
 */
export function isOfOtherSpeaker({ asPath, originatorId }: PathOrigin, peerASN: number, ours: OwnSpeakers): boolean {
  if (asPath.some((asn) => ours.asns.has(asn))) return false;
  if (asPath.length > 0) return asPath.at(-1) !== peerASN;
  return originatorId !== undefined && !ours.routerIDs().has(originatorId);
}

/** AS numbers of a path that a sentence names. */
const namedAsns = 8;

export function prefixContended(path: RouterPath, { peer, router }: Pick<SessionFacts, 'peer' | 'router'>): Reason {
  const { own, prefix, nextHops, asPath } = path;
  const shown = asPath.slice(0, namedAsns).join(' ');
  return reason('PrefixContended', {
    peer,
    router,
    prefix: own,
    received: prefix,
    nextHop: nextHops[0] ?? '',
    asPath: asPath.length > namedAsns ? `${shown} ...` : shown,
  });
}
