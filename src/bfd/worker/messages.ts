import type { MessagePort } from 'node:worker_threads';
import type { ManagerStatus } from '../manager.ts';
import type { SessionOptions } from '../session-options.ts';
import type { Transition } from '../session-status.ts';

/** Start parameters of the BFD thread. `minimumInterval` is in milliseconds. */
export interface WorkerOptions {
  readonly minimumInterval: number;
  readonly realTime: boolean;
}

/** A request from the main thread. The BFD thread answers all requests in order. */
export type Question =
  | { readonly type: 'set'; readonly sessions: readonly SessionOptions[] }
  | { readonly type: 'status' }
  | { readonly type: 'history'; readonly name: string }
  | { readonly type: 'stop' };

/** Where another thread is told the states of all sessions, without the main thread. */
export interface StateFeed {
  /** Gets a `StateMessage` for every change, and the present states at the begin. */
  readonly port: MessagePort;
  /** A file descriptor of an eventfd: eight octets are written to it after each message. */
  readonly wake: number;
}

/** `AdminDown`: the peer has said that it ends the session on purpose. */
export interface StateMessage {
  readonly type: 'session';
  readonly name: string;
  readonly state: 'Up' | 'Down' | 'AdminDown';
}

export interface FeedMessage extends StateFeed {
  readonly type: 'feed';
}

/** A refused session. A plain object, because an error loses its class when it is sent between threads. */
export interface Refusal {
  readonly name: string;
  /** The option at fault. */
  readonly field: string;
  readonly message: string;
}

export interface Answers {
  readonly set: readonly Refusal[];
  readonly status: ManagerStatus;
  readonly history: readonly Transition[];
  readonly stop: undefined;
}

export type Message =
  | { readonly type: 'started'; readonly realTime: boolean }
  | { readonly type: 'answer'; readonly value: Answers[keyof Answers] }
  | { readonly type: 'changed'; readonly name: string; readonly transition: Transition };
