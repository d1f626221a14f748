import { addressFromBytes, formatAddress, parseAddress, type Address, type Family } from '../../net/address.ts';
import { formatPrefix, hostPrefix, maskedPrefix, parsePrefix } from '../../net/prefix.ts';
import type { Element } from './element.ts';
import { allSets, fieldsLength, fieldLength, type Field, type SetName, type SetShape } from './layout.ts';
import {
  addressOctets,
  classOctets,
  linkOctets,
  markOctets,
  portOctets,
  protocolNumbers,
  protocolOctets,
  rangeOctets,
  type Octets,
} from './octets.ts';

/** Elements in nft's text form, for the nft command and for people: "192.0.2.1 . tcp . 80", "3:2". */

/** Returns the key as text. Every key that the kernel may hold has a text: a range that is no prefix is "first-last". */
export function keyText({ family, set, key }: Pick<Element, 'family' | 'set' | 'key'>): string {
  const shape = shapeOf(set);
  const length = fieldsLength(family, shape.key);
  const last = shape.interval ? key.slice(length) : key;
  return fieldsText(family, shape.key, key.slice(0, length), last);
}

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

function shapeOf(set: SetName): SetShape {
  const shape = allSets.get(set);
  if (shape === undefined) throw new RangeError(`there is no set ${set}`);
  return shape;
}

function fieldsText(family: Family, fields: readonly Field[], first: Octets, last: Octets): string {
  const texts: string[] = [];
  let at = 0;
  for (const field of fields) {
    const end = at + fieldLength(family, field);
    texts.push(fieldText(field, Buffer.from(first.slice(at, end), 'latin1'), Buffer.from(last.slice(at, end), 'latin1')));
    at = end;
  }
  return texts.join(' . ');
}

function fieldText(field: Field, first: Buffer, last: Buffer): string {
  switch (field) {
    case 'address':
    case 'source':
      return rangeText(addressFromBytes(first), addressFromBytes(last));
    case 'protocol':
      return protocolNames.get(first[0] ?? 0) ?? String(first[0]);
    case 'port':
      return String(first.readUInt16BE());
    case 'class':
      return `${first.readUInt16LE(2).toString(16)}:${first.readUInt16LE(0).toString(16)}`;
    case 'mark':
      return `0x${first.readUInt32LE().toString(16).padStart(8, '0')}`;
    case 'link':
      return Array.from(first, (octet) => octet.toString(16).padStart(2, '0')).join(':');
  }
}

const protocolNames = new Map(Object.entries(protocolNumbers).map(([name, number]) => [number, name.toLowerCase()]));

/** nft lists a host prefix as an address. */
function rangeText(first: Address, last: Address): string {
  const size = last.value - first.value + 1n;
  if (size === 1n) return formatAddress(first);
  const isPrefix = size > 0n && (size & (size - 1n)) === 0n && first.value % size === 0n;
  if (!isPrefix) return `${formatAddress(first)}-${formatAddress(last)}`;
  return formatPrefix(maskedPrefix(first, hostPrefix(first).length - (size.toString(2).length - 1)));
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
  }
}

function markFromText(text: string): number {
  if (!/^0x[0-9a-f]{1,8}$/.test(text)) throw new RangeError(`no mark: ${text}`);
  return Number(text);
}
