import type { Family } from '../../../net/address.ts';
import { listAttributes, readAttributes, readNumber, readText } from '../../../system/netlink/attributes.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import { ElementList } from '../../ruleset/element-list.ts';
import { allSets, revisionSet, tableName, type SetName } from '../../ruleset/layout.ts';
import { maximumListedElements } from '../../limits.ts';
import type { TableListing } from '../listing.ts';
import type { Skeleton } from '../../ruleset/skeleton.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import { askElements } from './get-elements.ts';
import { chainAttributes, elementListAttributes, messages, ruleAttributes, setAttributes, setFlags, tableAttributes } from './constants.ts';
import type { Conversation } from './conversation.ts';
import { entriesOf, isListedInHalves, readElements, type Entry } from './entries.ts';
import { compileRule } from './rules/rule-compiler.ts';
import { anonymousSetsOf, hasAttributes } from './rules/same-attributes.ts';
import { chainContent, verdictContent } from './skeleton-messages.ts';

type Listed = ReadonlyMap<number, Uint8Array>;

/**
 * Our table of a skeleton's family as the kernel has it; undefined: there is none. It is intact when every chain, rule and set and
 * every verdict is as the skeleton has it. Whatever is not understood makes it not intact.
 */
export function readTable(
  conversation: Conversation,
  skeleton: Skeleton,
  turn: TimeSlice,
  likely?: () => Promise<ElementList>,
): Promise<TableListing | undefined> {
  return new TableReader(conversation, skeleton, turn, likely).read();
}

class TableReader {
  readonly #conversation: Conversation;
  readonly #skeleton: Skeleton;
  readonly #family: Family;
  readonly #turn: TimeSlice;
  readonly #likely: (() => Promise<ElementList>) | undefined;
  /** By set, where the kernel tells: how many elements it has. */
  readonly #counts = new Map<string, number>();

  constructor(conversation: Conversation, skeleton: Skeleton, turn: TimeSlice, likely: (() => Promise<ElementList>) | undefined) {
    this.#conversation = conversation;
    this.#skeleton = skeleton;
    this.#family = skeleton.family;
    this.#turn = turn;
    this.#likely = likely;
  }

