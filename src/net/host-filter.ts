import type { Prefix } from './prefix.ts';

/**
 * A base chain of another program, in nf_tables or legacy iptables, that packets to Services or to this node pass. Every chain of a hook
 * must accept a packet; an accept ends only the chain that it is in.
 */
export interface HostFilter {
  /** forward: packets on their way to pods. input: packets to the node itself. */
  readonly hook: 'forward' | 'input';
  /** iptables: the kernel's older tables, which nft does not list. */
  readonly backend: 'nft' | 'iptables';
  readonly family: 'ip' | 'ip6' | 'inet';
  readonly table: string;
  readonly chain: string;
  readonly policy: 'accept' | 'drop';
  /** Rules by chain name: this chain and every chain that it leads to. A chain may be missing. */
  readonly chains: ReadonlyMap<string, readonly FilterRule[]>;
}

export interface FilterRule {
  /**
   * The packets that the rule matches: all; packets of translated connections in both directions (ct status dnat), which is all traffic to
   * Services that this node translates; new TCP connections to some ports from any source; packets to addresses in some prefixes; others, which
   * are certainly no first packets from clients to Services; or some packets, by conditions that Herald does not analyse.
   */
  readonly packets: 'all' | 'translated' | 'others' | 'some' | readonly PortRange[] | PacketsTo;
  readonly action: FilterAction;
}

export interface PacketsTo {
  readonly to: readonly Prefix[];
}

/** A range of TCP ports, both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export type FilterAction =
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** Counts, logs, marks or does something unknown. The packet continues with the next rule. */
  | { readonly kind: 'none' };

/** Bridges of Docker's own networks. They carry neither clients of Services nor pods. */
export const dockerBridge = /^(?:docker0|br-[0-9a-f]{12})$/;
