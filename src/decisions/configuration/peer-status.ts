import type { BGPPeer } from '../../model/configuration.ts';
import { currentReport } from '../../model/node-state.ts';
import { reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { peersOfNode, sessionWarning } from '../announcement/peers.ts';
import type { ObjectStatus } from './object-status.ts';

/** What is missing, while there is a session without it. */
const runsAllTheSame: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['PeerPasswordGone', 'BFDProfileMissing']);

/** What a node has to do with a peer that selects it. */
export interface PeerOnNode {
  readonly expected: boolean;
  readonly established: boolean;
  /** Why the node has no session with it, or not all that was asked for. */
  readonly refused?: Reason;
}

/** Of all nodes that a peer selects. */
export interface PeerSummary {
  readonly nodes: number;
  readonly expected: number;
  readonly established: number;
  /** Of the first node by name that refuses it. */
  readonly refused?: Reason;
}

/** By name of the peer. A report that is old does not count, nor one whose agent was stopped. `now`: milliseconds since the epoch. */
export function peersOnNode(snapshot: Snapshot, node: string, now: number): ReadonlyMap<string, PeerOnNode> {
  const report = currentReport(snapshot.nodeStates, node, now);
  const sessions = report?.problem?.code === 'AgentStopped' ? [] : (report?.sessions ?? []);
  const up = new Set(sessions.flatMap(({ peer, state }) => (state === 'Established' ? [peer] : [])));
  return new Map(
    peersOfNode(snapshot, node).map(({ peer, result }) => {
      if ('reason' in result) return [peer, { expected: true, established: false, refused: result.reason }];
      const { session } = result;
      const refused = sessionWarning(peer, result);
      const established = !session.adminDown && up.has(peer);
      return [peer, { expected: !session.adminDown, established, ...(refused === undefined ? {} : { refused }) }];
    }),
  );
}

export function peerStatus({ metadata: { name }, adminDown }: BGPPeer, summary: PeerSummary): ObjectStatus {
  const { nodes, expected, established, refused } = summary;
  const unready = refused !== undefined && !runsAllTheSame.has(refused.code) ? refused : whyNotReady();
  return {
    ...(refused === undefined ? {} : { refused }),
    ...(unready === undefined ? {} : { unready }),
    fields: { sessions: `${established}/${expected}`, sessionsEstablished: established, sessionsExpected: expected },
  };

  function whyNotReady(): Reason | undefined {
    if (adminDown) return reason('PeerAdminDown', { peer: name });
    if (nodes === 0) return reason('PeerSelectsNoNode', { peer: name });
    return established < expected ? reason('SessionsMissing', { peer: name, established, expected }) : undefined;
  }
}
