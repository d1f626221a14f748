/**
 * The filters of other programs that a packet of a Service, or one for this node, passes: base chains of nf_tables or of legacy
 * iptables. Every one of its hook must let it through; an accept ends only the chain it is in.
 */
export interface HostFilter {
  /** forward: on the way to pods; input: to the node itself. */
  readonly hook: FilterHook;
  /** iptables: the kernel's older tables, which nft does not list. */
  readonly backend: 'nft' | 'iptables';
  readonly family: 'ip' | 'ip6' | 'inet';
  readonly table: string;
  readonly chain: string;
  readonly policy: 'accept' | 'drop';
  /** Rules by name of their chain: this one, and those that it leads to. A chain may be missing. */
  readonly chains: ReadonlyMap<string, readonly FilterRule[]>;
}

type FilterHook = 'forward' | 'input';

export interface FilterRule {
  /**
   * Which packets the rule is for: all; those of translated connections, in both directions (ct status dnat), which is all
   * traffic to Services; new TCP connections to some ports, from anywhere; or some, by conditions that are not looked into.
   */
  readonly packets: 'all' | 'translated' | 'some' | readonly PortRange[];
  readonly action: FilterAction;
}

/** TCP ports, both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export type FilterAction =
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** Counts, logs, marks, or something not known here: the packet goes on. */
  | { readonly kind: 'none' };
