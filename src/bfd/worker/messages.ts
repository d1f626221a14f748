import type { ManagerStatus } from '../manager.ts';
import type { SessionOptions } from '../session-options.ts';
import type { Transition } from '../session-status.ts';

/** What the worker is started with. */
export interface WorkerOptions {
  readonly minimumInterval: number;
  readonly realTime: boolean;
}

/** What the main thread asks of the worker; every question is answered, in order. */
export type Question =
  | { readonly type: 'set'; readonly sessions: readonly SessionOptions[] }
  | { readonly type: 'status' }
  | { readonly type: 'history'; readonly name: string }
  | { readonly type: 'stop' };

/** Errors do not survive the way between threads as what they are. */
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
