import { readAttributes } from '../../../system/netlink/attributes.ts';
import type { Message } from '../../../system/netlink/message.ts';
import type { Clock } from '../../../system/clock.ts';
import { followEvents, type Events } from '../../../system/netlink/events.ts';
import type { NetlinkOptions } from '../../../system/netlink/socket.ts';
import type { MonitorEvents, TableChange } from '../executor.ts';
import { revisionSet, tableName } from '../../ruleset/layout.ts';
import { netfilterHeaderBytes } from './batch.ts';
import { changesGroup, elementListAttributes, messages, protocolFamily, tableAttribute } from './constants.ts';
import { attributeText, parseSetElements } from './elements/entries.ts';
import { revisionOf } from './read-table.ts';

const families: ReadonlyMap<number, string> = new Map(Object.entries(protocolFamily).map(([name, number]) => [number, name]));

/**
 * Reports the transactions on our tables. `port` is that of the executor's socket: a transaction from there without a revision added
 * elements while a table was read, and is not reported.
 */
export function followChanges(options: NetlinkOptions, clock: Clock, { onChange, onLoss, onEnd }: MonitorEvents, port: number): Events {
  const reader = new ChangeReader(onChange, port);
  return followEvents({ ...options, groups: [changesGroup] }, clock, {
    onMessage: (message) => reader.read(message),
    onLoss(what) {
      reader.discardTransaction();
      onLoss(what);
    },
    onEnd,
  });
}

/** Collects the events of one transaction until the kernel reports the new generation. Throws MalformedNetlink. */
export class ChangeReader {
  readonly #onChange: (change: TableChange) => void;
  readonly #ownPort: number;
  #revisions: number[] = [];
  #first: string | undefined;
  #port: number | undefined;

  constructor(onChange: (change: TableChange) => void, ownPort: number) {
    this.#onChange = onChange;
    this.#ownPort = ownPort;
  }

  read(message: Message): void {
    if (message.type === messages.newGeneration) {
      const isReading = this.#port === this.#ownPort && this.#revisions.length === 0;
      if (this.#first !== undefined && !isReading) this.#onChange({ revisions: this.#revisions, what: this.#first });
      this.discardTransaction();
      return;
    }
    const family = families.get(message.payload[0] ?? 0);
    if (family === undefined) return;
    const attributes = message.payload.subarray(netfilterHeaderBytes);
    const byType = readAttributes(attributes);
    if (attributeText(byType, tableAttribute) !== tableName) return;
    this.#port = message.port;
    this.#first ??= `${nameOf(message.type)} in ${family} ${tableName}`;
    if (message.type === messages.newElement && attributeText(byType, elementListAttributes.set) === revisionSet)
      for (const { key } of parseSetElements(attributes)) this.#revisions.push(...revisionOf(key));
  }

  /** Drops the events collected so far. The end of their transaction was lost. */
  discardTransaction(): void {
    this.#revisions = [];
    this.#first = undefined;
    this.#port = undefined;
  }
}

/** Names a message type for people; an unknown type is shown as a number. */
function nameOf(type: number): string {
  return Object.entries(messages).find(([, number]) => number === type)?.[0] ?? `change ${type & 0xff}`;
}
