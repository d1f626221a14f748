import { readAttributes, readText } from '../../../system/netlink/attributes.ts';
import type { Message } from '../../../system/netlink/message.ts';
import type { TableChange } from '../executor.ts';
import { revisionSet, tableName } from '../../ruleset/layout.ts';
import { netfilterHeaderBytes } from './batch.ts';
import { elementListAttributes, messages, protocolFamily } from './constants.ts';
import { entriesOf } from './entries.ts';
import { revisionOf } from './read-table.ts';

/** Every object of nf_tables carries the name of its table in this attribute, a table its own. */
const tableAttribute = 1;
const families: ReadonlyMap<number, string> = new Map(Object.entries(protocolFamily).map(([name, number]) => [number, name]));

/** Collects the events of one transaction, which a new generation ends. Throws MalformedNetlink. */
export class ChangeReader {
  readonly #onChange: (change: TableChange) => void;
  #revisions: number[] = [];
  #first: string | undefined;

  constructor(onChange: (change: TableChange) => void) {
    this.#onChange = onChange;
  }

  read(message: Message): void {
    if (message.type === messages.newGeneration) {
      if (this.#first !== undefined) this.#onChange({ revisions: this.#revisions, what: this.#first });
      this.forget();
      return;
    }
    const family = families.get(message.payload[0] ?? 0);
    if (family === undefined) return;
    const attributes = message.payload.subarray(netfilterHeaderBytes);
    const byType = readAttributes(attributes);
    if (textIn(byType, tableAttribute) !== tableName) return;
    this.#first ??= `${nameOf(message.type)} in ${family} ${tableName}`;
    if (message.type === messages.newElement && textIn(byType, elementListAttributes.set) === revisionSet)
      for (const { key } of entriesOf(attributes)) this.#revisions.push(...revisionOf(key));
  }

  /** What came before is of a transaction whose end was lost. */
  forget(): void {
    this.#revisions = [];
    this.#first = undefined;
  }
}

/** For people: the number of a kind that we do not know. */
function nameOf(type: number): string {
  return Object.entries(messages).find(([, number]) => number === type)?.[0] ?? `change ${type & 0xff}`;
}

function textIn(attributes: ReadonlyMap<number, Uint8Array>, type: number): string {
  const value = attributes.get(type);
  return value === undefined ? '' : readText(value);
}
