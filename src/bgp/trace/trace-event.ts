import type { Endpoints } from '../transport/transport.ts';
import type { WireSession } from '../wire/message.ts';

/** A connection of a peer, of which there may be two at a time (RFC 4271 6.8). */
export interface TracedConnection {
  /** Counts the connections of the peer, attempts included. */
  readonly number: number;
  readonly openedBy: 'us' | 'peer';
  /** Absent until it is made, or where the transport does not tell. */
  readonly ends?: Endpoints;
}

/**
 * What passes on the connections of a peer. Each event can be understood without those before it, as some may be lost. Passwords are in
 * none: TCP MD5 signs segments and is no part of a message.
 */
export type TraceEvent = {
  readonly at: Date;
  readonly connection: TracedConnection;
} & (
  | { readonly type: 'opened' }
  /** It was there when the trace began. */
  | { readonly type: 'present' }
  | TracedMessage
  /** What was received is no message: its octets as far as they have come. */
  | { readonly type: 'unreadable'; readonly octets: Uint8Array; readonly problem: string }
  /** Or was never opened. `problem`: absent where it ended in order. */
  | { readonly type: 'closed'; readonly by: 'us' | 'peer'; readonly problem?: string }
);

export interface TracedMessage {
  readonly type: 'message';
  readonly direction: 'sent' | 'received';
  /** Header included. */
  readonly octets: Uint8Array;
  /** How they are to be read. */
  readonly session: WireSession;
}
