import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import { EventStream, type Streamed } from './event-stream.ts';
import type { StateName } from './session-state.ts';
import { maximumQueuedEvents } from '../limits.ts';
import type { NegotiatedStatus } from '../negotiation/open-status.ts';
import type { Problem } from './problem.ts';
import type { RouteChange } from '../rib/received/received-route.ts';
import { errorName } from '../wire/codes.ts';
import { innermost, shutdownMessageOf, type Notification } from '../wire/notification.ts';

/** Events of a session, for the program that uses the speaker. Only a peer with import rules has events about UPDATEs. */
export type PeerEvent =
  /** The state changed (RFC 4271 8.2.2). The status of the peer already has the new state. */
  | { readonly type: 'state'; readonly from: StateName; readonly to: StateName; readonly at: Date }
  | { readonly type: 'established'; readonly negotiated: NegotiatedStatus }
  /** The session ended, or could not be established for a new reason. `reason` is `problem` in words. */
  | { readonly type: 'down'; readonly reason: string; readonly problem: Problem }
  | ({ readonly type: 'notification' } & NotificationStatus)
  /** The peer asked for all routes of the family again (RFC 2918). */
  | { readonly type: 'refresh'; readonly family: Family }
  /** The peer has sent all its routes of the family (RFC 4724 2). */
  | { readonly type: 'endOfRib'; readonly family: Family }
  /** The accepted routes changed: by one UPDATE, by other import rules, or because stale routes went. At most one change for each route. */
  | { readonly type: 'routes'; readonly changes: readonly RouteChange[] };

export interface NotificationStatus {
  readonly direction: 'sent' | 'received';
  /** For a Hard Reset (RFC 8538 3), the code and subcode that it carries. */
  readonly code: number;
  readonly subcode: number;
  /** The name in the RFCs, for example "Cease: Administrative Shutdown (6/2)". */
  readonly name: string;
  /** The shutdown communication of the sender (RFC 9003). */
  readonly text?: string;
}

/** An item of an event stream. */
export type StreamedEvent = Streamed<PeerEvent>;

export type PeerEventType = PeerEvent['type'];
export type PeerEventOf<T extends PeerEventType> = Extract<PeerEvent, { readonly type: T }>;

/** The peer was removed, or its speaker stopped, before its session was established. */
export class PeerClosedError extends Error {
  readonly code = 'ERR_BGP_PEER_CLOSED';

  constructor() {
    super('the peer was removed, or the speaker stopped');
    this.name = 'PeerClosedError';
  }
}

export function notificationStatus(direction: NotificationStatus['direction'], notification: Notification): NotificationStatus {
  const inner = innermost(notification);
  const text = shutdownMessageOf(inner);
  const { code, subcode } = inner;
  return { direction, code, subcode, name: errorName(code, subcode), ...defined({ text }) };
}

/** Delivers the events of one peer to listeners, to streams, and to calls of `established`. */
export class PeerEvents {
  readonly #listeners = new Map<PeerEventType, Set<(event: PeerEvent) => void>>();
  readonly #streams = new Set<EventStream<PeerEvent>>();
  readonly #waiting = new Set<PromiseWithResolvers<NegotiatedStatus>>();
  readonly #onError: (error: unknown) => void;
  #negotiated: NegotiatedStatus | undefined;
  #closed = false;

  /** `onError` receives errors that a listener throws. */
  constructor(onError: (error: unknown) => void = throwLater) {
    this.#onError = onError;
  }

  /** As `Peer.on`. */
  on<T extends PeerEventType>(type: T, listener: (event: PeerEventOf<T>) => void): () => void {
    let listeners = this.#listeners.get(type);
    if (listeners === undefined) this.#listeners.set(type, (listeners = new Set()));
    // A new function, so that a listener added twice can be removed once.
    const call = (event: PeerEvent): void => listener(event as PeerEventOf<T>);
    listeners.add(call);
    return () => void listeners.delete(call);
  }

  /** As `Peer.events`. */
  events({ signal }: { readonly signal?: AbortSignal } = {}): EventStream<PeerEvent> {
    const stream = new EventStream<PeerEvent>({ count: maximumQueuedEvents, onEnd: (ended) => this.#streams.delete(ended) }, signal);
    if (this.#closed) stream.finish();
    else if (!stream.done) this.#streams.add(stream);
    return stream;
  }

  /** As `Peer.established`. */
  async established({ signal }: { readonly signal?: AbortSignal } = {}): Promise<NegotiatedStatus> {
    signal?.throwIfAborted();
    if (this.#negotiated !== undefined) return this.#negotiated;
    if (this.#closed) throw new PeerClosedError();
    const waiting = Promise.withResolvers<NegotiatedStatus>();
    const abort = (): void => waiting.reject(signal?.reason);
    this.#waiting.add(waiting);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await waiting.promise;
    } finally {
      this.#waiting.delete(waiting);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Called by the peer. */
  emit(event: PeerEvent): void {
    if (this.#closed) return;
    if (event.type === 'established') this.#negotiated = event.negotiated;
    else if (event.type === 'state' && event.from === 'Established') this.#negotiated = undefined;
    callAll(this.#listeners.get(event.type) ?? [], event, this.#onError);
    for (const stream of this.#streams) stream.push(event);
    if (event.type === 'established') for (const { resolve } of this.#waiting) resolve(event.negotiated);
  }

  /** Called when the peer is removed. Streams end after their queued events, and waiting calls of `established` reject. */
  close(): void {
    this.#closed = true;
    this.#negotiated = undefined;
    for (const stream of this.#streams) stream.finish();
    for (const { reject } of this.#waiting) reject(new PeerClosedError());
    this.#listeners.clear();
  }
}

/** Calls all listeners, also after one that throws. */
export function callAll<T>(listeners: Iterable<(value: T) => void>, value: T, onError: (error: unknown) => void = throwLater): void {
  for (const listener of listeners) {
    try {
      listener(value);
    } catch (error) {
      onError(error);
    }
  }
}

/** Throws in a later turn, so that the session can finish its current work. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
