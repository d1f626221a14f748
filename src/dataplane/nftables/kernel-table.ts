import { ok as assert } from 'node:assert';
import type { Family } from '../../net/address.ts';
import type { Frontend } from '../../net/frontend.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { divideFound } from './adoption.ts';
import { ElementStore, planDifference, type Difference, type ElementChange } from './diff.ts';
import type { Element } from './elements.ts';
import type { NftExecutor } from './executor.ts';
import { families } from './layout.ts';
import type { Skeleton } from './skeleton.ts';

/** What one owner of elements is to have in the kernel: a frontend by its key, or the node. */
export interface Target {
  readonly elements: readonly Element[];
  readonly frontend?: Frontend;
}

/** The owner of the elements that are not a frontend's. */
export const nodeOwner = 'node';

/** A frontend whose form in the kernel changed; undefined: it was or is not there. */
export interface CommittedChange {
  readonly before: Frontend | undefined;
  readonly after: Frontend | undefined;
}

export interface CommitResult {
  readonly committed: readonly CommittedChange[];
  /** Owner to the kernel's words: what it had before is still in the kernel. */
  readonly refused: ReadonlyMap<string, string>;
  /** Transactions that the kernel took. Zero: there was nothing to do. */
  readonly transactions: number;
}

interface Record extends ElementChange {
  readonly owner: string;
  readonly target: Target | undefined;
}

const nothing = { deletes: [], adds: [] } as const;

/** Owns what a predecessor left and nobody has any more. */
const adoptedOwner = 'adopted';

/**
 * Our two tables in the kernel and what we know of them. Not for concurrent use: the caller serialises.
 *
 * A batch is one transaction for both families. When the kernel refuses it, an empty transaction tells whether anything
 * works at all; then the batch is halved until the owner at fault is alone.
 */
export class KernelTable {
  readonly #executor: NftExecutor;
  readonly #log: Log;
  #store = new ElementStore();
  #targets = new Map<string, Target>();
  /** The numbers in the revision set, as far as known. */
  #revisions: readonly number[] = [];
  readonly #expected = new Set<number>();
  #adopted: boolean | undefined;

  constructor(executor: NftExecutor, log: Log) {
    this.#executor = executor;
    this.#log = log;
  }

  /** True once for each transaction of ours, by the number it wrote into the revision set. */
  takeExpected(revision: number): boolean {
    return this.#expected.delete(revision);
  }

  /** Both tables were there when the kernel was read first. Other rules in them than ours of today do no harm: they are replaced at once. */
  get adopted(): boolean {
    return this.#adopted === true;
  }

  /** Elements that are known to be in the kernel. */
  get size(): number {
    return this.#store.size;
  }

