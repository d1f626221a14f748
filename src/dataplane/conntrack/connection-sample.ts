import type { Address } from '../../net/address.ts';
import { defined } from '../../lang/defined.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { ConnectionOutcome, ObservedConnection } from '../../net/observed-connection.ts';
import type { Clock } from '../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { messageFlags, messageHeaderBytes, messageTypes, readAcknowledgement, readMessages } from '../../system/netlink/message.ts';
import { MessageWriter } from '../../system/netlink/message-writer.ts';
import type { NetlinkSocket } from '../../system/netlink/socket.ts';
import { sampledConnections } from './limits.ts';
import { outcomeOf, type FlowOutcome, type Timeouts } from './flow-outcome.ts';
import { FlowReader, statusBits, type Pair } from './flow-reader.ts';

const listFlows = (1 << 8) | 1;
const flowMessage = 1 << 8;
const flowAttributes = { status: 3, statusMask: 26 } as const;
/** Two failed connections tell more than one. */
const failuresEach = 2;
const severalOf: ReadonlySet<ConnectionOutcome> = new Set(['silent', 'unfinished', 'unheard', 'unacknowledged']);
/** struct nfgenmsg. */
const headerBytes = 4;

interface Entry {
  readonly pair: Pair;
  readonly id: number;
  readonly isReplied: boolean;
  /** Of an unfinished connection. */
  readonly client: Address | undefined;
  /** The outcome if the connection was answered since the last look, and if that is unknown. */
  readonly ifNew: FlowOutcome | undefined;
  readonly ifOld: FlowOutcome | undefined;
}

export interface Look {
  /** The latest connection of each destination, endpoint and outcome, and two that failed. */
  readonly connections: readonly ObservedConnection[];
  /** Number of entries that were read, and whether there are no others. */
  readonly listed: number;
  readonly isWhole: boolean;
}

/**
 * Looks at the first entries of connection tracking, at most `sampledConnections`. Entries are in the order of a hash with a random key, so the
 * first ones are a random sample; two looks in a row see the same part of the table. A connection is new if the last look saw this part without
 * it.
 */
export class ConnectionSample {
  readonly #clock: Clock;
  readonly #reader = new FlowReader();
  /** The connections with a reply at the last look. Undefined: there was none. */
  #known: ReadonlySet<number> | undefined;
  /** The connections of `#known` in which the endpoint had sent no data. */
  #silent: ReadonlySet<number> = new Set();
  /** The last look saw the whole table. */
  #wasWhole = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Reads from a new socket, which the caller closes: that ends a list early. Removes from `unseen` the keys of the entries that it sees.
   * Rejects with NetlinkError or MalformedNetlink.
   */
  async look(socket: NetlinkSocket, timeouts: Timeouts, unseen: Map<string, unknown> = new Map()): Promise<Look> {
    const pairs = new Map<string, Pair>();
    const entries: Entry[] = [];
    let listed = 0;
    const known = this.#known;
    const silent = this.#silent;
    const isWhole = await this.#list(socket, (bytes, start, end) => {
      listed++;
      this.#reader.read(bytes, start, end);
      if (unseen.size > 0) unseen.delete(this.#reader.key);
      const entry = entryOf(this.#reader, pairs, { replied: known, silent }, timeouts);
      if (entry !== undefined) entries.push(entry);
    });
    // Before the last known entry, the last look saw all. Behind it, only if it saw the whole table.
    const lastKnown = this.#wasWhole ? entries.length : entries.findLastIndex(({ id }) => known?.has(id) === true);
    const now = this.#clock.now();
    const latest = new LatestConnections();
    const replied = new Set<number>();
    const stillSilent = new Set<number>();
    for (const [index, { pair, id, isReplied, client, ifNew, ifOld }] of entries.entries()) {
      if (isReplied) replied.add(id);
      if (isReplied && ifOld?.data === 'none') stillSilent.add(id);
      const isNew = known !== undefined && index < lastKnown && !known.has(id);
      const isFirstData = silent.has(id) && hasData(ifOld);
      const judged = isNew || isFirstData ? ifNew : ifOld;
      if (judged === undefined) continue;
      const { quietSeconds, ...outcome } = judged;
      latest.add({ ...pair, id, ...outcome, at: now - quietSeconds * 1000, ...defined({ client }) }, pair);
    }
    this.#known = replied;
    this.#silent = stillSilent;
    this.#wasWhole = isWhole;
    return { connections: latest.connections(), listed, isWhole };
  }

