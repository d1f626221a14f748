import type { MessagePort } from 'node:worker_threads';
import type { Counters } from '../counters.ts';
import type { L2Event, L2Status } from '../status.ts';
import type { AddressChanges, PeerSession, Refusal, Table } from '../table.ts';

/** Start parameters of the thread. */
export interface WorkerOptions {
  readonly realTime: boolean;
  /** An eventfd: the sender of a message to the thread writes to it, because the thread blocks in poll(2). */
  readonly wake: number;
  /** A counter that the main thread increments while it lives. */
  readonly heartbeat: SharedArrayBuffer;
}

/** A request from the main thread. The thread answers all requests in order. */
export type Question =
  | { readonly type: 'set'; readonly table: Table }
  | { readonly type: 'change'; readonly changes: AddressChanges }
  | { readonly type: 'announceAgain'; readonly interface: string }
  | { readonly type: 'status'; readonly addresses?: readonly string[] }
  | { readonly type: 'counters' }
  | { readonly type: 'stop' };

export interface Answers {
  readonly set: readonly Refusal[];
  readonly change: readonly Refusal[];
  readonly announceAgain: undefined;
  readonly status: L2Status;
  readonly counters: Counters;
  readonly stop: undefined;
}

/** The state of a BFD session. It may come from any thread, so that a failover does not wait for the main thread. */
export interface SessionMessage {
  readonly type: 'session';
  readonly name: string;
  readonly state: PeerSession;
}

/** A further port from which the thread takes session messages. */
export interface FeedMessage {
  readonly type: 'feed';
  readonly port: MessagePort;
}

export type Message =
  | { readonly type: 'started'; readonly realTime: boolean }
  | { readonly type: 'answer'; readonly value: Answers[keyof Answers] }
  | { readonly type: 'events'; readonly events: readonly L2Event[] };
