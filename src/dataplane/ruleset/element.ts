import type { Family } from '../../net/address.ts';
import type { SetName } from './layout.ts';
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

/** Identifies an element. The kernel cannot hold two elements with the same identity. */
export function elementIdentity(element: Element): string {
  return `${element.family} ${element.set} ${element.key}`;
}
