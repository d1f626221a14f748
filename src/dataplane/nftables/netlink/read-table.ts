import type { Family } from '../../../net/address.ts';
import { listAttributes, readAttributes, readNumber, readText } from '../../../system/netlink/attributes.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import { ElementList } from '../element-list.ts';
import type { Octets } from '../octets.ts';
import { allSets, fieldsLength, revisionSet, tableName, type SetName } from '../layout.ts';
import type { TableListing } from '../listing.ts';
import type { Skeleton } from '../skeleton.ts';
import {
  chainAttributes,
  dataAttributes,
  elementAttributes,
  elementFlags,
  elementListAttributes,
  messages,
  ruleAttributes,
  setAttributes,
  setFlags,
  tableAttributes,
} from './constants.ts';
import type { Conversation } from './conversation.ts';

const broken: TableListing = { intact: false, elements: new ElementList(), revisions: [] };

/**
 * Our table of the skeleton's family as the kernel has it; undefined: there is none. It is intact when every chain with its number of rules
 * and every set is as the skeleton has it. Whatever is not understood makes it not intact.
 */
export async function readTable(conversation: Conversation, skeleton: Skeleton): Promise<TableListing | undefined> {
  const { family } = skeleton;
  const inTable = (payloads: readonly Uint8Array[], attribute: number): ReadonlyMap<number, Uint8Array>[] =>
    payloads.map(readAttributes).filter((attributes) => textOf(attributes, attribute) === tableName);

  const tables = await conversation.list({ type: messages.getTable, family, attributes: [] });
  if (inTable(tables, tableAttributes.name).length === 0) return undefined;
  const chains = await conversation.list({ type: messages.getChain, family, attributes: [] });
  const rules = await conversation.list({ type: messages.getRule, family, attributes: [[ruleAttributes.table, tableName]] });
  const counts = new Map<string, number>();
  for (const chain of inTable(chains, chainAttributes.table)) counts.set(textOf(chain, chainAttributes.name), 0);
  for (const rule of inTable(rules, ruleAttributes.table)) {
    const chain = textOf(rule, ruleAttributes.chain);
    counts.set(chain, (counts.get(chain) ?? 0) + 1);
  }
  if (counts.size !== skeleton.chains.size) return broken;
  for (const [name, chain] of skeleton.chains) if (counts.get(name) !== chain.rules.length) return broken;

  const listed = await conversation.list({ type: messages.getSet, family, attributes: [[setAttributes.table, tableName]] });
  const sets = new Set(
    inTable(listed, setAttributes.table)
      .filter((set) => (numberOf(set, setAttributes.flags) & setFlags.anonymous) === 0)
      .map((set) => textOf(set, setAttributes.name)),
  );
  const expected = [...skeleton.sets.keys(), ...skeleton.maps.keys(), ...skeleton.verdicts.keys()];
  if (sets.size !== expected.length || expected.some((name) => !sets.has(name))) return broken;

  for (const [name, verdicts] of skeleton.verdicts)
    if ((await readEntries(conversation, skeleton, name)).length !== verdicts.size) return broken;
  const elements = new ElementList();
  for (const set of allSets.keys()) if (!readElements(family, set, await readEntries(conversation, skeleton, set), elements)) return broken;
  const revisions = skeleton.sets.has(revisionSet) ? await readEntries(conversation, skeleton, revisionSet) : [];
  return { intact: true, elements, revisions: revisions.flatMap(({ key }) => revisionOf(key)) };
}

/** An element as the kernel lists it. */
export interface Entry {
  readonly key: Uint8Array;
  readonly keyEnd?: Uint8Array | undefined;
  readonly value?: Uint8Array | undefined;
  readonly flags: number;
}

/** A number in the revision set, in the byte order of the machine. */
export function revisionOf(key: Uint8Array): number[] {
  return key.length === 4 ? [new DataView(key.buffer, key.byteOffset).getUint32(0, true)] : [];
}

