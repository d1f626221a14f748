import type { DecodeFault } from './wire/control-packet.ts';

/** What happened with a session since it was made. */
export interface SessionCounters {
  sent: number;
  received: number;
  /** The network or this host took a packet not; the state machine goes on. */
  sendFailures: number;
  /** Times it came up. */
  ups: number;
  /** Times it went down after it had been up, unless we shut it down. */
  downs: number;
}

export const newSessionCounters = (): SessionCounters => ({ sent: 0, received: 0, sendFailures: 0, ups: 0, downs: 0 });

/**
 * Packets that were not for any session, by reason. `unknownSession`: neither the discriminator nor the address is one of ours;
 * `source`: the discriminator is, and the packet comes from another address than that session's peer.
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
