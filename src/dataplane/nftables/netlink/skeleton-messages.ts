import type { Family } from '../../../net/address.ts';
import { attributeHeaderBytes } from '../../../system/netlink/attributes.ts';
import { messageFlags } from '../../../system/netlink/message.ts';
import { MessageWriter } from '../../../system/netlink/message-writer.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import { classNumber } from '../../ruleset/classid.ts';
import { tableFamily, tableName } from '../../ruleset/layout.ts';
import type { PartChains } from '../../ruleset/parts.ts';
import { verdictMap, type Skeleton } from '../../ruleset/skeleton.ts';
import type { Chain } from '../../ruleset/layout.ts';
import type { Batch } from './batch.ts';
import {
  acceptPolicy,
  chainAttributes,
  dataAttributes,
  dataTypes,
  descriptionAttributes,
  elementAttributes,
  fieldAttributes,
  hookAttributes,
  hostOrder,
  listElement,
  messages,
  ruleAttributes,
  setAttributes,
  setFlags,
  tableAttributes,
  verdictType,
  type DataType,
} from './constants.ts';
import { beginElements, writeEntry } from './elements/element-messages.ts';
import { expressionList, hostNumber, optional, verdictData, writeAttributes, type Attributes } from './rules/expressions.ts';
import { anonymousName, compileRule, type AnonymousSet } from './rules/rule-compiler.ts';
import { readDeclaration, typeLength, typeNumber, type SetDeclaration } from './rules/set-declaration.ts';

const { create, append } = messageFlags;

/** Removes the table if it exists: "create" makes a missing one and does not change an existing one, so the removal succeeds. */
export function writeRemoval(batch: Batch, family: Family): void {
  writeTable(batch, family);
  batch.appendMessage(messages.delTable, 0, family, tableText(family), [[tableAttributes.name, tableName]]);
}

/** Creates the table, or sets the flags of an existing one. */
export function writeTable(batch: Batch, family: Family, flags?: number): void {
  batch.appendMessage(messages.newTable, create, family, tableText(family), [
    [tableAttributes.name, tableName],
    ...optional(tableAttributes.flags, flags),
  ]);
}

/** The name of a table in errors. */
export const tableText = (family: Family): string => `table ${tableFamily(family)} ${tableName}`;

/**
 * Creates the table from nothing, in the order of the script. `flags`: table flags, see constants. `nextId` numbers the sets of a
 * transaction.
 */
export async function writeSkeleton(
  batch: Batch,
  skeleton: Skeleton,
  flags: number,
  nextId: () => number,
  timeSlice: TimeSlice,
): Promise<void> {
  const { family, sets, maps, verdicts, chains } = skeleton;
  writeRemoval(batch, family);
  writeTable(batch, family, flags);
  for (const [name, text] of [...sets, ...maps]) writeSet(batch, family, name, nextId(), readDeclaration(text));
  for (const [name, elements] of verdicts) writeSet(batch, family, name, nextId(), readDeclaration(verdictMap(elements)));
  for (const [name, chain] of chains) writeChain(batch, family, name, chain);
  for (const [name, elements] of verdicts) {
    writeVerdicts(batch, family, name, elements);
    if (timeSlice.isUsedUp) await timeSlice.yield();
  }
  for (const [name, chain] of chains) {
    for (const rule of chain.rules) writeRule(batch, family, name, rule, nextId);
    if (timeSlice.isUsedUp) await timeSlice.yield();
  }
}

/** Adds the chains of parts, or the rules of chains that are always there. */
export function writePart(batch: Batch, family: Family, chains: PartChains, nextId: () => number): void {
  for (const [name, chain] of chains) {
    if (comesAndGoes(chain)) writeChain(batch, family, name, chain);
    for (const rule of chain.rules) writeRule(batch, family, name, rule, nextId);
  }
}

/** False: only the rules of the chain come and go. */
const comesAndGoes = ({ hook, passing }: Chain): boolean => hook !== undefined || passing === true;

/** Removes what `writePart` adds. */
export function writePartRemoval(batch: Batch, family: Family, chains: PartChains): void {
  for (const [name, chain] of chains) {
    const about = `chain ${tableFamily(family)} ${tableName} ${name}`;
    batch.appendMessage(messages.delRule, 0, family, `rules of ${about}`, [
      [ruleAttributes.table, tableName],
      [ruleAttributes.chain, name],
    ]);
    if (comesAndGoes(chain))
      batch.appendMessage(messages.delChain, 0, family, about, [
        [chainAttributes.table, tableName],
        [chainAttributes.name, name],
      ]);
  }
}

function writeSet(batch: Batch, family: Family, name: string, id: number, declaration: SetDeclaration): void {
  const { key, value, flags, size, timeout } = declaration;
  const fields: Attributes = key.map((type) => [listElement, [[fieldAttributes.length, dataTypes[type].length]]]);
  const description: Attributes = [
    ...optional(descriptionAttributes.size, size),
    ...optional(descriptionAttributes.fields, (flags & setFlags.concatenation) === 0 ? undefined : fields),
  ];
  batch.appendMessage(messages.newSet, create, family, `set ${tableFamily(family)} ${tableName} ${name}`, [
    [setAttributes.table, tableName],
    [setAttributes.name, name],
    [setAttributes.flags, flags],
    [setAttributes.keyType, typeNumber(key)],
    [setAttributes.keyLength, typeLength(key)],
    ...valueAttributes(value),
    ...optional(setAttributes.description, description.length === 0 ? undefined : description),
    [setAttributes.id, id],
    ...optional(setAttributes.timeout, timeout === undefined ? undefined : BigInt(timeout)),
    ...userDataOf(key, value),
  ]);
}

