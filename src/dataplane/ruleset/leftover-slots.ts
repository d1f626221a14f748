import { PackedSet } from './element-list.ts';
import { slotOctets } from './octets.ts';
import { PackedIndex } from './packed-index.ts';

/**
 * Returns the keys in a map of slots that frontends may have left which are no longer wanted in the form that the kernel has. `present` and
 * `desired` map frontends to their classes. Keys in `wanted` are left out; the values are zero.
 */
export function leftoverSlots(wanted: PackedSet, present: PackedSet | undefined, desired: PackedSet | undefined): PackedSet {
  const { family, set } = wanted;
  const left = new PackedSet(family, set);
  if (present === undefined) return left;
  const desiredIndex = new PackedIndex(desired ?? new PackedSet(family, present.set));
  const candidates = new PackedSet(family, set);
  const noValue = '\0'.repeat(wanted.valueLength);
  for (let index = 0; index < present.length; index++) {
    const at = desiredIndex.find(present, index);
    if (at >= 0 && desired?.hasRecord(at, present, index) === true) continue;
    const { key, value = '' } = present.at(index);
    // The lower half of a class is the number of slots, in the machine's byte order.
    const slots = value.charCodeAt(0) + (value.charCodeAt(1) << 8);
    for (let slot = 0; slot < slots; slot++) candidates.push(key + slotOctets(slot), noValue);
  }
  const wantedIndex = new PackedIndex(wanted);
  for (let index = 0; index < candidates.length; index++)
    if (wantedIndex.find(candidates, index) < 0) left.pushRange(candidates, index, index + 1);
  return left;
}
