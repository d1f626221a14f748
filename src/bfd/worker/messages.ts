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

/** A refused session. A plain object, because an error loses its class when it is sent between threads. */
export interface Refusal {
  readonly name: string;
  readonly field: keyof SessionOptions;
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
