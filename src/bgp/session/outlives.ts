import type { Problem } from '../diagnosis/problem.ts';
import type { Retention } from '../rib/received/retention.ts';
import { cease, errorCode } from '../wire/codes.ts';
import type { Notification } from '../wire/notification.ts';

/**
 * Tells whether the routes of a session outlive its end: if the connection was lost or the peer restarted (RFC 4724 4.2), and after a
 * NOTIFICATION of either side if both agreed on that (RFC 8538 4). Not after a Hard Reset, not if this side closed the session on purpose,
 * and not if the routes themselves were too many.
 */
export function outlives(problem: Problem, { afterNotification }: Retention): boolean {
  switch (problem.kind) {
    case 'lost':
    case 'peerRestarted':
      return true;
    case 'holdTimerExpired':
    case 'sendHoldTimerExpired':
      return afterNotification;
    case 'received':
      return afterNotification && !isCease(problem.notification, cease.hardReset);
    case 'sent':
      return afterNotification && !isCease(problem.notification, cease.maximumPrefixes) && !isCease(problem.notification, cease.hardReset);
    case 'connectFailed':
    case 'connectTimeout':
    case 'stopped':
    case 'suspended':
    case 'collision':
      return false;
  }
}

const isCease = ({ code, subcode }: Notification, which: number): boolean => code === errorCode.cease && subcode === which;
