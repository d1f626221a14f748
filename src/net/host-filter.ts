import type { Family } from './address.ts';
import type { Prefix } from './prefix.ts';

/**
 * A base chain of another program, in nf_tables or legacy iptables, that packets to Services or to this node pass. Every chain of a hook
 * must accept a packet; an accept ends only the chain that it is in.
 */
export interface HostFilter {
  /**
   * ingress: every packet that comes in by one of `devices`, before everything else. prerouting: every packet that comes in. forward: packets on
   * their way to pods. input: packets to the node itself. egress: every packet that leaves by one of `devices`, after everything else.
   */
  readonly hook: 'ingress' | 'prerouting' | 'forward' | 'input' | 'egress';
  /** The interfaces of a chain of the hook ingress or egress. Absent: those of another hook, which sees the packets of every interface. */
  readonly devices?: readonly string[];
  /** The kernel calls the chains of a hook in ascending order of priority. */
  readonly priority: number;
  /** iptables: the kernel's older tables, which nft does not list. */
  readonly backend: 'nft' | 'iptables';
  /** netdev: both families, and frames that are no IP. */
  readonly family: 'ip' | 'ip6' | 'inet' | 'netdev';
  readonly table: string;
  readonly chain: string;
  readonly policy: 'accept' | 'drop';
  /** Why `chains` is empty although the chain may have rules. Absent: they were read. */
  readonly unread?: string;
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
  /** The same rule in detail: it matches packets for which all conditions hold. */
  readonly conditions: readonly FilterCondition[];
  readonly action: FilterAction;
  /** The position of the rule in its chain, from 1. */
  readonly number: number;
  /** The rule as its program writes it: "tcp dport 80 drop". Long rules are cut. */
  readonly text: string;
}

/** A condition of a rule, which holds for all values but these if it is negated. */
export type FilterCondition =
  | { readonly field: 'family'; readonly family: Family; readonly negated: boolean }
  /** Names as in /etc/protocols: "tcp". */
  | { readonly field: 'protocol'; readonly names: readonly string[]; readonly negated: boolean }
  | { readonly field: 'source'; readonly prefixes: readonly Prefix[]; readonly negated: boolean }
  | { readonly field: 'destination'; readonly prefixes: readonly Prefix[]; readonly negated: boolean }
  /** The destination port, and the source port. */
  | { readonly field: 'sourcePort'; readonly ranges: readonly PortRange[]; readonly negated: boolean }
  | { readonly field: 'port'; readonly ranges: readonly PortRange[]; readonly negated: boolean }
  /** Names of interfaces, or their beginnings with a *: by which the packet comes, and by which it leaves. */
  | { readonly field: 'interface'; readonly names: readonly string[]; readonly negated: boolean }
  | { readonly field: 'outInterface'; readonly names: readonly string[]; readonly negated: boolean }
  /** States of connection tracking: "new". */
  | { readonly field: 'state'; readonly states: readonly string[]; readonly negated: boolean }
  /** The destination of the connection was translated. */
  | { readonly field: 'translated'; readonly negated: boolean }
  | RateCondition
  /** Anything else. `looksAt` names it in the words of the program: "meta mark". */
  | { readonly field: 'other'; readonly looksAt: string };

/** Holds for a share of the packets that reach it: up to an amount, or all that are beyond it. */
export interface RateCondition {
  readonly field: 'rate';
  /** "5 packets a second", "10 connections of one source at a time", "3 of 10 packets". */
  readonly amount: string;
  readonly isBeyond: boolean;
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
  /** Counts, logs or marks. The packet continues with the next rule. */
  | { readonly kind: 'none' }
  /** Another program or a map decides. */
  | { readonly kind: 'unknown' };

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

/** A program (XDP) or a filter (tc) on an interface, which sees packets before or after the filters of IP do. Herald cannot read what it drops. */
export interface TrafficFilter {
  readonly interface: string;
  /** "an XDP program (id 12)", "a tc filter (bpf cil_from_netdev, id 7) at ingress". */
  readonly text: string;
  /** The network plugin whose name it has. Absent: it is not known whose it is. */
  readonly plugin?: string;
}
