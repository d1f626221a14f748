import type { TableListing } from '../executor.ts';
import type { Family } from '../../../net/address.ts';
import { listAttributes, readAttributes, readNumber } from '../../../system/netlink/attributes.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import { ElementList, PackedSet } from '../../ruleset/element-list.ts';
import { classOctets } from '../../ruleset/octets.ts';
import { allSets, revisionSet, slotMaps, tableName, type Chain, type SetName } from '../../ruleset/layout.ts';
import { maximumListedBackends, maximumListedElements } from '../../limits.ts';
import { expectedChains, type Skeleton } from '../../ruleset/skeleton.ts';
import { turnChainSets } from '../../ruleset/turns.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import {
  chainAttributes,
  elementAttributes,
  elementListAttributes,
  messages,
  ruleAttributes,
  setAttributes,
  setFlags,
  tableAttributes,
} from './constants.ts';
import type { NfTablesConnection } from './nf-tables-connection.ts';
import { attributeText, parseSetElements, readElements } from './elements/entries.ts';
import { appendElements } from './elements/packed-entries.ts';
import { readLargeSet } from './elements/read-large-set.ts';
import { compileRule } from './rules/rule-compiler.ts';
import { matchExpressions, hasAttributes } from './rules/same-attributes.ts';
import { chainContent, verdictContent } from './skeleton-messages.ts';

type Listed = ReadonlyMap<number, Uint8Array>;

/**
 * Reads our table of a skeleton's family from the kernel. The table is intact when every chain, rule, set and verdict matches the skeleton.
 * Anything that is not understood makes it not intact.
 */
export class TableReader {
  readonly #connection: NfTablesConnection;
  readonly #skeleton: Skeleton;
  readonly #family: Family;
  readonly #timeSlice: TimeSlice;
  readonly #wanted: (() => Promise<ElementList>) | undefined;
  /** By set: the number of its elements, where the kernel reports it. */
  readonly #counts = new Map<string, number>();
  /** Elements were added. */
  #completed = false;

  constructor(connection: NfTablesConnection, skeleton: Skeleton, timeSlice: TimeSlice, wanted: (() => Promise<ElementList>) | undefined) {
    this.#connection = connection;
    this.#skeleton = skeleton;
    this.#family = skeleton.family;
    this.#timeSlice = timeSlice;
    this.#wanted = wanted;
  }

