import { defined } from '../../lang/defined.ts';
import { addressOfSession, peersOfNode, routerOf, type NodePeer } from '../../decisions/announcement/peers.ts';
import { currentReport, type SessionNeighbor, type SessionStatus } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { ageText, secondsSince } from '../text/age.ts';

/** A session of a node as its agent reports it, or why there is none. Plain data. */
export interface SessionExplanation {
  readonly peer: string;
  /** The address of the router, by the agent's report or the BGPPeer. */
  readonly address: string;
  readonly localASN: number;
  /** A number, "internal" or "external". The number in the router's OPEN, if known. */
  readonly peerASN: number | string;
  /** Why the node should have no session. */
  readonly reason?: Reason;
  /** Absent: not reported. */
  readonly state?: SessionStatus['state'];
  readonly secondsInState?: number;
  /** Why the session is down or went down last. It quotes the router's own text and names the probable cause. */
  readonly lastError?: string;
  readonly prefixesSent?: number;
  /** Families that the session carries, or should. Counts are those that the agent reports. */
  readonly families: readonly {
    readonly family: string;
    readonly sent?: number;
    readonly received?: number;
    readonly accepted?: number;
    readonly installed?: number;
  }[];
  readonly bfd?: { readonly state: string; readonly reason?: string };
  /** The routers that connected, of a BGPPeer with dynamicNeighbors. */
  readonly neighbors?: readonly SessionNeighbor[];
}

/** Sorted by peer name. `now` is in milliseconds since the epoch. */
export function sessionsOfNode(snapshot: Snapshot, node: string, now: number): SessionExplanation[] {
  const reported = new Map(currentReport(snapshot.nodeStates, node, now)?.sessions.map((session) => [session.peer, session]));
  return peersOfNode(snapshot, node).map((peer) => explainSession(snapshot, peer, reported.get(peer.peer), now));
}

function explainSession(
  snapshot: Snapshot,
  { peer, result }: NodePeer,
  status: SessionStatus | undefined,
  now: number,
): SessionExplanation {
  const object = snapshot.peers.get(peer);
  const isNumbered = object !== undefined && addressOfSession(object) !== undefined;
  const configured = isNumbered ? routerOf(object) : `unnumbered on ${object?.interface ?? '?'}`;
  const decided = 'session' in result ? result.session : undefined;
  const seconds = secondsSince(status?.since, now);
  return {
    peer,
    address: status?.address ?? configured,
    localASN: status?.localASN ?? decided?.localASN ?? object?.myASN ?? 0,
    peerASN:
      status === undefined || status.peerASN === 0 ? (decided?.peerASN ?? object?.peerASN ?? object?.dynamicASN ?? 0) : status.peerASN,
    ...('reason' in result ? { reason: result.reason } : {}),
    ...(status === undefined ? {} : { state: status.state, prefixesSent: status.prefixesSent }),
    families: status?.families ?? (decided?.families ?? []).map((family) => ({ family: `IPv${family}` })),
    ...defined({ secondsInState: seconds }),
    ...(status?.lastError === undefined ? {} : { lastError: status.lastError }),
    ...(status?.bfd === undefined ? {} : { bfd: { state: status.bfd.state, ...defined({ reason: status.bfd.reason }) } }),
    ...defined({ neighbors: status?.neighbors }),
  };
}

/** One line for each router that connected, such as "10.1.0.7 (AS 65101): Established for 3 h". */
export function neighborLines({ neighbors = [] }: SessionExplanation, now: number): string[] {
  return neighbors.map(({ address, peerASN, state, since, lastError }) => {
    const age = secondsSince(since, now);
    const error = lastError === undefined || state === 'Established' ? '' : `: ${lastError}`;
    return `${address} (${peerASN === 0 ? 'AS unknown' : `AS ${peerASN}`}): ${state}${age === undefined ? '' : ` for ${ageText(age)}`}${error}`;
  });
}

/** "tor1 (10.1.0.1, AS 65101): Established for 3 h". */
export function sessionText({ peer, address, peerASN, state, secondsInState, lastError, bfd }: SessionExplanation): string {
  const asn = typeof peerASN === 'number' ? `AS ${peerASN}` : `${peerASN} AS`;
  const age = secondsInState === undefined ? '' : ` for ${ageText(secondsInState)}`;
  const how = state === undefined ? 'not reported' : `${state}${age}`;
  const error = lastError === undefined ? '' : state === 'Established' ? ` (before: ${lastError})` : `: ${lastError}`;
  const watched = bfd === undefined ? '' : `, BFD ${bfd.state}${bfd.reason === undefined ? '' : ` (${bfd.reason})`}`;
  return `${peer} (${address}, ${asn}): ${how}${error}${watched}`;
}
