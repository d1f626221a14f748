import { NetlinkError } from '../../../../system/netlink/error.ts';
import type { MessageWriter } from '../../../../system/netlink/message-writer.ts';
import { keysPerRequest, maximumMissingKeys, requestsPerDatagram } from '../../../limits.ts';
import type { PackedSet } from '../../../ruleset/element-list.ts';
import { messages } from '../constants.ts';
import type { NfTablesConnection } from '../nf-tables-connection.ts';
import { beginElements } from './element-messages.ts';
import { EntryForm } from './entry-form.ts';
import { appendElements } from './packed-entries.ts';

/** Indexes of elements; `end` is exclusive. */
export interface Range {
  readonly first: number;
  readonly end: number;
}

/** Splits the indexes from `first` up to `end` into ranges of at most `length`. */
export function rangesOf(first: number, end: number, length: number): Range[] {
  const ranges: Range[] = [];
  for (let at = first; at < end; at += length) ranges.push({ first: at, end: Math.min(at + length, end) });
  return ranges;
}

/**
 * Looks up elements by key and appends those that the kernel has to `found`. The kernel sends a datagram for each. Returns false when too
 * many are missing. Not for sets of ranges.
 */
export async function getElements(
  connection: NfTablesConnection,
  wanted: PackedSet,
  ranges: readonly Range[],
  found: PackedSet,
): Promise<boolean> {
  const form = new EntryForm(wanted, 'key');
  let missing = 0;
  const left = ranges.flatMap(({ first, end }) => rangesOf(first, end, keysPerRequest));
  while (left.length > 0) {
    const asked = left.splice(0, requestsPerDatagram);
    const requests = asked.map((range) => requestFor(wanted, form, range));
    const answers = await connection.requestEach(messages.getElement, wanted.family, requests);
    for (const [index, { payloads, errno }] of answers.entries()) {
      const { first, end } = asked[index] ?? { first: 0, end: 0 };
      for (const payload of payloads) if (!appendElements(payload, found)) return false;
      if (errno === 0) continue;
      if (errno !== ENOENT) throw new NetlinkError(`getting elements of ${wanted.set}`, errno);
      // The kernel stops at the first missing key.
      if (++missing > maximumMissingKeys) return false;
      const next = first + payloads.length + 1;
      if (next < end) left.push({ first: next, end });
    }
  }
  return true;
}

const ENOENT = 2;

const requestFor =
  (wanted: PackedSet, form: EntryForm, { first, end }: Range) =>
  (writer: MessageWriter): void => {
    const list = beginElements(writer, wanted.set);
    form.write(writer, wanted, first, end);
    writer.endNested(list);
  };
