import { NetlinkError } from '../../../system/netlink/error.ts';
import type { MessageWriter } from '../../../system/netlink/message-writer.ts';
import type { PackedSet } from '../../ruleset/element-list.ts';
import { keysPerRequest, maximumMissingKeys, requestsPerDatagram } from '../../limits.ts';
import { messages } from './constants.ts';
import type { NfTablesConnection } from './nf-tables-connection.ts';
import { beginElements } from './element-messages.ts';
import { EntryForm } from './entry-form.ts';
import { parseSetElements, type Entry } from './entries.ts';

/** A range of indexes; `end` is exclusive. */
interface Range {
  readonly first: number;
  readonly end: number;
}

/**
 * Looks up elements by key and returns those that the kernel has. Listing a set takes time proportional to the square of its size, because
 * the kernel starts from the beginning for every 32 KiB. Undefined: too many are missing. Not for sets of ranges.
 */
export async function getElements(connection: NfTablesConnection, wanted: PackedSet): Promise<readonly Entry[] | undefined> {
  const form = new EntryForm(wanted, 'key');
  const found: Entry[] = [];
  let missing = 0;
  const left: Range[] = [];
  for (let first = 0; first < wanted.length; first += keysPerRequest)
    left.push({ first, end: Math.min(first + keysPerRequest, wanted.length) });
  while (left.length > 0) {
    const ranges = left.splice(0, requestsPerDatagram);
    const requests = ranges.map((range) => requestFor(wanted, form, range));
    const answers = await connection.requestEach(messages.getElement, wanted.family, requests);
    for (const [index, { payloads, errno }] of answers.entries()) {
      const { first, end } = ranges[index] ?? { first: 0, end: 0 };
      for (const payload of payloads) found.push(...parseSetElements(payload));
      if (errno === 0) continue;
      if (errno !== ENOENT) throw new NetlinkError(`getting elements of ${wanted.set}`, errno);
      // The kernel stops at the first missing key.
      if (++missing > maximumMissingKeys) return undefined;
      const next = first + payloads.length + 1;
      if (next < end) left.push({ first: next, end });
    }
  }
  return found;
}

const ENOENT = 2;

const requestFor =
  (wanted: PackedSet, form: EntryForm, { first, end }: Range) =>
  (writer: MessageWriter): void => {
    const list = beginElements(writer, wanted.set);
    form.write(writer, wanted, first, end);
    writer.endNested(list);
  };
