import type { Address } from '../../net/address.ts';
import { slotOf, type HashInput } from '../../net/connection-hash.ts';
import { exactSlots, maximumSlots } from '../limits.ts';

/**
 * The kind of a frontend, as encoded in its class.
 *
 * `meta priority` carries 32-bit numbers of nft's type classid from lookup to lookup. There are five sorts: a class (major 0x1..0x84, minor
 * the number of slots), a slot (major 0), a remainder, an affinity id and a backend id.
 */
export type Kind = 'internal' | 'internal_local' | 'external' | 'external_local';

export const kinds: readonly Kind[] = ['internal', 'internal_local', 'external', 'external_local'];
const majors: Readonly<Record<Kind, number>> = { internal: 1, internal_local: 2, external: 3, external_local: 4 };
const stickyMajor = 0x10;
const hashedMajors: Readonly<Record<HashInput, number>> = { connection: 0x20, client: 0x30, destination: 0x60 };
const directMajor = 0x20;
const turnsMajor = 0x70;

/**
 * Say what the node does with a packet when the frontend has no backend for it. It refuses the packet when the frontend has no backend at all.
 * Under policy Local it drops the packet; that of an external frontend only if neither a pod nor the node itself sent it.
 */
export const remainders = { refused: '5:0', dropped: '2:0', droppedFromOutside: '4:0' } as const;

/** Returns the class of a frontend with `slots` slots. */
export function classOf(kind: Kind, sticky: boolean, slots: number): string {
  return `${(majors[kind] + (sticky ? stickyMajor : 0)).toString(16)}:${slots.toString(16)}`;
}

/** Returns the class of a frontend whose slot is a hash of the packet. `slots` is one of `slotTableSizes`. */
export function hashedClass(kind: Kind, hashed: HashInput, slots: number): string {
  return `${(majors[kind] + hashedMajors[hashed]).toString(16)}:${slots.toString(16)}`;
}

/** Returns the class of an external frontend with direct server return, whose slot is a hash of the packet's source. */
export function directClass(hashed: DirectHash, slots: number): string {
  return `${(majors.external + hashedMajors[hashed] + directMajor).toString(16)}:${slots.toString(16)}`;
}

/** What direct server return can hash. A hash of the destination would lead every packet of an address to one node. */
export type DirectHash = Exclude<HashInput, 'destination'>;
export const directHashes: readonly DirectHash[] = ['connection', 'client'];

/** Returns the class of a frontend whose backends take turns. Its minor is 0, because the frontend's own chain has the number of turns. */
export function turnsClass(kind: Kind, sticky: boolean): string {
  return `${(majors[kind] + turnsMajor + (sticky ? stickyMajor : 0)).toString(16)}:0`;
}

/** Returns a slot, 0..16380, as text. Also used as the class in the local maps, where only the number of slots matters. */
export function slotText(slot: number): string {
  return `0:${slot.toString(16)}`;
}

/** Parses "5:0" into the kernel's number. */
export function classNumber(text: string): number {
  const colon = text.indexOf(':');
  return ((Number.parseInt(text.slice(0, colon), 16) << 16) | Number.parseInt(text.slice(colon + 1), 16)) >>> 0;
}

/** Every number of slots that a frontend can have: 1..64, then 128, 256, 512, 1024. */
export const slotCounts: readonly number[] = [
  ...Array.from({ length: exactSlots }, (_, index) => index + 1),
  ...Array.from({ length: Math.log2(maximumSlots / exactSlots) }, (_, index) => exactSlots * 2 ** (index + 1)),
];

/** Returns the number of slots for a number of backends (at least one): the next of `slotCounts`, or the highest. */
export function slotsFor(backends: number): number {
  if (backends <= exactSlots) return Math.max(1, backends);
  return slotCounts.find((count) => count >= backends) ?? maximumSlots;
}

const timeoutBits = 6;
const hashBits = 32 - timeoutBits;

/** The bits of an affinity id that hold the timeout. */
export const timeoutMask = `0x${(((2 ** timeoutBits - 1) << hashBits) >>> 0).toString(16)}`;

/** Returns the affinity id that holds only the timeout with this index (0..63). */
export function timeoutId(index: number): string {
  return numberText((index << hashBits) >>> 0);
}

/**
 * Identifies a port of a Service among all remembered clients, the same in every process: six bits for the timeout, which is all that a
 * rule needs, and a hash. Among a thousand ports with the same timeout, two have the same id with a probability below one in a hundred. A
 * client of both is then remembered for the one that it used last.
 */
export function affinityId(timeout: number, servicePort: string): string {
  // All zeros and all ones are TC_H_UNSPEC and TC_H_ROOT, which nft prints as words.
  const hash = 1 + (fnv(servicePort) % (2 ** hashBits - 2));
  return numberText(((timeout << hashBits) | hash) >>> 0);
}

/** The modulus for the hash of a backend. The result is never TC_H_ROOT. */
export const backendIdModulus = 0xffff_ffff;

/**
 * Returns the id of a backend. The kernel computes it from the translated packet, and Herald computes it for the map that leads back to the
 * backend (seed and input as in src/net/connection-hash.ts).
 */
export function backendId(backend: { readonly address: Address; readonly port: number }): string {
  return numberText(slotOf('connection', backend.address, backend.port, backendIdModulus));
}

function numberText(value: number): string {
  return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

/** FNV-1a, 32 bits. */
export function fnv(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
