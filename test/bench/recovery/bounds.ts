import { damping } from '../../../src/bgp/limits.ts';
import { holdTime } from '../../lab/recovery-bed.ts';

/** A bound is a sum of the timers that have to run out, one after the other, and of what machines need to do their work. Seconds. */
export interface Term {
  readonly seconds: number;
  readonly name: string;
  readonly why: string;
}

/** Of the sessions while a connection is half open: its own timer must not end it. */
export const longHoldTime = 60;
export const longKeepalive = 2;

export const terms = {
  work: {
    seconds: 2,
    name: 'work',
    why: 'to close, connect, agree, send routes, write them into four kernels and the report of a node, and see it there, looking every 20 ms',
  },
  hold: { seconds: holdTime, name: 'hold time', why: 'counted from the last keepalive, so that it is noticed up to 1 s sooner' },
  connect: { seconds: 1, name: 'connectTime', why: 'the pause before a node calls; it is shortened by a random quarter at most' },
  call: { seconds: 1, name: "the switch's connect timer", why: 'where it calls and the node waits' },
  syn: {
    seconds: 1,
    name: 'SYN',
    why: 'a call that began while nothing got through is repeated by TCP after 1 s; the same second is that of ARP and neighbour discovery',
  },
  keepalive: { seconds: longKeepalive, name: 'keepalive', why: 'the next octet that the node sends, which the other kernel resets' },
  resent: {
    seconds: 3.2,
    name: 'sent again',
    why: 'keepalives that went into the silence are sent again after 0.2, 0.4, 0.8, 1.6 and 3.2 s: the next time is as far away as the silence was long',
  },
  collision: { seconds: 1, name: 'collision', why: 'a second call within 1 s is taken for one that crossed, and refused (RFC 4271 6.8)' },
  held: {
    seconds: damping.firstHold * 2,
    name: 'damping',
    why: 'the fourth flap holds back for 20 s, less up to a quarter',
  },
} as const satisfies Readonly<Record<string, Term>>;

export type TermName = keyof typeof terms;

export function boundOf(names: readonly TermName[]): number {
  return 1000 * names.reduce((sum, name) => sum + terms[name].seconds, 0);
}