  /** Reads the kernel and brings it to exactly `targets`: an intact table is changed element by element, another one replaced. */
  async synchronise(skeletonOf: (family: Family) => Skeleton, targets: ReadonlyMap<string, Target>): Promise<CommitResult> {
    const found: Element[] = [];
    const creation: Skeleton[] = [];
    const revisions: number[] = [];
    let existed = true;
    for (const family of families) {
      const wanted = skeletonOf(family);
      const listing = await this.#executor.readTable(wanted);
      existed &&= listing !== undefined;
      if (listing?.intact === true) {
        // One by one: hundreds of thousands are too many arguments of a call.
        for (const element of listing.elements) found.push(element);
        revisions.push(...listing.revisions);
      } else {
        this.#log.info({ family, existed: listing !== undefined }, 'nftables table is created');
        creation.push(wanted);
      }
    }
    this.#adopted ??= existed;
    const { owned, rest } = divideFound(found, targets);
    const previous = this.#targets;
    this.#targets = new Map([...owned, [adoptedOwner, rest] as const].map(([owner, elements]) => [owner, { elements }]));
    this.#store = new ElementStore();
    const present = [...this.#targets.values()].map(({ elements }) => ({ before: [], after: elements }));
    this.#store.record(planDifference(this.#store, present));
    this.#revisions = revisions;
    const result = await this.commit(new Map<string, Target | undefined>([[adoptedOwner, undefined], ...targets]), creation);
    // What the frontends were before the table was read again is what their flows were made with.
    const committed = [...previous].flatMap(([owner, { frontend }]) =>
      frontend === undefined || result.refused.has(owner) ? [] : [{ before: frontend, after: targets.get(owner)?.frontend }],
    );
    return { ...result, committed };
  }

  /** Changes some owners; undefined: it is gone. `creation`: tables to make before, in the same transaction. */
  async commit(targets: ReadonlyMap<string, Target | undefined>, creation: readonly Skeleton[] = []): Promise<CommitResult> {
    const records: Record[] = [...targets].map(([owner, target]) => ({
      owner,
      target,
      before: this.#targets.get(owner)?.elements ?? [],
      after: target?.elements ?? [],
    }));
    const run = new Run();
    if (await this.#attempt(records, creation, run)) return run;
    if (creation.length > 0) {
      await this.#transaction(creation, nothing);
      run.transactions++;
    } else {
      await this.#transaction([], nothing);
    }
    await this.#bisect(records, run);
    return run;
  }

  /** Removes both tables, whatever is in them. */
  async remove(): Promise<void> {
    await this.#executor.removeTables();
    this.#store = new ElementStore();
    this.#targets = new Map();
    this.#revisions = [];
  }

  async #bisect(records: readonly Record[], run: Run): Promise<void> {
    const [only] = records;
    if (only === undefined) return;
    const half = Math.ceil(records.length / 2);
    for (const part of records.length === 1 ? [records] : [records.slice(0, half), records.slice(half)]) {
      if (await this.#attempt(part, [], run)) continue;
      const [alone, ...others] = part;
      if (alone === undefined || others.length > 0) {
        await this.#bisect(part, run);
      } else if (alone.owner === nodeOwner || alone.owner === adoptedOwner) {
        throw new DataplaneError('failed', run.error);
      } else {
        run.refused.set(alone.owner, run.error);
      }
    }
  }

  /** One transaction; false: the kernel refuses it, and nothing has changed. */
  async #attempt(records: readonly Record[], creation: readonly Skeleton[], run: Run): Promise<boolean> {
    const difference = planDifference(this.#store, records);
    if (creation.length + difference.deletes.length + difference.adds.length > 0) {
      try {
        await this.#transaction(creation, difference);
      } catch (error) {
        if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
        run.error = error.message;
        return false;
      }
      run.transactions++;
    }
    this.#store.record(difference);
    for (const { owner, target } of records) {
      const before = this.#targets.get(owner)?.frontend;
      if (before !== undefined || target?.frontend !== undefined) run.committed.push({ before, after: target?.frontend });
      if (target === undefined) this.#targets.delete(owner);
      else this.#targets.set(owner, target);
    }
    return true;
  }

  /** One transaction with a revision of its own. Creating the IPv4 table empties the revision set. */
  async #transaction(create: readonly Skeleton[], { deletes, adds }: Pick<Difference, 'deletes' | 'adds'>): Promise<void> {
    const add = (Math.max(0, ...this.#revisions) % 0x7fff_ffff) + 1;
    assert(!this.#revisions.includes(add));
    const remove = create.some(({ family }) => family === 4) ? [] : this.#revisions;
    this.#expected.add(add);
    try {
      await this.#executor.run({ create, deletes, adds, revision: { remove, add } });
    } catch (error) {
      this.#expected.delete(add);
      throw error;
    }
    this.#revisions = [add];
    // A monitor that is not running never takes them back.
    if (this.#expected.size > 1_000) this.#expected.delete(this.#expected.values().next().value ?? add);
  }
}

/** What one commit has done so far. */
class Run implements CommitResult {
  readonly committed: CommittedChange[] = [];
  readonly refused = new Map<string, string>();
  transactions = 0;
  error = '';
}
