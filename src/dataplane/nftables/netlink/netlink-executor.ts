import { sleep, type Cancel, type Clock } from '../../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { readMessages } from '../../../system/netlink/message.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import { DataplaneError } from '../../dataplane.ts';
import type { MonitorEvents, NftExecutor, Transaction } from '../executor.ts';
import { families, revisionSet, tableName } from '../layout.ts';
import { attemptPause, datagramsPerTurn, maximumAttempts, maximumBatchBytes, monitorPoll } from '../limits.ts';
import type { Batch } from './batch.ts';
import { ChangeReader } from './change-reader.ts';
import { changesGroup, elementAttributes, listElement, messages } from './constants.ts';
import { Conversation } from './conversation.ts';
import { beginElements, writeData, writeElements } from './element-messages.ts';
import { hostNumber } from './expressions.ts';
import { FieldWriter } from './fields.ts';
import { readTable } from './read-table.ts';
import { writeRemoval, writeSkeleton } from './skeleton-messages.ts';

/** Reasons that pass: memory, another program's transaction, a change between two looks. */
const passing = new Set(['EAGAIN', 'EBUSY', 'EINTR', 'ENOBUFS', 'ENOMEM', 'ERESTART']);

/**
 * Drives the kernel by netlink, in the network namespace of this process or the one behind a file such as /run/netns/node1.
 * Undefined where this machine has no FFI or refuses the socket. The socket stays open as long as the process.
 */
export function netlinkExecutor(clock: Clock, networkNamespace?: string): NftExecutor | undefined {
  const options = { protocol: netfilterProtocol, ...(networkNamespace === undefined ? {} : { networkNamespace }) };
  let socket: NetlinkSocket | undefined;
  try {
    socket = openNetlink(options);
  } catch (error) {
    if (error instanceof NetlinkError) return undefined;
    throw error;
  }
  if (socket === undefined) return undefined;
  const conversation = new Conversation(socket, clock);

  /** Again while the reason is one that passes. */
  const attempts = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const isPassing = error instanceof NetlinkError && passing.has(error.code);
        if (!isPassing || attempt === maximumAttempts) throw dataplaneErrorOf(error);
      }
      await sleep(clock, attemptPause * attempt);
    }
  };
  const transact = (fill: (batch: Batch) => void): Promise<void> =>
    attempts(async () => {
      const refusal = await conversation.transact(fill);
      if (refusal === undefined) return;
      if (passing.has(refusal.error.code)) throw refusal.error;
      throw new DataplaneError(codeOf(refusal.error), refusal.text, { cause: refusal.error });
    });

  return {
    run: (transaction) => transact((batch) => writeTransaction(batch, transaction)),
    removeTables: () => transact((batch) => families.forEach((family) => writeRemoval(batch, family, 0))),
    readTable: (skeleton) => attempts(() => readTable(conversation, skeleton)),
    monitor: (events) => monitor(options, clock, events),
  };
}

function writeTransaction(batch: Batch, { create, deletes, adds, revision }: Transaction): void {
  let id = 0;
  for (const skeleton of create) writeSkeleton(batch, skeleton, 0, () => ++id);
  const fields = new FieldWriter();
  try {
    writeElements(batch, 'delete', deletes, fields);
    writeElements(batch, 'add', adds, fields);
  } catch (error) {
    if (error instanceof RangeError) throw new DataplaneError('failed', error.message, { cause: error });
    throw error;
  }
  writeRevisions(batch, messages.delElement, revision.remove);
  writeRevisions(batch, messages.newElement, [revision.add]);
  if (batch.length > maximumBatchBytes) throw new DataplaneError('failed', `a transaction of ${batch.length} octets`);
}

function writeRevisions(batch: Batch, type: number, revisions: readonly number[]): void {
  if (revisions.length === 0) return;
  batch.addList(
    type,
    0,
    4,
    () => `elements of ip ${tableName} ${revisionSet}`,
    (writer) => {
      const list = beginElements(writer, revisionSet);
      for (const revision of revisions) {
        const entry = writer.beginNested(listElement);
        writeData(writer, elementAttributes.key, hostNumber(revision));
        writer.endNested(entry);
      }
      writer.endNested(list);
    },
  );
}

/**
 * Looks for events at intervals: Node has no public handle for a netlink socket, an empty look costs less than a microsecond, and a
 * repair waits for a tenth of a second anyway.
 */
function monitor(options: Parameters<typeof openNetlink>[0], clock: Clock, events: MonitorEvents): { stop(): Promise<void> } {
  let stopped = false;
  let cancel: Cancel = () => undefined;
  let socket: NetlinkSocket | undefined;
  const reader = new ChangeReader(events.onChange);
  const end = (why: string): void => {
    socket?.close();
    if (!stopped) events.onEnd(why);
    stopped = true;
  };
  const look = (): void => {
    if (stopped || socket === undefined) return;
    for (let datagrams = 0; datagrams < datagramsPerTurn; datagrams++) {
      try {
        const datagram = socket.receive();
        if (datagram === undefined) {
          cancel = clock.after(monitorPoll, look);
          return;
        }
        for (const message of readMessages(datagram)) reader.read(message);
      } catch (error) {
        if (!(error instanceof MalformedNetlink) && !(error instanceof NetlinkError && error.code === 'ENOBUFS')) {
          end(String(error));
          return;
        }
        reader.forget();
        events.onLoss(error.message);
      }
    }
    cancel = clock.after(0, look);
  };
  cancel = clock.after(0, () => {
    try {
      socket = openNetlink({ ...options, groups: [changesGroup] });
    } catch (error) {
      end(String(error));
      return;
    }
    look();
  });
  return {
    stop() {
      stopped = true;
      cancel();
      socket?.close();
      return Promise.resolve();
    },
  };
}

function dataplaneErrorOf(error: unknown): unknown {
  if (error instanceof NetlinkError) return new DataplaneError(codeOf(error), error.message, { cause: error });
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
    case 'EOPNOTSUPP':
      return 'unavailable';
    default:
      return 'failed';
  }
}
