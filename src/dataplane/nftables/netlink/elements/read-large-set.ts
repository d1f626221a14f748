import type { TimeSlice } from '../../../../system/time-slice.ts';
import { PackedSet, type ElementList } from '../../../ruleset/element-list.ts';
import { slotMaps } from '../../../ruleset/layout.ts';
import { leftoverSlots } from '../../../ruleset/leftover-slots.ts';
import { confirmElements } from './confirm-elements.ts';
import { getElements, type Range } from './get-elements.ts';
import type { NfTablesConnection } from '../nf-tables-connection.ts';

interface LargeSet {
  /** The elements that should be in the table. */
  readonly wanted: ElementList;
  /** The elements of the table that were read before. */
  readonly read: ElementList;
  /** Returns the present number of elements. */
  readonly count: () => Promise<number>;
}

/**
 * Reads a set without listing it: listing takes time proportional to the square of the size, because the kernel starts from the beginning
 * for every 32 KiB. The kernel is asked for the wanted elements, and for those that frontends of another form may have left. When their
 * number is that of the set, there are no others. Undefined: there are, so the set has to be listed. Not for sets of ranges.
 *
 * Elements of a map of slots are confirmed instead, so that missing ones are added. They have no effect before a frontend refers to them.
 */
export async function readLargeSet(
  connection: NfTablesConnection,
  wanted: PackedSet,
  { wanted: allWanted, read, count }: LargeSet,
  timeSlice: TimeSlice,
): Promise<PackedSet | undefined> {
  const { family, set } = wanted;
  const found = new PackedSet(family, set);
  const frontends = slotMaps.get(set);
  if (frontends === undefined) {
    if (!(await getElements(connection, wanted, everyIndex(wanted), found))) return undefined;
    return found.length === (await count()) ? found : undefined;
  }
  const different = await confirmElements(connection, wanted, timeSlice);
  if (different === undefined) return undefined;
  let next = 0;
  for (const { first, end } of different) {
    found.pushRange(wanted, next, first);
    next = end;
  }
  found.pushRange(wanted, next, wanted.length);
  if (!(await getElements(connection, wanted, different, found))) return undefined;
  const number = await count();
  if (found.length === number) return found;
  const left = leftoverSlots(wanted, read.packed(family, frontends), allWanted.packed(family, frontends));
  if (!(await getElements(connection, left, everyIndex(left), found))) return undefined;
  return found.length === number ? found : undefined;
}

const everyIndex = ({ length }: PackedSet): readonly Range[] => [{ first: 0, end: length }];
