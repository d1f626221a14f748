/**
 * The filters of other programs that a forwarded packet passes: base chains on the forward hook, of nf_tables or of legacy
 * iptables. Every one of them must let it through; an accept ends only the chain it is in.
 */
export interface ForwardFilter {
  /** iptables: the kernel's older tables, which nft does not list. */
  readonly backend: 'nft' | 'iptables';
  readonly family: 'ip' | 'ip6' | 'inet';
  readonly table: string;
  readonly chain: string;
  readonly policy: 'accept' | 'drop';
  /** Rules by name of their chain: this one, and those that it leads to. A chain may be missing. */
  readonly chains: ReadonlyMap<string, readonly FilterRule[]>;
}

export interface FilterRule {
  /**
   * Which packets the rule is for: all; those of translated connections, in both directions (ct status dnat), which is all
   * traffic to Services; or some, by conditions that are not looked into.
   */
  readonly packets: 'all' | 'translated' | 'some';
  readonly action: FilterAction;
}

export type FilterAction =
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** Counts, logs, marks, or something not known here: the packet goes on. */
  | { readonly kind: 'none' };
