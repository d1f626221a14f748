import type { Address } from './address.ts';
import type { Protocol } from './frontend.ts';

/**
 * What became of a connection through this machine. `answered`: a new one got an answer. `used`: one of unknown age got packets from both ends.
 * `refused`: it was reset before it was established. `silent`: no packet came back, over TCP, for some seconds. `unfinished`: the endpoint answered,
 * and its client has not completed the TCP connection for some seconds. `unheard`: the client sent data over TCP, and the endpoint has sent none for
 * some time, or until the client ended the connection. `unacknowledged`: the endpoint sent data over TCP, and the client has acknowledged none of
 * the latest for some seconds.
 * `dropped`: its first packet was translated, and a filter of this machine let it go no further.
 */
export const connectionOutcomes = ['answered', 'used', 'refused', 'silent', 'unfinished', 'dropped', 'unheard', 'unacknowledged'] as const;
export type ConnectionOutcome = (typeof connectionOutcomes)[number];

/** What became of one connection to a Service, or of the latest one of several that had the same outcome. */
export interface ObservedConnection {
  /** The address and port to which the client sent. */
  readonly destination: Address;
  readonly protocol: Protocol;
  readonly port: number;
  /** The address and port that answer, or should. */
  readonly endpoint: Address;
  readonly endpointPort: number;
  readonly outcome: ConnectionOutcome;
  /** When its last packet passed, in milliseconds of the clock. */
  readonly at: number;
  /** Distinguishes connections. */
  readonly id: number;
  /** The address of the client. Only of an unfinished connection: its answer may have gone another way. */
  readonly client?: Address;
  /** The octets of data from the endpoint that have passed, if the kernel counts them: none, some, or so many that its packets were large. */
  readonly data?: 'none' | 'some' | 'large';
  /** Of an unheard connection: its client ended it. */
  readonly isEnded?: true;
  /** The agent opened the connection itself. */
  readonly own?: true;
}