async function readEntries(conversation: Conversation, { family }: Skeleton, set: string): Promise<Entry[]> {
  try {
    const payloads = await conversation.list({
      type: messages.getElement,
      family,
      attributes: [
        [elementListAttributes.table, tableName],
        [elementListAttributes.set, set],
      ],
    });
    return payloads.flatMap(entriesOf);
  } catch (error) {
    // Somebody removed the set after it was listed: then the table is not as it should be, and the caller sees it next time.
    if (error instanceof NetlinkError && error.code === 'ENOENT') throw new NetlinkError(`listing set ${set}`, EAGAIN);
    throw error;
  }
}

const EAGAIN = 11;

/** The elements in the attributes of a message; whatever is no element is left out. */
export function entriesOf(attributes: Uint8Array): Entry[] {
  const list = readAttributes(attributes).get(elementListAttributes.elements);
  if (list === undefined) return [];
  return listAttributes(list).flatMap(({ value }): Entry[] => {
    const element = readAttributes(value);
    const key = dataOf(element, elementAttributes.key);
    if (key === undefined) return [];
    return [
      {
        key,
        keyEnd: dataOf(element, elementAttributes.keyEnd),
        value: dataOf(element, elementAttributes.data),
        flags: numberOf(element, elementAttributes.flags),
      },
    ];
  });
}

/** Adds what the kernel lists of a set to `elements`; false when one is not as the set's are. */
export function readElements(family: Family, set: SetName, entries: readonly Entry[], elements: ElementList): boolean {
  const shape = allSets.get(set);
  if (shape === undefined) return false;
  const keyLength = fieldsLength(family, shape.key);
  const valueLength = shape.value === undefined ? 0 : fieldsLength(family, shape.value);
  const ranged = shape.interval && shape.key.length === 1 ? joinRanges(entries) : entries;
  for (const { key, keyEnd = key, value } of ranged) {
    if (key.length !== keyLength || keyEnd.length !== keyLength || (value?.length ?? 0) !== valueLength) return false;
    elements.push({
      family,
      set,
      key: shape.interval ? octetsOf(key) + octetsOf(keyEnd) : octetsOf(key),
      ...(value === undefined ? {} : { value: octetsOf(value) }),
    });
  }
  return true;
}

function octetsOf(bytes: Uint8Array): Octets {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** In a set of prefixes alone the kernel lists where ranges begin and, marked, where they have ended. */
function joinRanges(entries: readonly Entry[]): Entry[] {
  const isEnd = ({ flags }: Entry): boolean => (flags & elementFlags.intervalEnd) !== 0;
  // Where one range ends and the next begins at the same key, the end comes first.
  const sorted = entries.toSorted((a, b) => Buffer.compare(a.key, b.key) || Number(isEnd(b)) - Number(isEnd(a)));
  const ranges: Entry[] = [];
  for (const [index, entry] of sorted.entries()) {
    if (isEnd(entry)) continue;
    const next = sorted[index + 1];
    const keyEnd = next === undefined ? entry.key.map(() => 0xff) : isEnd(next) ? before(next.key) : entry.key;
    ranges.push({ ...entry, keyEnd });
  }
  return ranges;
}

/** The key before this one. */
function before(key: Uint8Array): Uint8Array {
  const result = Uint8Array.from(key);
  let at = result.length - 1;
  while (at >= 0 && result[at] === 0) result[at--] = 0xff;
  if (at >= 0) result[at] = (result[at] ?? 0) - 1;
  return result;
}

function dataOf(attributes: ReadonlyMap<number, Uint8Array>, type: number): Uint8Array | undefined {
  const nested = attributes.get(type);
  return nested === undefined ? undefined : readAttributes(nested).get(dataAttributes.value);
}

function textOf(attributes: ReadonlyMap<number, Uint8Array>, type: number): string {
  const value = attributes.get(type);
  return value === undefined ? '' : readText(value);
}

function numberOf(attributes: ReadonlyMap<number, Uint8Array>, type: number): number {
  const value = attributes.get(type);
  return value === undefined ? 0 : readNumber(value);
}
