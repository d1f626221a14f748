import { parseAddress, type Family } from '../../../src/net/address.ts';
import { parsePrefix } from '../../../src/net/prefix.ts';
import { fieldsText, shapeOf } from '../../../src/dataplane/ruleset/element-text.ts';
import type { Element } from '../../../src/dataplane/ruleset/element.ts';
import type { Field, SetName } from '../../../src/dataplane/ruleset/layout.ts';
import {
  addressOctets,
  classOctets,
  linkOctets,
  markOctets,
  portOctets,
  protocolOctets,
  rangeOctets,
  type Octets,
} from '../../../src/dataplane/ruleset/octets.ts';

/** Returns the value as text. Undefined in a set. */
export function valueText({ family, set, value }: Element): string | undefined {
  const shape = shapeOf(set);
  return value === undefined || shape.value === undefined ? undefined : fieldsText(family, shape.value, value, value);
}

/** Parses the text of an element. Throws RangeError when it does not fit the set. */
export function elementFromText(family: Family, set: SetName, key: string, value?: string): Element {
  const shape = shapeOf(set);
  const texts = key.split(' . ');
  if (texts.length !== shape.key.length) throw new RangeError(`${key} does not have ${shape.key.length} fields`);
  const fields = texts.map((text, index) => fieldOctets(family, shape.key[index] ?? 'address', text));
  const side = (end: 'first' | 'last'): Octets => fields.map((field) => field[end]).join('');
  const octets = shape.interval ? side('first') + side('last') : side('first');
  if (shape.value === undefined) return { family, set, key: octets };
  const parts = (value ?? '').split(' . ');
  if (parts.length !== shape.value.length) throw new RangeError(`${value} does not have ${shape.value.length} fields`);
  const valueFields = shape.value;
  return {
    family,
    set,
    key: octets,
    value: parts.map((text, index) => fieldOctets(family, valueFields[index] ?? 'class', text).first).join(''),
  };
}

function fieldOctets(family: Family, field: Field, text: string): { readonly first: Octets; readonly last: Octets } {
  if (field === 'source') return sourceOctets(family, text);
  const octets = singleOctets(family, field, text);
  return { first: octets, last: octets };
}

function sourceOctets(family: Family, text: string): { readonly first: Octets; readonly last: Octets } {
  if (!text.includes('/')) {
    const octets = singleOctets(family, 'address', text);
    return { first: octets, last: octets };
  }
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new RangeError(`${text}: ${prefix.problem}`);
  if (prefix.value.address.family !== family) throw new RangeError(`${text} is of the other address family`);
  const octets = rangeOctets(prefix.value);
  return { first: octets.slice(0, octets.length / 2), last: octets.slice(octets.length / 2) };
}

function singleOctets(family: Family, field: Exclude<Field, 'source'>, text: string): Octets {
  switch (field) {
    case 'address': {
      const address = parseAddress(text);
      if (!address.ok || address.value.family !== family) throw new RangeError(`no IPv${family} address: ${text}`);
      return addressOctets(address.value);
    }
    case 'protocol': {
      const protocol = text.toUpperCase();
      if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP') throw new RangeError(`no protocol: ${text}`);
      return protocolOctets(protocol);
    }
    case 'port': {
      const port = Number(text);
      if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new RangeError(`no port: ${text}`);
      return portOctets(port);
    }
    case 'class':
      return classOctets(text);
    case 'mark':
      return markOctets(markFromText(text));
    case 'link':
      return linkOctets(text);
    case 'chain':
      return `${text.replace('jump ', '')}\0`;
  }
}

function markFromText(text: string): number {
  if (!/^0x[0-9a-f]{1,8}$/.test(text)) throw new RangeError(`no mark: ${text}`);
  return Number(text);
}
