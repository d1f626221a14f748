import { isPathLoss, type Problem } from './problem.ts';
import { isKnownError } from '../wire/codes.ts';
import { notificationStatus, type NotificationStatus } from './events.ts';
import type { Notification } from '../wire/notification.ts';

/** Messages by type. */
export interface MessageCounters {
  open: number;
  update: number;
  notification: number;
  keepalive: number;
  routeRefresh: number;
}

/** `bfdDown`: we have closed it because BFD saw that the path is lost. What else we close is `stopped`. */
export type FlapReason = Problem['kind'] | 'bfdDown';

/** What happened with a peer since it was added. */
export interface Counters {
  readonly sent: MessageCounters;
  readonly received: MessageCounters;
  connectAttempts: number;
  /** Times the session came up. */
  established: number;
  /** Times it went down after it had been up. */
  flaps: number;
  /** The same, by why. */
  readonly flapsBy: Partial<Record<FlapReason, number>>;
  /** NOTIFICATIONs by the name of their error; those that no RFC names together, so that a peer cannot make up any number of them. */
  readonly notifications: Readonly<Record<NotificationStatus['direction'], Record<string, number>>>;
  /** Errors in received UPDATEs that RFC 7606 lets the session survive. */
  toleratedFaults: number;
}

export function newCounters(): Counters {
  const messages = (): MessageCounters => ({ open: 0, update: 0, notification: 0, keepalive: 0, routeRefresh: 0 });
  return {
    sent: messages(),
    received: messages(),
    connectAttempts: 0,
    established: 0,
    flaps: 0,
    flapsBy: {},
    notifications: { sent: {}, received: {} },
    toleratedFaults: 0,
  };
}

export function countFlap(counters: Counters, problem: Problem): void {
  const reason = isPathLoss(problem) ? 'bfdDown' : problem.kind;
  counters.flaps++;
  counters.flapsBy[reason] = (counters.flapsBy[reason] ?? 0) + 1;
}

export function countNotification(counters: Counters, direction: NotificationStatus['direction'], notification: Notification): void {
  const { code, subcode, name } = notificationStatus(direction, notification);
  const byName = counters.notifications[direction];
  const known = isKnownError(code, subcode) ? name : 'other';
  byName[known] = (byName[known] ?? 0) + 1;
}

export function copyOfCounters(counters: Counters): Counters {
  const { sent, received, flapsBy, notifications } = counters;
  return {
    ...counters,
    sent: { ...sent },
    received: { ...received },
    flapsBy: { ...flapsBy },
    notifications: { sent: { ...notifications.sent }, received: { ...notifications.received } },
  };
}
