import { ok as assert } from 'node:assert';
import type { Family } from '../../net/address.ts';
import type { Frontend } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { groupByOwner, desiredElements, type DesiredElements, type FoundElements } from './adoption.ts';
import { Difference, SharedElements } from './diff.ts';
import { ElementList } from '../ruleset/element-list.ts';
import { CommitOutcomeUnknown, GenerationMismatch, type NftExecutor, type TablePart } from './executor.ts';
import { families } from '../ruleset/layout.ts';
import { elementsPerTransaction } from '../limits.ts';
import { chainsOfElements, type Skeleton } from '../ruleset/skeleton.ts';
import { addTargetElements, targetElements, targetFrontend, type Target } from './target.ts';
import { allWithoutWaiting, TimeSlice } from '../../system/time-slice.ts';

/** The owner of the elements that belong to no frontend. */
export const nodeOwner = 'node';

/** A frontend whose form in the kernel changed. Undefined: absent before or after. */
interface CommittedChange {
  readonly before: Frontend | undefined;
  readonly after: Frontend | undefined;
}

export interface CommitResult {
  readonly committed: readonly CommittedChange[];
  /** Owner to the kernel's error text. The previous elements of these owners are still in the kernel. */
  readonly refused: ReadonlyMap<string, string>;
  /** Transactions that the kernel committed; those that completed a table while it was read count as one. Zero: there was nothing to do. */
  readonly transactions: number;
}

interface Change {
  readonly owner: string;
  /** Undefined: the owner is removed. */
  readonly target: Target | undefined;
}

function changesTo(targets: ReadonlyMap<string, Target | undefined>): Change[] {
  return Array.from(targets, ([owner, target]) => ({ owner, target }));
}

/** Owns the elements of an earlier process that no present owner has. */
const adoptedOwner = 'adopted';

/**
 * Our two tables in the kernel and what is known of them. Not for concurrent use: the caller serialises.
 *
 * A batch is one transaction for both families, or several when it is large: the kernel's memory for a transaction grows with its size, and
 * events take kilobytes per element while any program on this machine listens. When the kernel refuses a transaction, an empty one tells
 * whether anything works at all. Then the batch is halved until the faulty owner is alone.
 */
export class KernelTable {
  readonly #executor: NftExecutor;
  readonly #clock: Clock;
  readonly #log: Log;
  #shared = new SharedElements();
  /** By family, from the latest synchronisation on. */
  readonly #skeletons = new Map<Family, Skeleton>();
  /** By owner: its elements in the kernel. */
  #present = new Map<string, Target>();
  /** The numbers in the revision set, as far as known. */
  #revisions: readonly number[] = [];
  readonly #expected = new Set<number>();
  #adopted: boolean | undefined;
  /** The latest reading added missing elements. */
  #completed = false;

