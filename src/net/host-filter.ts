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

/** The chain with Herald's rules in a table of another program. Nothing else has its name, as with kube-proxy's KUBE-FORWARD. */
export const allowanceChain = 'HERALD-FORWARD';

/** Packets that Herald's rules accept in a chain of another program. */
export interface Allowance {
  /** Packets of connections that this node translates. */
  readonly translated: boolean;
  /** Pods whose connections other nodes translate. */
  readonly pods: readonly Prefix[];
}

/** A change of Herald's rules in the table of a base chain. */
export interface AllowanceChange {
  readonly filter: Pick<HostFilter, 'family' | 'table' | 'chain'>;
  /** The program that made the table: another one may not be able to read it afterwards. */
  readonly by: 'nft' | 'iptables-nft' | 'iptables-legacy';
  /** Chains that lead to Herald's chain now. These jumps are removed. */
  readonly from: readonly string[];
  /** The chain whose first rule leads to Herald's chain afterwards, and what that accepts. Absent: Herald's chain is removed. */
  readonly to?: { readonly chain: string; readonly allowance: Allowance };
}
