import { addressFromBytes, formatAddress, type Address, type Family } from '../../net/address.ts';
import { formatPrefix, hostPrefix, maskedPrefix } from '../../net/prefix.ts';
import type { Element } from './element.ts';
import { allSets, fieldsLength, fieldLength, type Field, type SetName, type SetShape } from './layout.ts';
import { protocolNumbers, type Octets } from './octets.ts';
import { turnChainName } from './turns.ts';

/** Elements in nft's text form, for people: "192.0.2.1 . tcp . 80", "3:2". */

/** Returns the key as text. Every key that the kernel may hold has a text: a range that is no prefix is "first-last". */
export function keyText({ family, set, key }: Pick<Element, 'family' | 'set' | 'key'>): string {
  const shape = shapeOf(set);
  const length = fieldsLength(family, shape.key);
  const last = shape.interval ? key.slice(length) : key;
  return fieldsText(family, shape.key, key.slice(0, length), last);
}

/** Throws RangeError when there is no such set. */
export function shapeOf(set: SetName): SetShape {
  const shape = allSets.get(set);
  if (shape === undefined) throw new RangeError(`there is no set ${set}`);
  return shape;
}

/** Returns fields as text, those of a range from its two ends. */
export function fieldsText(family: Family, fields: readonly Field[], first: Octets, last: Octets): string {
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
    case 'chain':
      return `jump ${turnChainName(first.toString('latin1'))}`;
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

/** Returns the type of a key or value as nft declares it. */
export function typeText(family: Family, fields: readonly Field[]): string {
  const types: Record<Field, string> = {
    address: family === 4 ? 'ipv4_addr' : 'ipv6_addr',
    source: family === 4 ? 'ipv4_addr' : 'ipv6_addr',
    protocol: 'inet_proto',
    port: 'inet_service',
    class: 'classid',
    mark: 'mark',
    link: 'ether_addr',
    chain: 'verdict',
  };
  return fields.map((field) => types[field]).join(' . ');
}