  /** Returns whether the kernel has listed all. */
  async #list(socket: NetlinkSocket, read: (bytes: Uint8Array, start: number, end: number) => void): Promise<boolean> {
    const writer = new MessageWriter();
    const start = writer.beginMessage({ type: listFlows, flags: messageFlags.request | messageFlags.dump, sequence: 1 });
    // AF_UNSPEC: both families. An old kernel ignores the filter and lists all.
    writer.raw(new Uint8Array(headerBytes));
    writer.numberAttribute(flowAttributes.status, statusBits.translated);
    writer.numberAttribute(flowAttributes.statusMask, statusBits.translated);
    writer.endMessage(start);
    // The kernel may walk through a large table before it finds the first entry, or the last one.
    await socket.send(writer.bytes());
    for (let listed = 0; listed < sampledConnections;) {
      const datagram = await socket.receiveInThread();
      if (datagram === undefined) throw new MalformedNetlink('the end of the list is missing');
      const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
      for (let at = 0; at < datagram.length;) {
        const end = at + messageLength(view, at);
        const type = view.getUint16(at + 4, true);
        if (type === messageTypes.error) throw new NetlinkError('listing connections', errorOf(datagram));
        if (type === messageTypes.done) return true;
        if (type === flowMessage) {
          listed++;
          read(datagram, at + messageHeaderBytes + headerBytes, end);
        }
        at = (end + 3) & ~3;
      }
    }
    return false;
  }
}

/** Returns the length of a message. Messages are not taken apart into objects, because there are thousands. Throws MalformedNetlink. */
function messageLength(view: DataView, at: number): number {
  const room = view.byteLength - at;
  const length = room < messageHeaderBytes ? room : view.getUint32(at, true);
  if (length < messageHeaderBytes || length > room)
    throw new MalformedNetlink(`a message at ${at} has the length ${length} in ${room} octets`);
  return length;
}

function errorOf(datagram: Uint8Array): number {
  const message = readMessages(datagram).find(({ type }) => type === messageTypes.error);
  return message === undefined ? 0 : readAcknowledgement(message).errno;
}

function entryOf(
  reader: FlowReader,
  pairs: Map<string, Pair>,
  known: { readonly replied: ReadonlySet<number> | undefined; readonly silent: ReadonlySet<number> },
  timeouts: Timeouts,
): Entry | undefined {
  const { protocol, id } = reader;
  if (protocol === undefined || !reader.isComplete || (reader.status & statusBits.translated) === 0) return undefined;
  const ifOld = outcomeOf(reader, false, timeouts);
  const isKnown = known.replied?.has(id) === true;
  const ifNew = isKnown && !(known.silent.has(id) && hasData(ifOld)) ? undefined : outcomeOf(reader, true, timeouts);
  if (!isKnown && ifNew === undefined && ifOld === undefined) return undefined;
  const { key } = reader;
  let pair = pairs.get(key);
  if (pair === undefined) pairs.set(key, (pair = pairOf(reader, protocol)));
  const client = ifOld?.outcome === 'unfinished' ? reader.client : undefined;
  return { pair, id, isReplied: isKnown || ifNew?.outcome === 'answered', client, ifNew, ifOld };
}

const hasData = (outcome: FlowOutcome | undefined): boolean => outcome?.data === 'some' || outcome?.data === 'large';

export function pairOf({ destination, port, endpoint, endpointPort }: FlowReader, protocol: Protocol): Pair {
  return { destination, protocol, port, endpoint, endpointPort };
}

/** The latest connection of each kind, and two of those that failed. */
class LatestConnections {
  /** By outcome, and by data of answers. */
  readonly #found = new Map<string, Map<Pair, ObservedConnection[]>>();

  add(connection: ObservedConnection, pair: Pair): void {
    const { outcome, at, data } = connection;
    const kind = `${outcome} ${data}`;
    const alike = this.#found.get(kind) ?? new Map<Pair, ObservedConnection[]>();
    this.#found.set(kind, alike);
    const known = alike.get(pair);
    if (known === undefined) alike.set(pair, [connection]);
    else if (known.length < (severalOf.has(outcome) ? failuresEach : 1)) known.push(connection);
    else if ((known[0]?.at ?? 0) < at) known[0] = connection;
  }

  connections(): ObservedConnection[] {
    return [...this.#found.values()].flatMap((pairs) => [...pairs.values()].flat());
  }
}
