import type { Outcome } from './outcome.ts';

/** The commands and events between client.ts and client-program.ts, one JSON value a line. */
export type ClientCommand =
  | { readonly do: 'requests'; readonly id: number; readonly target: Target; readonly count: number; readonly parallel: number }
  | { readonly do: 'probe'; readonly id: number; readonly target: Target; readonly intervalMs: number; readonly firstPort?: number }
  | { readonly do: 'steady'; readonly id: number; readonly target: Target; readonly connections: number; readonly intervalMs: number }
  | { readonly do: 'stop'; readonly probe: number };

export type ClientEvent = { readonly id: number; readonly outcome: Outcome } | { readonly id: number; readonly done: true };

export interface Target {
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly localPort?: number;
  /** Milliseconds after which a datagram without an answer is sent again from the same port, until the timeout. Absent: never. */
  readonly resendMs?: number;
}
