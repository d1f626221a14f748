import type { Endpoints } from '../transport/transport.ts';
import type { WireSession } from '../wire/message.ts';

/** A connection of a peer. There may be two at a time (RFC 4271 6.8). */
export interface TracedConnection {
  /** Number of the connection, counting all attempts of the peer and of this speaker. */
  readonly number: number;
  readonly openedBy: 'us' | 'peer';
  /** Absent until the connection is made, and if the transport does not know the ends. */
  readonly ends?: Endpoints;
}

/**
 * An event on the connections of a peer. Each event can be understood alone, because earlier ones may be lost. No event has a password: TCP
 * MD5 signs segments and is not part of messages.
 */
export type TraceEvent = {
  readonly at: Date;
  readonly connection: TracedConnection;
} & (
  | { readonly type: 'opened' }
  /** The connection existed when the trace began. */
  | { readonly type: 'present' }
  | TracedMessage
  /** The received octets are no message. `octets` has those that arrived. */
  | { readonly type: 'unreadable'; readonly octets: Uint8Array; readonly problem: string }
  /** The connection ended or could not be made. `problem` is absent after an orderly end. */
  | { readonly type: 'closed'; readonly by: 'us' | 'peer'; readonly problem?: string }
);

export interface TracedMessage {
  readonly type: 'message';
  readonly direction: 'sent' | 'received';
  /** With the header. */
  readonly octets: Uint8Array;
  /** Negotiated values that are needed to decode the message. */
  readonly session: WireSession;
}
