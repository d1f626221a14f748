import type { Hashed } from '../../net/connection-hash.ts';
import { exactSlots, maximumSlots } from './limits.ts';

/**
 * 32-bit numbers of nft's type classid, which `meta priority` carries from lookup to lookup. Three kinds that never meet:
 * a class (major 0x1..0x53, minor the number of slots), a slot (major 0) and a backend id (highest bit set).
 */
export type Kind = 'internal' | 'internal_local' | 'external' | 'external_local';

export const kinds: readonly Kind[] = ['internal', 'internal_local', 'external', 'external_local'];
const majors: Readonly<Record<Kind, number>> = { internal: 1, internal_local: 2, external: 3, external_local: 4 };
const stickyMajor = 0x10;
const hashedMajors: Readonly<Record<Hashed, number>> = { connection: 0x20, client: 0x30 };
const directMajor = 0x20;

/** The class of a frontend without any backend. */
export const rejectClass = '5:0';

/** The class of a frontend that has `slots` slots. */
export function classOf(kind: Kind, sticky: boolean, slots: number): string {
  return `${(majors[kind] + (sticky ? stickyMajor : 0)).toString(16)}:${slots.toString(16)}`;
}

/**
 * The class of an external frontend whose slot is a hash of the packet's source. `slots` is one of `slotTableSizes`; `direct`: with
 * direct server return.
 */
export function hashedClass(hashed: Hashed, slots: number, direct: boolean): string {
  return `${(majors.external + hashedMajors[hashed] + (direct ? directMajor : 0)).toString(16)}:${slots.toString(16)}`;
}

/** A slot, 0..16380; also the class in the local maps, where only the number of slots counts. */
export function slotText(slot: number): string {
  return `0:${slot.toString(16)}`;
}

/** "5:0" as the number that the kernel has. */
export function classNumber(text: string): number {
  const colon = text.indexOf(':');
  return ((Number.parseInt(text.slice(0, colon), 16) << 16) | Number.parseInt(text.slice(colon + 1), 16)) >>> 0;
}

/** Every number of slots that a frontend can have: 1..64, then 128, 256, 512, 1024. */
export const slotCounts: readonly number[] = [
  ...Array.from({ length: exactSlots }, (_, index) => index + 1),
  ...Array.from({ length: Math.log2(maximumSlots / exactSlots) }, (_, index) => exactSlots * 2 ** (index + 1)),
];

/** The number of slots for so many backends, at least one: the next one of `slotCounts`, or the highest. */
export function slotsFor(backends: number): number {
  return slotCounts.find((count) => count >= backends) ?? maximumSlots;
}

/**
 * Ids for the backends of one frontend, by text such as "10.0.0.1 . 8080": a hash (FNV-1a), so that a client that is
 * remembered by id stays with its backend whatever others come and go. Among themselves they are distinct: the later
 * one (in the order given) of a collision takes the next free id.
 */
export function backendIds(backends: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<number>();
  const ids = new Map<string, string>();
  for (const backend of backends) {
    if (ids.has(backend)) continue;
    // 0xffffffff is TC_H_ROOT, which nft prints as a word.
    let id = hash(backend);
    while (taken.has(id) || id === 0xffff_ffff) id = (id + 1) % 0x1_0000_0000 || 0x8000_0000;
    taken.add(id);
    ids.set(backend, `${(id >>> 16).toString(16)}:${(id & 0xffff).toString(16)}`);
  }
  return ids;
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value | 0x8000_0000) >>> 0;
}
