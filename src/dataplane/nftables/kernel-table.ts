import { ok as assert } from 'node:assert';
import type { Family } from '../../net/address.ts';
import type { Frontend } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { divideFound, nothingFound, wantedBy, type Wanted } from './adoption.ts';
import { Difference, SharedElements } from './diff.ts';
import { ElementList } from '../ruleset/element-list.ts';
import { OutcomeUnknown, Overtaken, type NftExecutor } from './executor.ts';
import { families } from '../ruleset/layout.ts';
import { elementsPerTransaction } from '../limits.ts';
import type { Skeleton } from '../ruleset/skeleton.ts';
import { elementsOf, frontendOf, type Target } from './target.ts';
import { TimeSlice } from '../../system/time-slice.ts';

/** The owner of the elements that are not a frontend's. */
export const nodeOwner = 'node';

/** A frontend whose form in the kernel changed; undefined: it was or is not there. */
interface CommittedChange {
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

interface Change {
  readonly owner: string;
  /** Undefined: it is to go. */
  readonly target: Target | undefined;
}

/** Owns what a predecessor left and nobody has any more. */
const adoptedOwner = 'adopted';

/**
 * Our two tables in the kernel and what we know of them. Not for concurrent use: the caller serialises.
 *
 * A batch is one transaction for both families, or a few when it is large: the kernel's memory for one grows with it, and events
 * take kilobytes for each element where anybody listens on this machine. When the kernel refuses one, an empty transaction
 * tells whether anything works at all; then it is halved until the owner at fault is alone.
 */
export class KernelTable {
  readonly #executor: NftExecutor;
  readonly #clock: Clock;
  readonly #log: Log;
  #shared = new SharedElements();
  /** By owner: what it has in the kernel. */
  #present = new Map<string, Target>();
  /** The numbers in the revision set, as far as known. */
  #revisions: readonly number[] = [];
  readonly #expected = new Set<number>();
  #adopted: boolean | undefined;

  constructor(executor: NftExecutor, clock: Clock, log: Log) {
    this.#executor = executor;
    this.#clock = clock;
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

  /** Reads the kernel and brings it to exactly `targets`: an intact table is changed element by element, another one replaced. */
  async synchronise(skeletonOf: (family: Family) => Skeleton, targets: ReadonlyMap<string, Target>): Promise<CommitResult> {
    const previous = this.#present;
    const result = await this.#synchroniseBy(skeletonOf, targets);
    // What the frontends were before the table was read again is what their flows were made with.
    const committed = [...previous].flatMap(([owner, target]) => {
      const before = frontendOf(target);
      return before === undefined || result.refused.has(owner) ? [] : [{ before, after: frontendOf(targets.get(owner)) }];
    });
    return { ...result, committed };
  }

  /**
   * Where another program changed nftables after the reading had begun, what was read may not be what is there: then once more. Not
   * for ever, as the kernel tells of any table: what somebody changes in ours is heard of in any case.
   */
  async #synchroniseBy(skeletonOf: (family: Family) => Skeleton, targets: ReadonlyMap<string, Target>): Promise<CommitResult> {
    const generation = await this.#executor.generation?.();
    try {
      return await this.#synchroniseOnce(skeletonOf, targets, generation);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      this.#log.info({}, 'another program changed nftables meanwhile: the tables are read again');
      return await this.#synchroniseOnce(skeletonOf, targets, undefined);
    }
  }

  async #synchroniseOnce(
    skeletonOf: (family: Family) => Skeleton,
    targets: ReadonlyMap<string, Target>,
    generation: number | undefined,
  ): Promise<CommitResult> {
    const found: ElementList[] = [];
    const creation: Skeleton[] = [];
    const revisions: number[] = [];
    let existed = true;
    let replaces = false;
    const turn = new TimeSlice(this.#clock);
    let wanted: Promise<Wanted> | undefined;
    const want = (): Promise<Wanted> => (wanted ??= wantedBy(targets, turn));
    for (const family of families) {
      const table = skeletonOf(family);
      const listing = await this.#executor.readTable(table, async () => (await want()).elements);
      existed &&= listing !== undefined;
      if (listing?.intact === true) {
        found.push(listing.elements);
        revisions.push(...listing.revisions);
      } else {
        replaces ||= listing !== undefined;
        this.#log.info({ family, existed: listing !== undefined }, 'nftables table is created');
        creation.push(table);
      }
    }
    this.#adopted ??= existed;
    const { shared, owned, rest } = found.length === 0 ? nothingFound(targets) : await divideFound(found, await want(), targets, turn);
    this.#present = new Map(targets);
    for (const [owner, elements] of owned) this.#present.set(owner, { elements });
    this.#present.set(adoptedOwner, { elements: rest });
    this.#shared = shared;
    this.#revisions = revisions;
    const changes: Change[] = [{ owner: adoptedOwner, target: undefined }];
    for (const owner of owned.keys()) changes.push({ owner, target: targets.get(owner) });
    // Traffic that an older table forwards is not to notice that it is replaced: all of it at once.
    return await this.#commit(changes, creation, replaces ? Number.POSITIVE_INFINITY : elementsPerTransaction, generation);
  }

  /** Changes some owners; undefined: it is gone. */
  commit(targets: ReadonlyMap<string, Target | undefined>): Promise<CommitResult> {
    return this.#commit(
      [...targets].map(([owner, target]) => ({ owner, target })),
      [],
      elementsPerTransaction,
    );
  }

