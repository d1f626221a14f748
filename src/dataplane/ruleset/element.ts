import type { Family } from '../../net/address.ts';
import { allSets, type SetName } from './layout.ts';
import type { Octets } from './octets.ts';

/** One element of a set or map, in the kernel's encoding. element-text.ts converts it to nft's text. */
export interface Element {
  readonly family: Family;
  readonly set: SetName;
  /** "192.0.2.1 . tcp . 80". In a set of ranges: the first key followed by the last key. */
  readonly key: Octets;
  /** The value of a map element: "3:2", "10.0.0.1 . 8080". */
  readonly value?: Octets;
}

/** Receives elements one by one, or those of all slots of a frontend at once. */
export interface ElementSink {
  push(element: Element): void;
  /** `values`: by slot. The key of each element is `frontend`, followed by the slot. */
  pushSlots(family: Family, set: SetName, frontend: Octets, values: readonly Octets[]): void;
}

/** Identifies an element. The kernel cannot hold two elements with the same identity. Short, because there is a map of many thousand. */
export function elementIdentity({ family, set, key }: Element): string {
  return (tags[family].get(set) ?? set) + key;
}

const tagsFrom = (first: number): ReadonlyMap<SetName, string> =>
  new Map(Array.from(allSets.keys(), (set, index) => [set, String.fromCharCode(first + index)]));
/** A character for each set. */
const tags: Readonly<Record<Family, ReadonlyMap<SetName, string>>> = { 4: tagsFrom(0), 6: tagsFrom(0x80) };
