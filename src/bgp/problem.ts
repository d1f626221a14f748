import { errorName } from './wire/codes.ts';
import { describeNotification, type Notification } from './wire/notification.ts';

/** Why a connection could not be made or was lost below BGP. */
export interface TransportFailure {
  readonly kind: 'refused' | 'unreachable' | 'timeout' | 'reset' | 'unsupported' | 'other';
  readonly detail: string;
}

/** Why a session is not up, or went down. */
export type Problem =
  | { readonly kind: 'connectFailed'; readonly failure: TransportFailure }
  | { readonly kind: 'connectTimeout'; readonly seconds: number }
  | { readonly kind: 'lost'; readonly failure: TransportFailure | undefined }
  | { readonly kind: 'holdTimerExpired'; readonly seconds: number }
  | { readonly kind: 'sendHoldTimerExpired' }
  | { readonly kind: 'received'; readonly notification: Notification }
  | { readonly kind: 'sent'; readonly notification: Notification; readonly detail: string }
  | { readonly kind: 'stopped'; readonly notification: Notification };

/** What the words need to know about the peer. */
export interface ProblemContext {
  /** "192.0.2.1 port 179". */
  readonly target: string;
  readonly hasPassword: boolean;
}

/** The problem in words for the person who operates the peer. */
export function describeProblem(problem: Problem, { target, hasPassword }: ProblemContext): string {
  switch (problem.kind) {
    case 'connectFailed':
      return describeConnectFailure(problem.failure, target, hasPassword);
    case 'connectTimeout':
      return `no answer from ${target} within ${problem.seconds} s: ${silence(hasPassword)}`;
    case 'lost':
      return problem.failure === undefined
        ? 'the peer closed the connection without saying why'
        : `the connection was lost: ${problem.failure.detail}`;
    case 'holdTimerExpired':
      return `hold timer expired: nothing was heard from the peer for ${problem.seconds} s`;
    case 'sendHoldTimerExpired':
      return 'send hold timer expired: the peer has stopped reading';
    case 'received':
      return `the peer closed the session: ${describeNotification(problem.notification)}`;
    case 'sent':
      return `${problem.detail}: closed with ${errorName(problem.notification.code, problem.notification.subcode)}`;
    case 'stopped':
      return `closed by us: ${describeNotification(problem.notification)}`;
  }
}

function describeConnectFailure(failure: TransportFailure, target: string, hasPassword: boolean): string {
  switch (failure.kind) {
    case 'refused':
      return `connection refused by ${target}: no BGP speaker listens there, or it does not know us`;
    case 'unreachable':
      return `${target} is unreachable: ${failure.detail}`;
    case 'timeout':
      return `no answer from ${target}: ${silence(hasPassword)}`;
    case 'reset':
      return `${target} reset the connection`;
    case 'unsupported':
      return failure.detail;
    case 'other':
      return `cannot connect to ${target}: ${failure.detail}`;
  }
}

/** The kernel of the peer drops segments with a wrong signature silently (RFC 2385 2), so a wrong password looks like a dead peer. */
function silence(hasPassword: boolean): string {
  return hasPassword
    ? 'the TCP MD5 password may differ from the one that the peer has for us, or packets are dropped on the way'
    : 'packets are dropped on the way, or the peer demands a TCP MD5 password';
}