/**
 * Writes the byte order of numbers that are a whole key or value. Without it, nft prints them in the wrong byte order. Every version of nft
 * writes and reads this much. Newer versions write more, which crashes older ones, so nothing else is written.
 */
function userDataOf(key: readonly DataType[], value: SetDeclaration['value']): Attributes {
  const userData = [
    ...(isNumber(key) ? hostOrder.keys : []),
    ...(value !== undefined && value !== 'verdict' && isNumber(value) ? hostOrder.values : []),
  ];
  return userData.length === 0 ? [] : [[setAttributes.userData, Uint8Array.from(userData)]];
}

function isNumber(types: readonly DataType[]): boolean {
  const [only] = types;
  return types.length === 1 && (only === 'mark' || only === 'classid' || only === 'iface_index');
}

function valueAttributes(value: SetDeclaration['value']): Attributes {
  if (value === undefined) return [];
  if (value === 'verdict') return [[setAttributes.dataType, verdictType]];
  return [
    [setAttributes.dataType, typeNumber(value)],
    [setAttributes.dataLength, typeLength(value)],
  ];
}

function writeChain(batch: Batch, family: Family, name: string, chain: Chain): void {
  batch.appendMessage(messages.newChain, create, family, `chain ${tableFamily(family)} ${tableName} ${name}`, chainContent(name, chain));
}

/** Returns the attributes of a chain without its rules. A chain with a hook accepts packets that no rule decides. */
export function chainContent(name: string, { hook }: Chain): Attributes {
  return [
    [chainAttributes.table, tableName],
    [chainAttributes.name, name],
    ...(hook === undefined ? [] : [...hookOf(hook), [chainAttributes.policy, acceptPolicy] as const]),
  ];
}

const hooks: Readonly<Record<string, number>> = { prerouting: 0, input: 1, forward: 2, output: 3, postrouting: 4 };

/** "type nat hook prerouting priority -100" */
function hookOf(text: string): Attributes {
  const match = /^type (\w+) hook (\w+) priority (-?\d+)$/.exec(text);
  const number = hooks[match?.[2] ?? ''];
  if (number === undefined) throw new Error(`unknown hook of a chain: ${text}`);
  return [
    [
      chainAttributes.hook,
      [
        [hookAttributes.number, number],
        [hookAttributes.priority, Number(match?.[3])],
      ],
    ],
    [chainAttributes.type, match?.[1] ?? ''],
  ];
}

/** Writes all verdicts of a map in one message; there are a few hundred. */
function writeVerdicts(batch: Batch, family: Family, name: string, elements: ReadonlyMap<string, string>): void {
  const about = (): string => `elements of ${tableFamily(family)} ${tableName} ${name}`;
  batch.appendListMessage(messages.newElement, create, family, about, (writer) => {
    const list = beginElements(writer, name);
    // Hundreds of keys have a few verdicts, so the entry of each verdict is encoded once.
    const entries = new Map<string, Uint8Array>();
    for (const [key, verdict] of elements) {
      let entry = entries.get(verdict);
      if (entry === undefined) entries.set(verdict, (entry = verdictEntry(key, verdict)));
      writer.repeat(entry, 1).set(hostNumber(classNumber(key)), entryKeyAt);
    }
    writer.endNested(list);
  });
}

/** Where the key begins in an entry: after the headers of the entry, of its key and of the key's value. */
const entryKeyAt = 3 * attributeHeaderBytes;

function verdictEntry(key: string, verdict: string): Uint8Array {
  const writer = new MessageWriter();
  const entry = writer.beginNested(listElement);
  writeAttributes(writer, verdictContent(key, verdict));
  writer.endNested(entry);
  return writer.bytes();
}

/** Returns the attributes of an element of a constant map. */
export function verdictContent(key: string, verdict: string): Attributes {
  return [
    [elementAttributes.key, [[dataAttributes.value, hostNumber(classNumber(key))]]],
    [elementAttributes.data, verdictData(verdict)],
  ];
}

function writeRule(batch: Batch, family: Family, chain: string, rule: string, nextId: () => number): void {
  const compiled = compileRule(rule, family, nextId);
  for (const set of compiled.sets) writeAnonymousSet(batch, family, set);
  batch.appendMessage(messages.newRule, create | append, family, `rule "${rule}" of ${tableFamily(family)} ${tableName} ${chain}`, [
    [ruleAttributes.table, tableName],
    [ruleAttributes.chain, chain],
    [ruleAttributes.expressions, expressionList(compiled.expressions)],
  ]);
}

function writeAnonymousSet(batch: Batch, family: Family, { id, type, keys }: AnonymousSet): void {
  const flags = setFlags.anonymous | setFlags.constant;
  writeSet(batch, family, anonymousName, id, { flags, key: [type], value: undefined, size: keys.length, timeout: undefined });
  batch.appendListMessage(
    messages.newElement,
    create,
    family,
    () => 'elements of an anonymous set',
    (writer) => {
      const list = beginElements(writer, anonymousName, id);
      for (const key of keys) writeEntry(writer, key);
      writer.endNested(list);
    },
  );
}