  async read(): Promise<TableListing | undefined> {
    const broken: TableListing = { intact: false, elements: new ElementList(), revisions: [] };
    const tables = await this.#conversation.list({ type: messages.getTable, family: this.#family, attributes: [] });
    if (!tables.some((table) => textOf(readAttributes(table), tableAttributes.name) === tableName)) return undefined;
    if (!(await this.#hasChains()) || !(await this.#hasRules()) || !(await this.#hasSets()) || !(await this.#hasVerdicts())) return broken;
    const elements = new ElementList();
    for (const set of allSets.keys()) if (!(await this.#readSet(set, elements))) return broken;
    const revisions = this.#skeleton.sets.has(revisionSet) ? (await this.#payloads(revisionSet)).flatMap(entriesOf) : [];
    return { intact: true, elements, revisions: revisions.flatMap(({ key }) => revisionOf(key)) };
  }

  async #hasChains(): Promise<boolean> {
    const chains = await this.#inTable(messages.getChain, chainAttributes.table);
    const byName = new Map(chains.map((chain) => [textOf(readAttributes(chain), chainAttributes.name), chain]));
    if (byName.size !== this.#skeleton.chains.size) return false;
    for (const [name, chain] of this.#skeleton.chains) {
      const listed = byName.get(name);
      if (listed === undefined || !hasAttributes(listed, chainContent(name, chain))) return false;
    }
    return true;
  }

  async #hasRules(): Promise<boolean> {
    const byChain = new Map<string, Uint8Array[]>();
    for (const rule of await this.#inTable(messages.getRule, ruleAttributes.table)) {
      const attributes = readAttributes(rule);
      const chain = textOf(attributes, ruleAttributes.chain);
      const expressions = attributes.get(ruleAttributes.expressions) ?? new Uint8Array();
      const others = byChain.get(chain);
      if (others === undefined) byChain.set(chain, [expressions]);
      else others.push(expressions);
    }
    for (const [name, { rules }] of this.#skeleton.chains) {
      const listed = byChain.get(name) ?? [];
      if (listed.length !== rules.length) return false;
      for (const [index, rule] of rules.entries()) if (!(await this.#isRule(listed[index] ?? new Uint8Array(), rule))) return false;
    }
    return true;
  }

  async #isRule(listed: Uint8Array, rule: string): Promise<boolean> {
    const { expressions, sets } = compileRule(rule, this.#family, () => 1);
    const names = anonymousSetsOf(listed, expressions);
    if (names?.length !== sets.length) return false;
    for (const [index, { keys }] of sets.entries()) {
      const entries = (await this.#payloads(names[index] ?? '')).flatMap(entriesOf);
      const wanted = keys.map((key) => Buffer.from(key).toString('latin1'));
      if (
        entries
          .map(({ key }) => key)
          .toSorted()
          .join() !== wanted.toSorted().join()
      )
        return false;
    }
    return true;
  }

  async #hasSets(): Promise<boolean> {
    const listed = (await this.#inTable(messages.getSet, setAttributes.table)).map(readAttributes);
    for (const set of listed)
      if (set.has(setAttributes.count)) this.#counts.set(textOf(set, setAttributes.name), numberOf(set, setAttributes.count));
    const names = new Set(
      listed.filter((set) => (numberOf(set, setAttributes.flags) & setFlags.anonymous) === 0).map((set) => textOf(set, setAttributes.name)),
    );
    const { sets, maps, verdicts } = this.#skeleton;
    const expected = [...sets.keys(), ...maps.keys(), ...verdicts.keys()];
    return names.size === expected.length && expected.every((name) => names.has(name));
  }

  async #hasVerdicts(): Promise<boolean> {
    for (const [name, verdicts] of this.#skeleton.verdicts) {
      const listed = new Map<string, Uint8Array>();
      for (const payload of await this.#payloads(name)) {
        const list = readAttributes(payload).get(elementListAttributes.elements) ?? new Uint8Array();
        const entries = entriesOf(payload);
        for (const [index, { value }] of listAttributes(list).entries()) listed.set(entries[index]?.key ?? '', value);
      }
      if (listed.size !== verdicts.size) return false;
      for (const [key, verdict] of verdicts) {
        const { octets, content } = verdictContent(key, verdict);
        const element = listed.get(octets);
        if (element === undefined || !hasAttributes(element, content)) return false;
      }
    }
    return true;
  }

  /** False when an element is not as the set's are. */
  async #readSet(set: SetName, elements: ElementList): Promise<boolean> {
    const asked = await this.#ask(set);
    if (asked !== undefined) return readElements(this.#family, set, asked, elements);
    const payloads = await this.#payloads(set);
    if (isListedInHalves(set)) return readElements(this.#family, set, payloads.flatMap(entriesOf), elements);
    for (const payload of payloads) {
      if (!readElements(this.#family, set, entriesOf(payload), elements)) return false;
      if (this.#turn.isUsedUp) await this.#turn.yield();
    }
    return true;
  }

  /** All elements of a large set, if they are among those that it is likely to have. */
  async #ask(set: SetName): Promise<readonly Entry[] | undefined> {
    const count = this.#counts.get(set) ?? 0;
    if (count <= maximumListedElements || allSets.get(set)?.interval === true) return undefined;
    const likely = (await this.#likely?.())?.packed(this.#family, set);
    const found = likely === undefined ? undefined : await askElements(this.#conversation, likely);
    return found?.length === count ? found : undefined;
  }

  async #inTable(type: number, attribute: number): Promise<Uint8Array[]> {
    const payloads = await this.#conversation.list({ type, family: this.#family, attributes: [[attribute, tableName]] });
    return payloads.filter((payload) => textOf(readAttributes(payload), attribute) === tableName);
  }

  async #payloads(set: string): Promise<Uint8Array[]> {
    try {
      return await this.#conversation.list({
        type: messages.getElement,
        family: this.#family,
        attributes: [
          [elementListAttributes.table, tableName],
          [elementListAttributes.set, set],
        ],
      });
    } catch (error) {
      // Somebody removed the set after it was listed: then the table is not as it should be, and the caller sees it next time.
      if (error instanceof NetlinkError && error.code === 'ENOENT') throw new NetlinkError(`listing set ${set}`, EAGAIN);
      throw error;
    }
  }
}

const EAGAIN = 11;

/** A number in the revision set, in the byte order of the machine. */
export function revisionOf(key: string): number[] {
  return key.length === 4 ? [Buffer.from(key, 'latin1').readUInt32LE()] : [];
}

function textOf(attributes: Listed, type: number): string {
  const value = attributes.get(type);
  return value === undefined ? '' : readText(value);
}

function numberOf(attributes: Listed, type: number): number {
  const value = attributes.get(type);
  return value === undefined ? 0 : readNumber(value);
}
