import { DataplaneError } from '../dataplane.ts';
import type { ElementList } from '../ruleset/element-list.ts';
import type { TableListing } from './listing.ts';
import type { Skeleton } from '../ruleset/skeleton.ts';

/** The kernel may have made a change, or not: its answer was lost. What it has must be read. */
export class OutcomeUnknown extends DataplaneError {
  constructor(message: string, options?: ErrorOptions) {
    super('failed', message, options);
    this.name = 'OutcomeUnknown';
  }
}

/** Somebody's transaction came between the reading that this one is made from and its turn. Nothing has changed. */
export class Overtaken extends DataplaneError {
  constructor(message: string, options?: ErrorOptions) {
    super('failed', message, options);
    this.name = 'Overtaken';
  }
}

/** One change of our tables: all of it or nothing. In this order. */
export interface Transaction {
  /** Tables that are made anew, whatever there was under their name. */
  readonly create: readonly Skeleton[];
  /** Before the additions, so that an element may change its value and a prefix its length. */
  readonly deletes: ElementList;
  readonly adds: ElementList;
  /** What the transaction does to the revision set of the IPv4 table. */
  readonly revision: { readonly remove: readonly number[]; readonly add: number };
  /** Otherwise the transaction is Overtaken: what `generation` told. */
  readonly generation?: number;
}

/** A transaction on our tables, by whomever. */
export interface TableChange {
  /** The numbers it wrote into the revision set. */
  readonly revisions: readonly number[];
  /** Its first event, for people. */
  readonly what: string;
}

export interface MonitorEvents {
  readonly onChange: (change: TableChange) => void;
  /** Events were lost: anything may have changed. */
  readonly onLoss: (what: string) => void;
  /** It has failed and reports nothing any more. */
  readonly onEnd: (why: string) => void;
}

export interface Monitor {
  /** It misses nothing that happens from now on; otherwise it takes a moment until it hears. */
  readonly subscribed: boolean;
  stop(): Promise<void>;
}

/**
 * The way to the kernel's nf_tables: netlink of our own, or the nft command where there is no FFI.
 * Failures are DataplaneError: `unavailable`, `permission`, or `failed` with the kernel's words.
 */
export interface NftExecutor {
  /** `failed`: nothing has changed, unless it is OutcomeUnknown. */
  run(transaction: Transaction): Promise<void>;
  /**
   * The number of the latest transaction in this network namespace, by whomever. Undefined: nobody else can change our tables. Absent: it
   * cannot be told.
   */
  generation?(): Promise<number | undefined>;
  /** Removes both tables, whatever is in them, if they are there. */
  removeTables(): Promise<void>;
  /**
   * Our table of that family compared with its skeleton; undefined: there is none. `likely`: the elements that are probably in it,
   * which makes a large one quicker to read.
   */
  readTable(skeleton: Skeleton, likely?: () => Promise<ElementList>): Promise<TableListing | undefined>;
  /** Starts to follow changes of our tables. Ends by itself only on failure. */
  monitor(events: MonitorEvents): Monitor;
  /** Nothing is called afterwards; the tables stay. */
  close(): void;
}
