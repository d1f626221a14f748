import type { Family } from '../../net/address.ts';
import type { SetName } from './layout.ts';
import type { Octets } from './octets.ts';

/** One element of a set or map, as the kernel has it; element-text.ts has the words of nft for it. */
export interface Element {
  readonly family: Family;
  readonly set: SetName;
  /** "192.0.2.1 . tcp . 80"; in a set of ranges the first and the last key. */
  readonly key: Octets;
  /** Of a map: "3:2", "10.0.0.1 . 8080". */
  readonly value?: Octets;
}

/** Identifies an element among all: two with the same identity cannot both be in the kernel. */
export function elementIdentity(element: Element): string {
  return `${element.family} ${element.set} ${element.key}`;
}
