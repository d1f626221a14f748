import { isPathLoss, type Problem } from './problem.ts';
import { isKnownError } from '../wire/codes.ts';
import { notificationStatus, type NotificationStatus } from './events.ts';
import type { Notification } from '../wire/notification.ts';

/** Number of messages by type. */
export interface MessageCounters {
  open: number;
  update: number;
  notification: number;
  keepalive: number;
  routeRefresh: number;
}

/** `bfdDown`: closed because BFD reported the path as lost. Other local closes are `stopped`. */
export type FlapReason = Problem['kind'] | 'bfdDown';

/** Counters of a peer since it was added. */
export interface Counters {
  readonly sent: MessageCounters;
  readonly received: MessageCounters;
  connectAttempts: number;
  /** How often the session was established. */
  established: number;
  /** How often an established session went down. */
  flaps: number;
  /** The same, by reason. */
  readonly flapsBy: Partial<Record<FlapReason, number>>;
  /**
   * NOTIFICATIONs by the name of their error. Errors without a name in the RFCs share one entry, so that a peer cannot create any number of
   * entries.
   */
  readonly notifications: Readonly<Record<NotificationStatus['direction'], Record<string, number>>>;
  /** Errors in received UPDATEs that do not end the session (RFC 7606). */
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
