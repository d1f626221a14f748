import { defined } from '../../lang/defined.ts';
import type { BGPPeer } from '../../model/kinds/types.ts';
import { runningReport } from '../../model/objects/node-state.ts';
import { reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { peersOfNode, sessionWarning } from '../announcement/peers.ts';
import { whySessionDown } from '../announcement/sessions/session-down.ts';
import type { ObjectStatus } from './object-status.ts';

/** Reasons that leave the session running. */
const runsAllTheSame = new Set<string>([
  'PeerPasswordGone',
  'BFDProfileMissing',
  'StrictBFDProfileMissing',
  'DuplicateRouterID',
  'NextHopNotOnLink',
] satisfies ReasonCode[]);

/** One node's view of a peer that selects it. */
export interface PeerOnNode {
  readonly expected: boolean;
  readonly established: boolean;
  /** The BGP Identifier of the node in the session, as text. */
  readonly routerID?: string;
  /** Why the node has no session with the peer, or only a part of what was asked for. */
  readonly refused?: Reason;
  /** Why the expected session is down, by the agent's report. Absent: it is up, or unknown. */
  readonly cause?: Reason;
  /** A feature that the established session lacks, by the agent's report. */
  readonly warning?: Reason;
}

/** Summary over all nodes that a peer selects. */
export interface PeerSummary {
  readonly nodes: number;
  readonly expected: number;
  readonly established: number;
  /** From the first node, by name, that refuses the peer. */
  readonly refused?: Reason;
  /** Why a session is down, from the first node, by name, that reports a cause. */
  readonly cause?: Reason;
  /** Why a session that is up lacks BFD or a family, as the agent of a node reports. Of several nodes the first by name counts. */
  readonly warning?: Reason;
  /** Two nodes, by name, that use the same BGP Identifier. */
  readonly sharedID?: { readonly routerID: string; readonly nodes: readonly [string, string] };
}

/** Returns the node's view by peer name. Old reports and those of stopped agents do not count. `now` is in milliseconds since the epoch. */
export function peersOnNode(snapshot: Snapshot, node: string, now: number): ReadonlyMap<string, PeerOnNode> {
  const sessions = runningReport(snapshot.nodeStates, node, now)?.sessions ?? [];
  const reported = new Map(sessions.map((session) => [session.peer, session]));
  return new Map(
    peersOfNode(snapshot, node).map(({ peer, result }): [string, PeerOnNode] => {
      if ('reason' in result) return [peer, { expected: true, established: false, refused: result.reason }];
      const { session } = result;
      const refused = sessionWarning(peer, result);
      const status = reported.get(peer);
      const established = !session.adminDown && status?.state === 'Established';
      // A report without a typed cause says no more than that the session is missing.
      const why = session.adminDown || status === undefined ? undefined : whySessionDown(peer, status);
      const cause = why?.code === 'SessionDown' ? undefined : why;
      const warning = established ? status.warning : undefined;
      const routerID = session.adminDown ? {} : { routerID: formatAddress(session.routerID) };
      return [peer, { expected: !session.adminDown, established, ...routerID, ...defined({ refused, cause, warning }) }];
    }),
  );
}

export function peerStatus({ metadata: { name }, adminDown }: BGPPeer, summary: PeerSummary): ObjectStatus {
  const { nodes, expected, established } = summary;
  const refused = summary.refused ?? duplicateRouterID();
  const unready = refused !== undefined && !runsAllTheSame.has(refused.code) ? refused : whyNotReady();
  return {
    ...defined({ refused, unready }),
    fields: { sessions: `${established}/${expected}`, sessionsEstablished: established, sessionsExpected: expected },
  };

  /** Identifiers must be unique in an AS (RFC 6286 2.1). Some routers accept only one of two sessions; FRR accepts both. */
  function duplicateRouterID(): Reason | undefined {
    if (summary.sharedID === undefined) return undefined;
    const { routerID, nodes } = summary.sharedID;
    return reason('DuplicateRouterID', { peer: name, routerID, node: nodes[0], other: nodes[1] });
  }

  function whyNotReady(): Reason | undefined {
    if (adminDown) return reason('PeerAdminDown', { peer: name });
    if (nodes === 0) return reason('PeerSelectsNoNode', { peer: name });
    if (established >= expected) return runsAllTheSame.has(summary.warning?.code ?? '') ? undefined : summary.warning;
    return summary.cause ?? reason('SessionsMissing', { peer: name, established, expected });
  }
}