  /** Removes both tables, whatever is in them. */
  async remove(): Promise<void> {
    await this.#executor.removeTables();
    this.#shared = new SharedElements();
    this.#present = new Map();
    this.#revisions = [];
  }

  /**
   * `creation`: tables to make before, in the same transaction as the first changes. `bound`: elements after which a transaction
   * ends; one owner's are always in one. `generation`: of the first of them.
   */
  async #commit(changes: readonly Change[], creation: readonly Skeleton[], bound: number, generation?: number): Promise<CommitResult> {
    const run = new Run();
    for (let start = 0; start < changes.length;) {
      const { difference, part } = await this.#difference(changes, start, bound);
      const create = start === 0 ? creation : [];
      const guard = start === 0 ? generation : undefined;
      start += part.length;
      if (await this.#attempt(part, difference, create, run, guard)) continue;
      await this.#transaction(create, new Difference(this.#shared));
      if (create.length > 0) run.transactions++;
      await this.#bisect(part, run);
    }
    return run;
  }

  async #bisect(changes: readonly Change[], run: Run): Promise<void> {
    const [only] = changes;
    if (only === undefined) return;
    const half = Math.ceil(changes.length / 2);
    for (const part of changes.length === 1 ? [changes] : [changes.slice(0, half), changes.slice(half)]) {
      const { difference } = await this.#difference(part, 0, Number.POSITIVE_INFINITY);
      if (await this.#attempt(part, difference, [], run)) continue;
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
  async #attempt(
    changes: readonly Change[],
    difference: Difference,
    creation: readonly Skeleton[],
    run: Run,
    generation?: number,
  ): Promise<boolean> {
    const { deletes, adds, laterDeletes } = difference;
    if (creation.length + deletes.size + adds.size > 0) {
      try {
        await this.#transaction(creation, difference, generation);
      } catch (error) {
        const isRefusal = error instanceof DataplaneError && error.code === 'failed';
        if (!isRefusal || error instanceof OutcomeUnknown || error instanceof Overtaken) throw error;
        run.error = error.message;
        return false;
      }
      run.transactions++;
    }
    if (laterDeletes.size > 0) {
      await this.#deleteLater(laterDeletes);
      run.transactions++;
    }
    this.#shared.record(difference);
    for (const { owner, target } of changes) {
      const before = frontendOf(this.#present.get(owner));
      const after = frontendOf(target);
      if (before !== undefined || after !== undefined) run.committed.push({ before, after });
      if (target === undefined) this.#present.delete(owner);
      else this.#present.set(owner, target);
    }
    return true;
  }

  /** The second part of an attempt. When it fails, half of the attempt has been made: as if nobody had heard of it. */
  async #deleteLater(deletes: ElementList): Promise<void> {
    try {
      await this.#transaction([], { deletes, adds: new ElementList() });
    } catch (error) {
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      throw new OutcomeUnknown(error.message, { cause: error });
    }
  }

  /** What the changes from `start` on mean for the kernel, as many of them as make a transaction. */
  async #difference(
    changes: readonly Change[],
    start: number,
    bound: number,
  ): Promise<{ readonly difference: Difference; readonly part: readonly Change[] }> {
    const turn = new TimeSlice(this.#clock);
    const difference = new Difference(this.#shared);
    let end = start;
    while (difference.size < bound) {
      const change = changes[end++];
      if (change === undefined) break;
      const { owner, target } = change;
      const before = this.#present.get(owner);
      difference.include({
        before: before === undefined ? [] : elementsOf(before),
        after: target === undefined ? [] : elementsOf(target),
      });
      if (turn.isUsedUp) await turn.yield();
    }
    difference.complete();
    return { difference, part: changes.slice(start, end) };
  }

  /** One transaction with a revision of its own. Creating the IPv4 table empties the revision set. */
  async #transaction(
    create: readonly Skeleton[],
    { deletes, adds }: Pick<Difference, 'deletes' | 'adds'>,
    generation?: number,
  ): Promise<void> {
    const add = (Math.max(0, ...this.#revisions) % 0x7fff_ffff) + 1;
    assert(!this.#revisions.includes(add));
    const remove = create.some(({ family }) => family === 4) ? [] : this.#revisions;
    this.#expected.add(add);
    try {
      const guard = generation === undefined ? {} : { generation };
      await this.#executor.run({ create, deletes, adds, revision: { remove, add }, ...guard });
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