  constructor(executor: NftExecutor, clock: Clock, log: Log) {
    this.#executor = executor;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns true once for each of our transactions, given the number that it wrote into the revision set. */
  takeOwnRevision(revision: number): boolean {
    return this.#expected.delete(revision);
  }

  /** True when both tables existed at the first read. Their rules may differ from ours of today: they are then replaced atomically. */
  get adopted(): boolean {
    return this.#adopted === true;
  }

  /** Reads the kernel and brings it to exactly `targets`. An intact table is changed element by element, any other table is replaced. */
  async synchronise(skeletonOf: (family: Family) => Skeleton, targets: ReadonlyMap<string, Target>): Promise<CommitResult> {
    const previous = this.#present;
    this.#completed = false;
    const result = await this.#synchroniseBy(skeletonOf, targets);
    // The existing flows were created by the frontends as they were before the table was read again.
    const committed = [...previous].flatMap(([owner, target]) => {
      const before = targetFrontend(target);
      return before === undefined || result.refused.has(owner) ? [] : [{ before, after: targetFrontend(targets.get(owner)) }];
    });
    return { ...result, committed, transactions: result.transactions + Number(this.#completed) };
  }

  /**
   * Reads once more when another program changed nftables after the reading began, because the result may be out of date. It retries only
   * once: the generation counts changes of any table, and the monitor reports later changes of ours anyway.
   */
  async #synchroniseBy(skeletonOf: (family: Family) => Skeleton, targets: ReadonlyMap<string, Target>): Promise<CommitResult> {
    const generation = await this.#executor.generation?.();
    try {
      return await this.#synchroniseOnce(skeletonOf, targets, generation);
    } catch (error) {
      if (!(error instanceof GenerationMismatch)) throw error;
      this.#log.info({}, 'nftables changed while the tables were read, they are read again');
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
    const timeSlice = new TimeSlice(this.#clock);
    let wanted: Promise<DesiredElements> | undefined;
    const want = (): Promise<DesiredElements> => (wanted ??= desiredElements(targets, timeSlice));
    for (const family of families) {
      const table = skeletonOf(family);
      this.#skeletons.set(family, table);
      const listing = await this.#executor.readTable(table, async () => (await want()).elements);
      existed &&= listing !== undefined;
      if (listing?.intact === true) {
        found.push(listing.elements);
        revisions.push(...listing.revisions);
        this.#completed ||= listing.completed === true;
      } else {
        replaces ||= listing !== undefined;
        this.#log.info({ family, existed: listing !== undefined }, 'nftables table is created');
        creation.push(table);
      }
    }
    this.#adopted ??= existed;
    const elements = found.length === 0 ? undefined : await groupByOwner(found, await want(), targets, timeSlice);
    this.#revisions = revisions;
    const changes = [{ owner: adoptedOwner, target: undefined }, ...this.#adopt(elements, targets)];
    // Replacing an older table must not disturb the traffic that it forwards, so it happens in one transaction.
    return await this.#commit(changes, creation, replaces ? Number.POSITIVE_INFINITY : elementsPerTransaction, generation);
  }

  /** Records the elements that were found; undefined: none. Returns the changes from there to the targets. */
  #adopt(found: FoundElements | undefined, targets: ReadonlyMap<string, Target>): readonly Change[] {
    this.#shared = found?.shared ?? new SharedElements();
    this.#present = new Map(found === undefined ? [] : targets);
    if (found === undefined) return changesTo(targets);
    for (const [owner, elements] of found.owned) this.#present.set(owner, { elements });
    this.#present.set(adoptedOwner, { elements: found.rest });
    return Array.from(found.owned.keys(), (owner) => ({ owner, target: targets.get(owner) }));
  }

  /** Changes the elements of some owners. Undefined: the owner is removed. */
  commit(targets: ReadonlyMap<string, Target | undefined>): Promise<CommitResult> {
    return this.#commit(changesTo(targets), [], elementsPerTransaction);
  }

  /** Removes both tables and their content. */
  async remove(): Promise<void> {
    await this.#executor.removeTables();
    this.#shared = new SharedElements();
    this.#present = new Map();
    this.#revisions = [];
  }

  /**
   * Commits changes in as many transactions as needed. `creation`: tables to create in the first one. `bound`: elements after which a
   * transaction ends; the elements of one owner stay together. `generation`: the expected generation of the first transaction.
   */
  async #commit(changes: readonly Change[], creation: readonly Skeleton[], bound: number, generation?: number): Promise<CommitResult> {
    const run = new CommitProgress();
    let next: PlannedPart | undefined;
    for (let start = 0; start < changes.length;) {
      const { difference, part } = next ?? (await this.#difference(changes, start, bound));
      const create = start === 0 ? creation : [];
      const guard = start === 0 ? generation : undefined;
      start += part.length;
      // The next part is computed while the kernel works on this one, as if it had succeeded.
      const attempt = this.#attempt(part, difference, create, run, guard);
      const [succeeded, following] = await Promise.all([attempt, this.#difference(changes, start, bound, difference)]);
      next = succeeded ? following : undefined;
      if (succeeded) continue;
      await this.#transaction(create, new Difference(this.#shared));
      if (create.length > 0) run.transactions++;
      await this.#bisect(part, run);
    }
    return run;
  }

  async #bisect(changes: readonly Change[], run: CommitProgress): Promise<void> {
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

  /** Runs one transaction. Returns false when the kernel refuses it and nothing has changed. */
  async #attempt(
    changes: readonly Change[],
    difference: Difference,
    creation: readonly Skeleton[],
    run: CommitProgress,
    generation?: number,
  ): Promise<boolean> {
    const { deletes, adds, laterDeletes } = difference;
    if (creation.length + deletes.size + adds.size > 0) {
      try {
        await this.#transaction(creation, difference, generation);
      } catch (error) {
        const isRefusal = error instanceof DataplaneError && error.code === 'failed';
        if (!isRefusal || error instanceof CommitOutcomeUnknown || error instanceof GenerationMismatch) throw error;
        run.error = error.message;
        return false;
      }
      run.transactions++;
    }
    if (laterDeletes.size > 0) {
      await this.#deleteLater(laterDeletes);
      run.transactions++;
    }
    this.#shared.recordDifference(difference);
    for (const { owner, target } of changes) {
      const before = targetFrontend(this.#present.get(owner));
      const after = targetFrontend(target);
      if (before !== undefined || after !== undefined) run.committed.push({ before, after });
      if (target === undefined) this.#present.delete(owner);
      else this.#present.set(owner, target);
    }
    return true;
  }

  /** Runs the second part of an attempt. A failure here leaves the attempt half done, so it is reported like an unknown outcome. */
  async #deleteLater(deletes: ElementList): Promise<void> {
    try {
      await this.#transaction([], { deletes, adds: new ElementList() });
    } catch (error) {
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      throw new CommitOutcomeUnknown(error.message, { cause: error });
    }
  }

  /**
   * Computes the difference for the changes from `start` on, as many of them as fit into one transaction. `pending`: the difference of the
   * previous part while the kernel works on it.
   */
  async #difference(changes: readonly Change[], start: number, bound: number, pending?: Difference): Promise<PlannedPart> {
    const timeSlice = new TimeSlice(this.#clock);
    // First the previous part is sent, so that the kernel has work meanwhile.
    if (pending !== undefined && start < changes.length) await allWithoutWaiting();
    const difference = new Difference(this.#shared, pending);
    let end = start;
    while (difference.size < bound) {
      const change = changes[end++];
      if (change === undefined) break;
      const { owner, target } = change;
      const before = this.#present.get(owner);
      if (before !== undefined)
        difference.includeChange({ before: targetElements(before), after: target === undefined ? [] : targetElements(target) });
      else if (target !== undefined) addTargetElements(target, difference);
      if (timeSlice.isUsedUp) await timeSlice.yield();
    }
    difference.complete();
    return { difference, part: changes.slice(start, end) };
  }

  /** Runs one transaction with a new revision number. Creating the IPv4 table empties the revision set. */
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
      const parts = { remove: this.#partsOf(deletes), add: this.#partsOf(adds) };
      await this.#executor.run({ create, deletes, adds, parts, revision: { remove, add }, ...guard });
    } catch (error) {
      this.#expected.delete(add);
      throw error;
    }
    this.#revisions = [add];
    // Without a running monitor, expected revisions are never removed. This bounds their number.
    if (this.#expected.size > 1_000) this.#expected.delete(this.#expected.values().next().value ?? add);
  }

  /** Returns the chains that elements of the list bring. */
  #partsOf(elements: ElementList): TablePart[] {
    return families.flatMap((family) => {
      const chains = chainsOfElements(this.#skeletons.get(family) ?? { family, parts: new Map() }, elements);
      assert(chains !== undefined, 'an element of an unknown part or chain');
      return chains.size === 0 ? [] : [{ family, chains }];
    });
  }
}

/** Changes that fit into one transaction, and what they change in the kernel. */
interface PlannedPart {
  readonly part: readonly Change[];
  readonly difference: Difference;
}

/** The state of one commit so far. */
class CommitProgress implements CommitResult {
  readonly committed: CommittedChange[] = [];
  readonly refused = new Map<string, string>();
  transactions = 0;
  error = '';
}
