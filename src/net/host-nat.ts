import type { PortRange } from './host-filter.ts';
import type { Protocol } from './frontend.ts';
import type { Prefix } from './prefix.ts';

/** A rule of another program that changes the destination of packets before Herald's rules see them. */
export interface HostNatRule {
  /** prerouting: packets from outside and from pods. output: packets of the node itself. */
  readonly hook: 'prerouting' | 'output';
  readonly family: 'ip' | 'ip6' | 'inet';
  readonly table: string;
  /** The base chain. */
  readonly chain: string;
  readonly priority: number;
  /** The conditions that Herald understands, and the action: "ip daddr 198.51.100.10 tcp dport 80 dnat". */
  readonly text: string;
  /** Absent: any. */
  readonly protocol?: Protocol;
  /** Destinations. Absent: any, or a condition that Herald does not understand. */
  readonly destinations?: readonly Prefix[];
  readonly ports?: readonly PortRange[];
  /** True: only packets to addresses of the node itself. */
  readonly onlyLocal: boolean;
}
