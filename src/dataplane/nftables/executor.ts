import type { Family } from '../../net/address.ts';

/**
 * The way to the kernel's nf_tables. Today the nft command; a netlink encoder can take its place.
 * Failures are DataplaneError: `unavailable`, `permission`, or `failed` with the kernel's words.
 */
export interface NftExecutor {
  /** Runs the lines as one transaction: all or nothing. */
  run(lines: readonly string[]): Promise<void>;
  /** The JSON of `nft -j list table`; undefined: there is no such table. */
  listTable(family: Family): Promise<unknown>;
  /** Starts to follow changes of the ruleset, as the lines that `nft monitor` prints. Ends by itself only on failure. */
  monitor(onLine: (line: string) => void, onEnd: (why: string) => void): { stop(): Promise<void> };
}
