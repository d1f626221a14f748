import { kernelFinding, type KernelFinding, type Problem, type ProblemContext } from './problem.ts';
import type { TransportFailure } from '../transport/transport.ts';
import { cease, errorCode, errorName, headerError, openError } from '../wire/codes.ts';
import { innermost, shutdownMessageOf, type Notification } from '../wire/notification.ts';

/** The side that refused the other: `us` sent the NOTIFICATION, or `peer` did. */
export type RefusedBy = 'us' | 'peer';

/** The evidence of a problem for its cause, for programs that act on it or word it themselves. Contains no counts. */
export type Evidence =
  /** Not caused by the peer or the path: stopped by this program, or this host cannot connect. */
  | { readonly kind: 'local'; readonly detail: string }
  /** The VRF of the session does not exist on this host. */
  | { readonly kind: 'noVrf' }
  /** The peer answers no connection attempt. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'unreachable'; readonly detail: string }
  /** The peer took the connection and sent no OPEN. */
  | { readonly kind: 'noOpen' }
  /** Nothing was heard for the hold time: by us, or by the peer, which then said so. */
  | { readonly kind: 'holdTimer'; readonly by: RefusedBy; readonly seconds?: number }
  /** The peer acknowledges or reads nothing. */
  | { readonly kind: 'stalled' }
  /** Closed because the program reported the path as lost (BFD). */
  | { readonly kind: 'pathLost' }
  /** An established connection was closed or reset without a NOTIFICATION. */
  | { readonly kind: 'closed'; readonly detail: string }
  /** The peer reset the connection attempt. `atOnce`: it took the connection and closed it before its OPEN. */
  | { readonly kind: 'refused'; readonly atOnce: boolean }
  /** The kernel of this host dropped segments meanwhile. It counts for all connections together. */
  | { readonly kind: 'dropped'; readonly finding: KernelFinding }
  /** `said`: the AS number in the peer's OPEN. Absent when the peer refused ours. */
  | { readonly kind: 'asn'; readonly by: RefusedBy; readonly said?: number }
  | { readonly kind: 'routerId'; readonly by: RefusedBy; readonly detail: string }
  | { readonly kind: 'holdTime'; readonly by: RefusedBy; readonly detail: string }
  | { readonly kind: 'families'; readonly by: RefusedBy; readonly detail: string }
  /** `text`: the shutdown communication of the peer. */
  | { readonly kind: 'cease'; readonly subcode: number; readonly name: string; readonly text?: string }
  /** `isNoBgp`: the octets of the peer are not those of BGP messages. */
  | { readonly kind: 'protocol'; readonly by: RefusedBy; readonly name: string; readonly detail: string; readonly isNoBgp?: true };

/** `saidAsn`: the AS number in the peer's OPEN, if there was one. */
export function evidenceOf(problem: Problem, context: ProblemContext, saidAsn?: number): Evidence {
  switch (problem.kind) {
    case 'connectFailed':
      return ofConnectFailure(problem.failure, context);
    case 'connectTimeout':
      return dropped(context) ?? { kind: 'silent' };
    case 'lost':
      return ofLoss(problem, context);
    case 'holdTimerExpired':
      if (problem.handshake) return dropped(context) ?? { kind: 'noOpen' };
      return { kind: 'holdTimer', by: 'us', seconds: problem.seconds };
    case 'sendHoldTimerExpired':
      return { kind: 'stalled' };
    case 'received':
      return ofNotification(problem.notification, 'peer', '', undefined);
    case 'sent':
      return ofNotification(problem.notification, 'us', problem.detail, saidAsn);
    case 'stopped': {
      const { code, subcode } = innermost(problem.notification);
      const isPathLost = code === errorCode.cease && subcode === cease.bfdDown;
      return isPathLost ? { kind: 'pathLost' } : { kind: 'local', detail: 'closed by us' };
    }
    case 'suspended':
    case 'peerRestarted':
    case 'collision':
      return { kind: 'local', detail: problem.kind };
  }
}

/**
 * Ranks evidence: 0 is about this host only; 1 is silence or an end without a reason, with many possible causes; 2 is a refusal without a
 * reason; 3 names its cause. Silence after a reason must not hide the reason.
 */
export function strengthOf(evidence: Evidence): 0 | 1 | 2 | 3 {
  switch (evidence.kind) {
    case 'local':
    case 'noVrf':
      return 0;
    case 'silent':
    case 'unreachable':
    case 'noOpen':
    case 'stalled':
    case 'pathLost':
    case 'closed':
      return 1;
    case 'holdTimer':
      return evidence.by === 'us' ? 1 : 3;
    case 'refused':
      return 2;
    case 'cease':
      return evidence.subcode === cease.connectionCollision ? 2 : 3;
    case 'dropped':
    case 'asn':
    case 'routerId':
    case 'holdTime':
    case 'families':
    case 'protocol':
      return 3;
  }
}

function dropped(context: ProblemContext): Evidence | undefined {
  const finding = kernelFinding(context);
  return finding === undefined ? undefined : { kind: 'dropped', finding };
}

function ofConnectFailure({ kind, detail }: TransportFailure, context: ProblemContext): Evidence {
  switch (kind) {
    case 'refused':
    case 'reset':
      return { kind: 'refused', atOnce: false };
    case 'unreachable':
      return { kind, detail };
    case 'timeout':
      return dropped(context) ?? { kind: 'silent' };
    case 'noVrf':
      return { kind };
    case 'unsupported':
    case 'notReady':
    case 'inUse':
    case 'denied':
    case 'other':
      return { kind: 'local', detail };
  }
}

function ofLoss({ failure, handshake }: Problem & { readonly kind: 'lost' }, context: ProblemContext): Evidence {
  if (failure?.kind === 'timeout') return dropped(context) ?? { kind: 'stalled' };
  if (failure?.kind === 'unreachable') return { kind: 'unreachable', detail: failure.detail };
  const isClosed = failure === undefined || failure.kind === 'reset';
  if (handshake && isClosed) return dropped(context) ?? { kind: 'refused', atOnce: true };
  return { kind: 'closed', detail: failure?.detail ?? 'without a NOTIFICATION' };
}

function ofNotification(notification: Notification, by: RefusedBy, detail: string, said: number | undefined): Evidence {
  const inner = innermost(notification);
  const { code, subcode } = inner;
  const name = errorName(code, subcode);
  if (code === errorCode.open) {
    if (subcode === openError.peerAs) return { kind: 'asn', by, ...(said === undefined ? {} : { said }) };
    if (subcode === openError.routerId) return { kind: 'routerId', by, detail };
    if (subcode === openError.holdTime) return { kind: 'holdTime', by, detail };
    if (subcode === openError.capability) return { kind: 'families', by, detail };
  }
  if (code === errorCode.holdTimer && by === 'peer') return { kind: 'holdTimer', by };
  if (code === errorCode.cease && by === 'peer') {
    const text = shutdownMessageOf(inner);
    return { kind: 'cease', subcode, name, ...(text === undefined ? {} : { text }) };
  }
  const isNoBgp = by === 'us' && code === errorCode.header && subcode === headerError.notSynchronized;
  return { kind: 'protocol', by, name, detail, ...(isNoBgp ? { isNoBgp } : {}) };
}
