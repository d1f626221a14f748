import { NetlinkError } from '../../../system/netlink/error.ts';
import type { PackedSet } from '../../ruleset/element-list.ts';
import { keysPerRequest, maximumMissingKeys, requestsPerDatagram } from '../../limits.ts';
import { listElement, elementAttributes, messages } from './constants.ts';
import type { NfTablesConnection } from './nf-tables-connection.ts';
import { beginElements, writeData } from './element-messages.ts';
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
  const found: Entry[] = [];
  let missing = 0;
  const left: Range[] = [];
  for (let first = 0; first < wanted.length; first += keysPerRequest)
    left.push({ first, end: Math.min(first + keysPerRequest, wanted.length) });
  while (left.length > 0) {
    const ranges = left.splice(0, requestsPerDatagram);
    const requests = ranges.map((range) => requestFor(wanted, range));
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
  (wanted: PackedSet, { first, end }: Range) =>
  (writer: Parameters<typeof beginElements>[0]): void => {
    const list = beginElements(writer, wanted.set);
    for (let index = first; index < end; index++) {
      const entry = writer.beginNested(listElement);
      const start = index * wanted.recordLength;
      writeData(writer, elementAttributes.key, wanted.octets.subarray(start, start + wanted.keyLength));
      writer.endNested(entry);
    }
    writer.endNested(list);
  };