  /** Called once. Undefined: there is no table. */
  async read(): Promise<TableListing | undefined> {
    const broken: TableListing = { intact: false, elements: new ElementList(), revisions: [] };
    const tables = await this.#connection.list(messages.getTable, this.#family, []);
    if (!tables.some((table) => attributeText(readAttributes(table), tableAttributes.name) === tableName)) return undefined;
    const elements = new ElementList();
    if (!(await this.#hasSets())) return broken;
    for (const set of chainSets) if (!(await this.#readSet(set, elements))) return broken;
    const chains = expectedChains(this.#skeleton, elements);
    if (chains === undefined || !(await this.#hasChains(chains)) || !(await this.#hasRules(chains)) || !(await this.#hasVerdicts()))
      return broken;
    for (const set of allSets.keys()) if (!chainSets.includes(set) && !(await this.#readSet(set, elements))) return broken;
    const revisions = this.#skeleton.sets.has(revisionSet) ? (await this.#payloads(revisionSet)).flatMap(parseSetElements) : [];
    return {
      intact: true,
      elements,
      revisions: revisions.flatMap(({ key }) => revisionOf(key)),
      ...(this.#completed ? { completed: true } : {}),
    };
  }

  async #hasChains(wanted: ReadonlyMap<string, Chain>): Promise<boolean> {
    const chains = await this.#inTable(messages.getChain, chainAttributes.table);
    const byName = new Map(chains.map((chain) => [attributeText(readAttributes(chain), chainAttributes.name), chain]));
    if (byName.size !== wanted.size) return false;
    for (const [name, chain] of wanted) {
      const listed = byName.get(name);
      if (listed === undefined || !hasAttributes(listed, chainContent(name, chain))) return false;
    }
    return true;
  }

  async #hasRules(wanted: ReadonlyMap<string, Chain>): Promise<boolean> {
    const all = (await this.#inTable(messages.getRule, ruleAttributes.table)).map(readAttributes);
    const byChain = Map.groupBy(all, (rule) => attributeText(rule, ruleAttributes.chain));
    for (const [name, { rules }] of wanted) {
      const listed = (byChain.get(name) ?? []).map((rule) => rule.get(ruleAttributes.expressions) ?? new Uint8Array());
      if (listed.length !== rules.length) return false;
      for (const [index, rule] of rules.entries()) if (!(await this.#isRule(listed[index] ?? new Uint8Array(), rule))) return false;
    }
    return true;
  }

  async #isRule(listed: Uint8Array, rule: string): Promise<boolean> {
    const { expressions, sets } = compileRule(rule, this.#family, () => 1);
    const names = matchExpressions(listed, expressions);
    if (names?.length !== sets.length) return false;
    for (const [index, { keys }] of sets.entries()) {
      const entries = (await this.#payloads(names[index] ?? '')).flatMap(parseSetElements);
      const listedKeys = entries.map(({ key }) => key).toSorted();
      const wanted = keys.map((key) => Buffer.from(key).toString('latin1')).toSorted();
      if (listedKeys.join() !== wanted.join()) return false;
    }
    return true;
  }

  async #hasSets(): Promise<boolean> {
    const listed = await this.#readCounts();
    const names = new Set(
      listed
        .filter((set) => (numberOf(set, setAttributes.flags) & setFlags.anonymous) === 0)
        .map((set) => attributeText(set, setAttributes.name)),
    );
    const { sets, maps, verdicts } = this.#skeleton;
    const expected = [...sets.keys(), ...maps.keys(), ...verdicts.keys()];
    return names.size === expected.length && expected.every((name) => names.has(name));
  }

  /** Lists the sets, and notes how many elements each has. */
  async #readCounts(): Promise<readonly Listed[]> {
    const listed = (await this.#inTable(messages.getSet, setAttributes.table)).map(readAttributes);
    for (const set of listed)
      if (set.has(setAttributes.count)) this.#counts.set(attributeText(set, setAttributes.name), numberOf(set, setAttributes.count));
    return listed;
  }

  async #hasVerdicts(): Promise<boolean> {
    for (const [name, verdicts] of this.#skeleton.verdicts) {
      const listed = new Map<string, Uint8Array>();
      for (const payload of await this.#payloads(name)) {
        const list = readAttributes(payload).get(elementListAttributes.elements) ?? new Uint8Array();
        const entries = parseSetElements(payload);
        for (const [index, { value }] of listAttributes(list).entries()) listed.set(entries[index]?.key ?? '', value);
      }
      if (listed.size !== verdicts.size) return false;
      // Hundreds of keys have a few verdicts. The kernel lists equal verdicts with equal octets.
      const known = new Map<string, Uint8Array>();
      for (const [key, verdict] of verdicts) {
        const element = listed.get(classOctets(key));
        if (element === undefined) return false;
        const data = readAttributes(element).get(elementAttributes.data) ?? new Uint8Array();
        const same = known.get(verdict);
        if (same !== undefined && Buffer.compare(same, data) === 0) continue;
        if (!hasAttributes(element, verdictContent(key, verdict))) return false;
        known.set(verdict, data);
      }
    }
    return true;
  }

  /** Reads the elements of a set. Returns false when an element does not have the set's shape. */
  async #readSet(set: SetName, elements: ElementList): Promise<boolean> {
    const large = await this.#readLargeSet(set, elements);
    if (large !== undefined) {
      elements.append(large);
      return true;
    }
    const payloads = await this.#payloads(set);
    if (allSets.get(set)?.interval === true) return readElements(this.#family, set, payloads.flatMap(parseSetElements), elements);
    const packed = new PackedSet(this.#family, set);
    for (const payload of payloads) {
      if (!appendElements(payload, packed)) return false;
      if (this.#timeSlice.isUsedUp) await this.#timeSlice.yield();
    }
    elements.append(packed);
    return true;
  }

  /** Reads a set that is too large to be listed. Undefined: it is not, or has elements that were not expected. */
  async #readLargeSet(set: SetName, read: ElementList): Promise<PackedSet | undefined> {
    const bound = slotMaps.has(set) ? maximumListedBackends : maximumListedElements;
    if ((this.#counts.get(set) ?? 0) <= bound || allSets.get(set)?.interval === true) return undefined;
    const wanted = await this.#wanted?.();
    const expected = wanted?.packed(this.#family, set);
    if (wanted === undefined || expected === undefined) return undefined;
    const before = this.#counts.get(set) ?? 0;
    const count = async (): Promise<number> => {
      await this.#readCounts();
      const now = this.#counts.get(set) ?? 0;
      this.#completed ||= now > before;
      return now;
    };
    return await readLargeSet(this.#connection, expected, { wanted, read, count }, this.#timeSlice);
  }

  async #inTable(type: number, attribute: number): Promise<Uint8Array[]> {
    const payloads = await this.#connection.list(type, this.#family, [[attribute, tableName]]);
    return payloads.filter((payload) => attributeText(readAttributes(payload), attribute) === tableName);
  }

  async #payloads(set: string): Promise<Uint8Array[]> {
    try {
      return await this.#connection.list(messages.getElement, this.#family, [
        [elementListAttributes.table, tableName],
        [elementListAttributes.set, set],
      ]);
    } catch (error) {
      // Another program removed the set after it was listed. A transient error makes the caller read again.
      if (error instanceof NetlinkError && error.code === 'ENOENT') throw new NetlinkError(`listing set ${set}`, EAGAIN);
      throw error;
    }
  }
}

/** The sets whose elements bring chains. */
const chainSets: readonly SetName[] = ['parts', ...turnChainSets];

const EAGAIN = 11;

/** Reads a number of the revision set, which is in the machine's byte order. */
export function revisionOf(key: string): number[] {
  return key.length === 4 ? [Buffer.from(key, 'latin1').readUInt32LE()] : [];
}

function numberOf(attributes: Listed, type: number): number {
  const value = attributes.get(type);
  return value === undefined ? 0 : readNumber(value);
}
