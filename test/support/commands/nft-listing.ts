import { formatAddress, parseAddress, type Family } from '../../../src/net/address.ts';
import type { TableListing } from '../../../src/dataplane/nftables/executor.ts';
import { ElementList } from '../../../src/dataplane/ruleset/element-list.ts';
import type { Element } from '../../../src/dataplane/ruleset/element.ts';
import { begunSet, enteredSet } from '../../../src/dataplane/ruleset/begun.ts';
import { affinityMap, allSets, revisionSet, type Field, type SetName } from '../../../src/dataplane/ruleset/layout.ts';
import { expectedChains, type Skeleton } from '../../../src/dataplane/ruleset/skeleton.ts';
import { elementFromText } from './element-from-text.ts';

/**
 * Reads the JSON of a listing and compares it with the skeleton. If anything in it is not understood, the table counts as not intact and is
 * created anew.
 */
export function readListing(json: unknown, skeleton: Skeleton): TableListing {
  const objects = (json as { nftables?: unknown } | null)?.nftables;
  const broken: TableListing = { intact: false, elements: new ElementList(), revisions: [] };
  if (!Array.isArray(objects)) return broken;
  const rules = new Map<string, number>();
  const sets = new Set<string>();
  const elements = new ElementList();
  const revisions: number[] = [];
  for (const object of objects as Record<string, Listed | undefined>[]) {
    if (object['chain'] !== undefined) rules.set(object['chain'].name, rules.get(object['chain'].name) ?? 0);
    const chain = object['rule']?.chain;
    if (chain !== undefined) rules.set(chain, (rules.get(chain) ?? 0) + 1);
    const set = object['set'] ?? object['map'];
    if (set === undefined) continue;
    sets.add(set.name);
    if (set.name === revisionSet) {
      revisions.push(...(set.elem ?? []).filter((number) => typeof number === 'number'));
    } else if (skeleton.verdicts.get(set.name) !== undefined) {
      if (set.elem?.length !== skeleton.verdicts.get(set.name)?.size) return broken;
    } else if (isSetName(set.name)) {
      for (const listed of set.elem ?? []) {
        const element = readElement(skeleton.family, set.name, listed);
        if (element === undefined) return broken;
        elements.push(element);
      }
    } else if (set.name !== affinityMap && set.name !== begunSet && set.name !== enteredSet) {
      return broken;
    }
  }
  const expected = [...skeleton.sets.keys(), ...skeleton.maps.keys(), ...skeleton.verdicts.keys()];
  const chains = expectedChains(skeleton, elements);
  const intact =
    chains !== undefined &&
    sets.size === expected.length &&
    expected.every((name) => sets.has(name)) &&
    rules.size === chains.size &&
    [...chains].every(([name, chain]) => rules.get(name) === chain.rules.length);
  return intact ? { intact, elements, revisions } : broken;
}

interface Listed {
  readonly name: string;
  readonly chain?: string;
  readonly elem?: readonly unknown[];
}

const isSetName = (name: string): name is SetName => (allSets as ReadonlyMap<string, unknown>).has(name);

/** Reads one element. A set element is its key, a map element is [key, value]; either may be wrapped as { elem: { val } }. */
function readElement(family: Family, set: SetName, listed: unknown): Element | undefined {
  const shape = allSets.get(set);
  if (shape === undefined) return undefined;
  const [listedKey, listedValue] = shape.value === undefined ? [listed] : Array.isArray(listed) ? (listed as readonly unknown[]) : [];
  const key = readFields(listedKey, shape.key);
  const value = shape.value === undefined ? undefined : readFields(listedValue, shape.value);
  if (key === undefined || (value === undefined && shape.value !== undefined)) return undefined;
  return elementFromText(family, set, key, value);
}

function readFields(listed: unknown, fields: readonly Field[]): string | undefined {
  const unwrapped = property(property(listed, 'elem'), 'val') ?? listed;
  const parts = property(unwrapped, 'concat') ?? [unwrapped];
  if (!Array.isArray(parts) || parts.length !== fields.length) return undefined;
  const texts: string[] = [];
  for (const [index, field] of fields.entries()) {
    const text = readField(parts[index], field);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return texts.join(' . ');
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function readField(part: unknown, field: Field): string | undefined {
  switch (field) {
    case 'source': {
      const prefix = (part as { prefix?: { addr: string; len: number } } | null)?.prefix;
      if (prefix === undefined) return readField(part, 'address');
      const address = readField(prefix.addr, 'address');
      return address === undefined ? undefined : `${address}/${prefix.len}`;
    }
    case 'address': {
      if (typeof part !== 'string') return undefined;
      const address = parseAddress(part);
      return address.ok ? formatAddress(address.value) : undefined;
    }
    case 'protocol':
      return protocols[String(part)];
    case 'port':
      return typeof part === 'number' ? String(part) : undefined;
    case 'mark':
      return typeof part === 'number' ? `0x${part.toString(16)}` : undefined;
    case 'link':
      return typeof part === 'string' ? part : undefined;
    case 'chain': {
      const target = (part as { jump?: { target?: unknown } } | string | null) ?? '';
      if (typeof target === 'string') return target;
      return typeof target.jump?.target === 'string' ? `jump ${target.jump.target}` : undefined;
    }
    case 'class':
      // nft prints TC_H_UNSPEC and TC_H_ROOT by name.
      return part === 'none' ? '0:0' : part === 'root' ? 'ffff:ffff' : typeof part === 'string' ? classText(part) : undefined;
  }
}

/** Protocols also by number: nft reads the names from a file that may be missing. */
const protocols: Readonly<Record<string, string>> = { '6': 'tcp', '17': 'udp', '132': 'sctp', tcp: 'tcp', udp: 'udp', sctp: 'sctp' };

/** nft leaves out a zero major or minor: ":1" is 0:1, "1:" is 1:0. */
function classText(text: string): string | undefined {
  const match = /^([0-9a-f]{0,4}):([0-9a-f]{0,4})$/.exec(text);
  return match === null ? undefined : `${match[1] || '0'}:${match[2] || '0'}`;
}
