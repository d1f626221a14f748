import { messageFlags } from '../../../../system/netlink/message.ts';
import { NetlinkError } from '../../../../system/netlink/error.ts';
import type { TimeSlice } from '../../../../system/time-slice.ts';
import { elementsPerConfirmation, elementsPerTransaction } from '../../../limits.ts';
import type { PackedSet } from '../../../ruleset/element-list.ts';
import { messages } from '../constants.ts';
import { beginElements } from './element-messages.ts';
import { EntryForm } from './entry-form.ts';
import { rangesOf, type Range } from './get-elements.ts';
import type { NfTablesConnection, Refusal } from '../nf-tables-connection.ts';

/**
 * Compares elements with those in the kernel by adding them again, which takes a third of the time of reading them. nf_tables ignores an
 * element that it has with the same value and adds a missing one. It refuses a message with an element that has another value. Returns the
 * ranges of refused messages; all other elements are in the kernel afterwards. Undefined: refused for another reason.
 */
export async function confirmElements(
  connection: NfTablesConnection,
  wanted: PackedSet,
  timeSlice: TimeSlice,
): Promise<readonly Range[] | undefined> {
  const form = new EntryForm(wanted, 'key and value');
  const add = (ranges: readonly Range[]): Promise<Refusal | undefined> =>
    connection.transact((batch) => {
      for (const { first, end } of ranges)
        batch.appendListMessage(
          messages.newElement,
          messageFlags.create,
          wanted.family,
          () => `elements of ${wanted.set}`,
          (writer) => {
            const list = beginElements(writer, wanted.set);
            form.write(writer, wanted, first, end);
            writer.endNested(list);
          },
        );
    });
  const different: Range[] = [];
  for (const { first, end } of rangesOf(0, wanted.length, elementsPerTransaction)) {
    const ranges = rangesOf(first, end, elementsPerConfirmation);
    const refusal = await add(ranges);
    if (refusal !== undefined) {
      if (!refusal.messages.every(({ code }) => code === 'EEXIST' || code === 'EBUSY')) return undefined;
      const refused = new Set(refusal.messages.map(({ index }) => ranges[index]));
      // The refusal undid all messages of the transaction.
      const others = ranges.filter((range) => !refused.has(range));
      if (others.length > 0 && (await add(others)) !== undefined) throw new NetlinkError(`${wanted.set} changed meanwhile`, EAGAIN);
      different.push(...ranges.filter((range) => refused.has(range)));
    }
    if (timeSlice.isUsedUp) await timeSlice.yield();
  }
  return different;
}

const EAGAIN = 11;
