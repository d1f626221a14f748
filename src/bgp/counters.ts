/** Messages by type. */
export interface MessageCounters {
  open: number;
  update: number;
  notification: number;
  keepalive: number;
  routeRefresh: number;
}

/** What happened with a peer since it was added. */
export interface Counters {
  readonly sent: MessageCounters;
  readonly received: MessageCounters;
  connectAttempts: number;
  /** Times the session came up. */
  established: number;
  /** Times it went down after it had been up. */
  flaps: number;
  /** Errors in received UPDATEs that RFC 7606 lets the session survive. */
  toleratedFaults: number;
}

export function newCounters(): Counters {
  const messages = (): MessageCounters => ({ open: 0, update: 0, notification: 0, keepalive: 0, routeRefresh: 0 });
  return { sent: messages(), received: messages(), connectAttempts: 0, established: 0, flaps: 0, toleratedFaults: 0 };
}

export function copyOfCounters(counters: Counters): Counters {
  return { ...counters, sent: { ...counters.sent }, received: { ...counters.received } };
}
