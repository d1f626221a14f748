import type { Family } from '../../net/address.ts';
import { DataplaneError } from '../dataplane.ts';
import type { ElementList } from '../ruleset/element-list.ts';
import type { PartChains } from '../ruleset/parts.ts';
import type { Skeleton } from '../ruleset/skeleton.ts';

/** The kernel's reply was lost, so the transaction may or may not have been committed. The tables must be read again. */
export class CommitOutcomeUnknown extends DataplaneError {
  constructor(message: string, options?: ErrorOptions) {
    super('failed', message, options);
    this.name = 'OutcomeUnknown';
  }
}

/** Another transaction was committed between the reading on which this one is based and its own turn. Nothing has changed. */
export class GenerationMismatch extends DataplaneError {
  constructor(message: string, options?: ErrorOptions) {
    super('failed', message, options);
    this.name = 'Overtaken';
  }
}

/** One atomic change of our tables. The fields are in the order of execution. */
export interface Transaction {
  /** Tables that are created from nothing. An existing table of the same name is deleted. */
  readonly create: readonly Skeleton[];
  /** Done before the additions, so that an element may change its value and a prefix its length. */
  readonly deletes: ElementList;
  /** The chains that deleted elements take away, and those that added elements bring: a chain is there before an element refers to it. */
  readonly parts: { readonly remove: readonly TablePart[]; readonly add: readonly TablePart[] };
  readonly adds: ElementList;
  /** The change to the revision set of the IPv4 table. */
  readonly revision: { readonly remove: readonly number[]; readonly add: number };
  /** The result of `generation` on which the transaction is based. If it has changed, the transaction fails with `GenerationMismatch`. */
  readonly generation?: number;
}

/** Chains of one table that come and go with elements. */
export interface TablePart {
  readonly family: Family;
  readonly chains: PartChains;
}

/** One of our tables, as it is in the kernel. */
export interface TableListing {
  /** True when every set, chain, rule, policy and verdict matches the skeleton. */
  readonly intact: boolean;
  /** The elements that change with Services. Empty unless the table is intact. */
  readonly elements: ElementList;
  /** The numbers in the revision set. */
  readonly revisions: readonly number[];
  /** True when reading added elements that were wanted and missing. */
  readonly completed?: true;
}

/** A transaction on our tables, by any program. */
export interface TableChange {
  /** The numbers that it wrote into the revision set. */
  readonly revisions: readonly number[];
  /** A description of its first event, for people. */
  readonly what: string;
}

export interface MonitorEvents {
  readonly onChange: (change: TableChange) => void;
  /** Events were lost, so anything may have changed. */
  readonly onLoss: (what: string) => void;
  /** The monitor has failed and reports nothing any more. */
  readonly onEnd: (why: string) => void;
}

export interface Monitor {
  /** True: the monitor reports everything from now on. False: it needs a moment to subscribe. */
  readonly subscribed: boolean;
  stop(): void | Promise<void>;
}

/**
 * The port to the kernel's nf_tables. Failures are DataplaneError: `unavailable`, `permission`, or `failed` with the kernel's text.
 */
export interface NftExecutor {
  /** On `failed`, nothing has changed, except for `CommitOutcomeUnknown`. */
  run(transaction: Transaction): Promise<void>;
  /**
   * Returns the number of the latest transaction in this network namespace, by any program. Undefined: no other program can change our
   * tables. The method is absent where the number cannot be read.
   */
  generation?(): Promise<number | undefined>;
  /** Removes both tables and their content. Succeeds if they are absent. */
  removeTables(): Promise<void>;
  /**
   * Reads our table of that family and compares it with its skeleton. Undefined: there is no table. `wanted` returns the elements that
   * should be in it, which makes a large table quicker to read. Missing ones that have no effect yet may be added.
   */
  readTable(skeleton: Skeleton, wanted?: () => Promise<ElementList>): Promise<TableListing | undefined>;
  /** Starts to follow changes of our tables. Ends by itself only on failure. */
  monitor(events: MonitorEvents): Monitor;
  /** No callback is called afterwards. The tables stay. */
  close(): void;
}
