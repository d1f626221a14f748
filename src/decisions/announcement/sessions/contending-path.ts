import type { SessionFacts } from './session-facts.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress } from '../../../net/address.ts';
import { routerIDOf } from '../peers.ts';

/** A path that a router announces for a prefix of ours, or for a part of it. */
export interface RouterPath {
  /** The prefix that the node announces to the router. */
  readonly own: string;
  readonly prefix: string;
  readonly nextHops: readonly string[];
  readonly asPath: readonly number[];
  readonly originatorId?: string;
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

/**
 * True when a speaker outside of this cluster has certainly announced the path. Paths that may come from another node are left out: one with an
 * AS of ours, one whose last AS is the router's own (an aggregate, or as-override), and one of the same AS whose first router is a node of ours,
 * or is not named.
 */
export function isOfOtherSpeaker({ asPath, originatorId }: RouterPath, peerASN: number, ours: OwnSpeakers): boolean {
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
