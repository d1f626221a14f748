import { defined } from '../../lang/defined.ts';
import type { Clock } from '../../system/clock.ts';
import type { Direction } from '../negotiation/collision.ts';
import { EventStream } from '../diagnosis/event-stream.ts';
import { maximumExtendedMessageLength, maximumTracedMessages, maximumTracedOctets } from '../limits.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { Connection, TransportFailure } from '../transport/transport.ts';
import type { WireSession } from '../wire/message.ts';
import type { Framing } from '../wire/framer.ts';
import { withHeader } from '../wire/header.ts';
import type { TracedConnection, TraceEvent, TracedMessage } from './trace-event.ts';

export type TraceStream = EventStream<TraceEvent>;

type TraceEventBody = TraceEvent extends infer E ? (E extends TraceEvent ? Omit<E, 'at' | 'connection'> : never) : never;

/** Publishes the messages of one peer to traces. Without a trace, a message costs one comparison and nothing is kept. */
export class Tap {
  readonly #clock: Clock;
  readonly #traces = new Set<TraceStream>();
  readonly #watchers = new Set<(event: TraceEvent) => void>();
  readonly #present = new Set<TappedConnection>();
  #connections = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isWatched(): boolean {
    return this.#traces.size > 0 || this.#watchers.size > 0;
  }

  /** Calls the watcher with every event from now on, in the same turn. The returned function ends that. */
  watch(watcher: (event: TraceEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Opens a stream of messages from now on. It begins with the existing connections. */
  trace({ signal }: { readonly signal?: AbortSignal } = {}): TraceStream {
    const stream: TraceStream = new EventStream(
      {
        count: maximumTracedMessages,
        octets: maximumTracedOctets,
        octetsOf: (event) => ('octets' in event ? event.octets.length : 0),
        onEnd: (ended) => this.#traces.delete(ended),
      },
      signal,
    );
    const at = this.#clock.date();
    for (const { facts } of this.#present) stream.push({ at, connection: facts, type: 'present' });
    if (this.#closed) stream.finish();
    else if (!stream.done) this.#traces.add(stream);
    return stream;
  }

  /** Called by the session when it dials or accepts. */
  connection(direction: Direction): TappedConnection {
    return new TappedConnection(this, { number: ++this.#connections, openedBy: direction === 'dialed' ? 'us' : 'peer' });
  }

  /** Called when the peer is removed. Streams end after their queued events. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#traces) stream.finish();
  }

  /** Called by the connections. */
  opened(connection: TappedConnection): void {
    this.#present.add(connection);
    this.publish(connection, { type: 'opened' });
  }

  closed(connection: TappedConnection, by: 'us' | 'peer', problem: string | undefined): void {
    this.#present.delete(connection);
    this.publish(connection, { type: 'closed', by, ...defined({ problem }) });
  }

  publish({ facts }: TappedConnection, what: TraceEventBody): void {
    if (!this.isWatched) return;
    const event: TraceEvent = { at: this.#clock.date(), connection: facts, ...what };
    for (const stream of this.#traces) stream.push(event);
    for (const watcher of this.#watchers) watcher(event);
  }
}

/** One connection, fed by its state machine. */
export class TappedConnection {
  facts: TracedConnection;
  readonly #tap: Tap;

  constructor(tap: Tap, facts: TracedConnection) {
    this.#tap = tap;
    this.facts = facts;
  }

  opened(connection: Connection | undefined): void {
    const ends = connection?.endpoints?.();
    if (ends !== undefined) this.facts = { ...this.facts, ends };
    this.#tap.opened(this);
  }

  closed(by: 'us' | 'peer', failure: TransportFailure | undefined): void {
    this.#tap.closed(this, by, failure?.detail);
  }

  /** `octets` is a whole message that is not written to again. */
  sent(octets: Uint8Array, negotiated: Negotiated | undefined): void {
    if (this.#tap.isWatched) this.#tap.publish(this, message('sent', octets, negotiated));
  }

  /** Copies the message, because its octets may be a small part of a large read buffer. */
  received({ type, body }: Extract<Framing, { kind: 'frame' }>, negotiated: Negotiated | undefined): void {
    if (!this.#tap.isWatched) return;
    this.#tap.publish(this, message('received', withHeader(type, body, maximumExtendedMessageLength), negotiated));
  }

  unreadable({ fault, octets }: Extract<Framing, { kind: 'fault' }>): void {
    if (this.#tap.isWatched) this.#tap.publish(this, { type: 'unreadable', octets: octets.slice(), problem: fault.problem });
  }
}

function message(direction: TracedMessage['direction'], octets: Uint8Array, negotiated: Negotiated | undefined): TracedMessage {
  return { type: 'message', direction, octets, session: negotiated === undefined ? {} : wireSessionOf(direction, negotiated) };
}

function wireSessionOf(direction: TracedMessage['direction'], negotiated: Negotiated): WireSession {
  const { fourOctetAsn, internal, families, addPathReceive, addPathSend, extendedMessages, enhancedRouteRefresh } = negotiated;
  return {
    fourOctetAsn,
    internal,
    families,
    addPathReceive: direction === 'received' ? addPathReceive : addPathSend,
    enhancedRouteRefresh,
    ...(extendedMessages ? { maximum: maximumExtendedMessageLength } : {}),
  };
}
