import type { DecodeFault } from './wire/control-packet.ts';

/** Counters of a session since it was created. */
export interface SessionCounters {
  sent: number;
  received: number;
  /** Packets that the network or this host refused. The state machine continues. */
  sendFailures: number;
  /** How often the session came up. */
  ups: number;
  /** How often it went down from Up, except for a local shutdown. */
  downs: number;
}

export const newSessionCounters = (): SessionCounters => ({ sent: 0, received: 0, sendFailures: 0, ups: 0, downs: 0 });

/**
 * Reasons why a packet was discarded. `unknownSession`: neither its discriminator nor its address belongs to a session. `source`: its
 * discriminator belongs to a session with another peer address.
 */
export type DiscardReason = DecodeFault | 'unknownSession' | 'source';

export type Discards = Record<DiscardReason, number>;

export const newDiscards = (): Discards => ({
  length: 0,
  version: 0,
  detectMultiplier: 0,
  multipoint: 0,
  myDiscriminator: 0,
  yourDiscriminator: 0,
  authentication: 0,
  unknownSession: 0,
  source: 0,
});
