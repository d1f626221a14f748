import { defined } from '../../../lang/defined.ts';
import { sleep, type Clock } from '../../../system/clock.ts';
import { AcknowledgementLost, MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import { DataplaneError } from '../../dataplane.ts';
import { requiredNetlink } from '../../required-netlink.ts';
import type { ElementList } from '../../ruleset/element-list.ts';
import {
  CommitOutcomeUnknown,
  GenerationMismatch,
  type Monitor,
  type MonitorEvents,
  type NftExecutor,
  type TableListing,
  type Transaction,
} from '../executor.ts';
import { families, revisionSet, tableName } from '../../ruleset/layout.ts';
import { attemptPause, maximumAttempts, maximumBatchBytes, maximumMonitoredElements } from '../../limits.ts';
import type { Skeleton } from '../../ruleset/skeleton.ts';
import { TimeSlice } from '../../../system/time-slice.ts';
import type { Batch } from './batch.ts';
import { messages, tableFlags } from './constants.ts';
import { NfTablesConnection, type Refusal } from './nf-tables-connection.ts';
import { beginElements, writeElements, writeEntry } from './elements/element-messages.ts';
import { hostNumber } from './rules/expressions.ts';
import { followChanges } from './change-reader.ts';
import { TableReader } from './read-table.ts';
import { tableText, writePart, writePartRemoval, writeRemoval, writeSkeleton, writeTable } from './skeleton-messages.ts';
import { runMuted, type MutableMonitor } from './muted-transaction.ts';

/** Transient errors: memory, another program's transaction, a change between two reads. */
const transientErrors = new Set(['EAGAIN', 'EBUSY', 'EINTR', 'ENOBUFS', 'ENOMEM', 'ERESTART']);

interface NetlinkExecutorOptions {
  /** A file such as /run/netns/node1. Absent: the network namespace of this process. */
  readonly networkNamespace?: string;
  /**
   * True: the tables belong to this socket (Linux 6.9). No other program can change them, and its "flush ruleset" leaves them intact. They
   * stay when the socket is closed, and the next process can take them over. Tables that exist without ownership stay without it until they
   * are created anew. Older kernels do not support ownership; Herald then works without it.
   */
  readonly own: boolean;
}

/** Returns the port to nf_tables by netlink. Throws DataplaneError `unavailable`. `open` lets tests inject errors. */
export function netlinkExecutor(clock: Clock, { networkNamespace, own }: NetlinkExecutorOptions, open = openNetlink): NftExecutor {
  const options = { protocol: netfilterProtocol, ...defined({ networkNamespace }) };
  return new NetlinkExecutor(requiredNetlink(options, open), options, clock, own);
}

class NetlinkExecutor implements NftExecutor {
  readonly #socket: NetlinkSocket;
  readonly #options: NetlinkOptions;
  readonly #clock: Clock;
  readonly #connection: NfTablesConnection;
  #listener: MutableMonitor | undefined;
  /** Flags of the tables that are created. */
  #flags: number;
  /** A table exists that could not be taken over as owner. */
  #unclaimed = false;

  constructor(socket: NetlinkSocket, options: NetlinkOptions, clock: Clock, own: boolean) {
    this.#socket = socket;
    this.#options = options;
    this.#clock = clock;
    this.#connection = new NfTablesConnection(socket, clock);
    this.#flags = own ? tableFlags.owner | tableFlags.persist : 0;
  }

  async run(transaction: Transaction): Promise<void> {
    const { deletes, adds, revision, generation } = transaction;
    const timeSlice = new TimeSlice(this.#clock);
    const work = (): Promise<Refusal | undefined> =>
      this.#transact((batch) => writeTransaction(batch, transaction, this.#flags, timeSlice), generation);
    const refusal =
      this.#listener === undefined || deletes.size + adds.size <= maximumMonitoredElements
        ? await work()
        : await runMuted(this.#listener, () => this.#connection.generation(), revision.add, work);
    if (refusal === undefined) return;
    if (generation !== undefined && refusal.error.code === 'ERESTART') throw new GenerationMismatch(refusal.text, { cause: refusal.error });
    const lacksOwnership = refusal.error.code === 'ENOTSUP' || refusal.error.code === 'EINVAL';
    if (this.#flags === 0 || !lacksOwnership || !transaction.create.some(({ family }) => refusal.text.startsWith(tableText(family))))
      throw dataplaneErrorOf(refusal);
    this.#flags = 0;
    await this.run(transaction);
  }

  async generation(): Promise<number | undefined> {
    if (this.#flags !== 0 && !this.#unclaimed) return undefined;
    return await this.#attempts(() => this.#connection.generation());
  }

  async removeTables(): Promise<void> {
    const refusal = await this.#transact((batch) => families.forEach((family) => writeRemoval(batch, family)));
    if (refusal !== undefined) throw dataplaneErrorOf(refusal);
  }

  async readTable(skeleton: Skeleton, wanted?: () => Promise<ElementList>): Promise<TableListing | undefined> {
    const listing = await this.#attempts(() => new TableReader(this.#connection, skeleton, new TimeSlice(this.#clock), wanted).read());
    if (listing === undefined || this.#flags === 0) return listing;
    const refusal = await this.#transact((batch) => writeTable(batch, skeleton.family, this.#flags));
    // Not supported: the kernel has no ownership, or the table was created without it.
    if (refusal === undefined) return listing;
    if (refusal.error.code === 'ENOTSUP' || refusal.error.code === 'EINVAL') {
      this.#unclaimed = true;
      return listing;
    }
    if (refusal.error.code === 'EPERM')
      throw new DataplaneError('permission', `${tableText(skeleton.family)} belongs to another process, or CAP_NET_ADMIN is missing`);
    throw dataplaneErrorOf(refusal);
  }

  monitor(events: MonitorEvents): Monitor {
    const follower = followChanges(this.#options, this.#clock, events, this.#socket.port);
    this.#listener = { follower, events };
    return follower;
  }

  close(): void {
    this.#socket.close();
  }

  #transact(fill: (batch: Batch) => void | Promise<void>, generation?: number): Promise<Refusal | undefined> {
    return this.#attempts(async () => {
      const refusal = await this.#connection.transact(fill, generation);
      if (generation !== undefined && refusal?.error.code === 'ERESTART') return refusal;
      if (refusal !== undefined && transientErrors.has(refusal.error.code)) throw refusal.error;
      return refusal;
    });
  }

  /** Repeats the work while it fails with a transient error. */
  async #attempts<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const isPassing = error instanceof NetlinkError && transientErrors.has(error.code);
        if (!isPassing || attempt === maximumAttempts) throw translated(error);
      }
      await sleep(this.#clock, attemptPause * attempt);
    }
  }
}

async function writeTransaction(batch: Batch, transaction: Transaction, flags: number, timeSlice: TimeSlice): Promise<void> {
  const { create, deletes, adds, parts, revision } = transaction;
  let id = 0;
  for (const skeleton of create) {
    await writeSkeleton(batch, skeleton, flags, () => ++id, timeSlice);
    if (timeSlice.isUsedUp) await timeSlice.yield();
  }
  await writeElements(batch, 'delete', deletes, timeSlice);
  for (const { family, chains } of parts.remove) writePartRemoval(batch, family, chains);
  for (const { family, chains } of parts.add) writePart(batch, family, chains, () => ++id);
  await writeElements(batch, 'add', adds, timeSlice);
  writeRevisions(batch, messages.delElement, revision.remove);
  writeRevisions(batch, messages.newElement, [revision.add]);
  if (batch.length > maximumBatchBytes)
    throw new DataplaneError('failed', `a transaction of ${batch.length} octets exceeds the limit of ${maximumBatchBytes}`);
}

function writeRevisions(batch: Batch, type: number, revisions: readonly number[]): void {
  if (revisions.length === 0) return;
  batch.appendListMessage(
    type,
    0,
    4,
    () => `elements of ip ${tableName} ${revisionSet}`,
    (writer) => {
      const list = beginElements(writer, revisionSet);
      for (const revision of revisions) writeEntry(writer, hostNumber(revision));
      writer.endNested(list);
    },
  );
}

function dataplaneErrorOf({ error, text }: Refusal): DataplaneError {
  return new DataplaneError(codeOf(error), text, { cause: error });
}

function translated(error: unknown): unknown {
  if (error instanceof NetlinkError) return new DataplaneError(codeOf(error), error.message, { cause: error });
  if (error instanceof AcknowledgementLost) return new CommitOutcomeUnknown(error.message, { cause: error });
  if (error instanceof MalformedNetlink) return new DataplaneError('failed', error.message, { cause: error });
  return error;
}

function codeOf({ code }: NetlinkError): DataplaneError['code'] {
  switch (code) {
    case 'EPERM':
    case 'EACCES':
      return 'permission';
    case 'EPROTONOSUPPORT':
    case 'EAFNOSUPPORT':
    case 'ENOTSUP':
      return 'unavailable';
    default:
      return 'failed';
  }
}
