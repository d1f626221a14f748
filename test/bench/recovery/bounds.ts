import { damping } from '../../../src/bgp/limits.ts';
import { holdTime } from '../../lab/recovery-bed.ts';

/**
 * A part of a bound. A bound is the sum of the timers that must expire one after the other and of the time that machines need for their
 * work. In seconds.
 */
export interface Term {
  readonly seconds: number;
  readonly name: string;
  readonly why: string;
}

/** The timers, in seconds, of sessions whose connection is half open. The hold timer must not end them. */
export const longHoldTime = 60;
export const longKeepalive = 2;

export const terms = {
  work: {
    seconds: 2,
    name: 'work',
    why: "to close, connect, negotiate, send routes, write them into four kernels and the node's report, and see it there by polling every 20 ms",
  },
  hold: { seconds: holdTime, name: 'hold time', why: 'counted from the last keepalive, so a fault is noticed up to 1 s sooner' },
  connect: { seconds: 1, name: 'connectTime', why: 'the pause before a node connects, at most a random quarter shorter' },
  call: { seconds: 1, name: "the ToR's connect timer", why: 'if the ToR connects and the node waits' },
  syn: {
    seconds: 1,
    name: 'SYN',
    why: 'TCP repeats a connection attempt that began during the silence after 1 s; ARP and neighbour discovery take the same second',
  },
  keepalive: { seconds: longKeepalive, name: 'keepalive', why: 'the next octet that the node sends, which the other kernel resets' },
  resent: {
    seconds: 3.2,
    name: 'retransmission',
    why: 'TCP repeats keepalives that were lost in the silence after 0.2, 0.4, 0.8, 1.6 and 3.2 s: the next repetition is as far away as the silence was long',
  },
  collision: {
    seconds: 1,
    name: 'collision',
    why: 'a second connection within 1 s counts as a connection collision and is refused (RFC 4271 6.8)',
  },
  held: {
    seconds: damping.firstHold * 2,
    name: 'damping',
    why: 'the fourth flap holds the session back for 20 s, less up to a quarter',
  },
} as const satisfies Readonly<Record<string, Term>>;

export type TermName = keyof typeof terms;

export function boundOf(names: readonly TermName[]): number {
  return 1000 * names.reduce((sum, name) => sum + terms[name].seconds, 0);
}
