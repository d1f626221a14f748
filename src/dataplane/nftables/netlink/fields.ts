import { addressBytes, addressFromBytes, formatAddress, parseAddress, type Family } from '../../../net/address.ts';
import { formatPrefix, lastAddress, maskedPrefix, parsePrefix, type Prefix } from '../../../net/prefix.ts';
import type { Field } from '../layout.ts';
import { classNumber } from './rule-compiler.ts';

/** Octets of a field by itself. In a key of several fields each takes a multiple of four. */
export function fieldLength(family: Family, field: Field): number {
  switch (field) {
    case 'address':
    case 'source':
      return family === 4 ? 4 : 16;
    case 'protocol':
      return 1;
    case 'port':
      return 2;
    case 'class':
      return 4;
  }
}

export function fieldsLength(family: Family, fields: readonly Field[]): number {
  const [only] = fields;
  if (only !== undefined && fields.length === 1) return fieldLength(family, only);
  return fields.reduce((sum, field) => sum + ((fieldLength(family, field) + 3) & ~3), 0);
}

export interface Octets {
  readonly first: Uint8Array;
  /** The last key of a range; the same as `first` unless a field is a prefix. */
  readonly last: Uint8Array;
}

const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
const protocolNames = new Map(Object.entries(protocols).map(([name, number]) => [number, name]));

/**
 * Texts of the elements in the kernel's octets. There may be hundreds of thousands in one batch, so memory is used again, and
 * IPv6 addresses, which occur many times, are remembered; one writer is for one batch.
 */
export class FieldWriter {
  readonly #addresses = new Map<string, Uint8Array>();
  /** By length. */
  readonly #first: Uint8Array[] = [];
  readonly #last: Uint8Array[] = [];

  /** "192.0.2.1 . tcp . 80". Holds until the next call. Throws RangeError when the text is not what the fields say. */
  write(family: Family, fields: readonly Field[], text: string): Octets {
    const parts = text.split(' . ');
    if (parts.length !== fields.length) throw new RangeError(`${text} has not ${fields.length} fields`);
    const length = fieldsLength(family, fields);
    const first = (this.#first[length] ??= new Uint8Array(length)).fill(0);
    let last = first;
    let at = 0;
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] ?? 'address';
      const part = parts[index] ?? '';
      if (field === 'source' && part.includes('/')) {
        const prefix = readPrefix(part);
        if (prefix.address.family !== family) throw new RangeError(`${part} is of the other address family`);
        if (last === first) (last = this.#last[length] ??= new Uint8Array(length)).set(first);
        first.set(addressBytes(prefix.address), at);
        last.set(addressBytes(lastAddress(prefix)), at);
      } else {
        this.#field(family, field, part, first, at);
        if (last !== first) this.#field(family, field, part, last, at);
      }
      at += (fieldLength(family, field) + 3) & ~3;
    }
    return { first, last };
  }

  #field(family: Family, field: Field, text: string, into: Uint8Array, at: number): void {
    switch (field) {
      case 'address':
      case 'source':
        if (family === 6) into.set(this.#ipv6Address(text), at);
        else writeIpv4Address(text, into, at);
        return;
      case 'protocol':
        into[at] = protocols[text] ?? refuse(`no protocol: ${text}`);
        return;
      case 'port': {
        const port = Number(text);
        if (!Number.isInteger(port) || port < 0 || port > 65_535) refuse(`no port: ${text}`);
        into[at] = port >> 8;
        into[at + 1] = port & 0xff;
        return;
      }
      case 'class': {
        const value = classNumber(text);
        into[at] = value & 0xff;
        into[at + 1] = (value >>> 8) & 0xff;
        into[at + 2] = (value >>> 16) & 0xff;
        into[at + 3] = value >>> 24;
      }
    }
  }

  #ipv6Address(text: string): Uint8Array {
    let bytes = this.#addresses.get(text);
    if (bytes === undefined) {
      const address = parseAddress(text);
      if (!address.ok || address.value.family !== 6) refuse(`no IPv6 address: ${text}`);
      bytes = addressBytes(address.value);
      this.#addresses.set(text, bytes);
    }
    return bytes;
  }
}

function writeIpv4Address(text: string, into: Uint8Array, at: number): void {
  let octet = 0;
  let digits = 0;
  let dots = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e && digits > 0 && dots < 3) {
      into[at + dots++] = octet;
      octet = 0;
      digits = 0;
    } else if (code >= 0x30 && code <= 0x39 && digits < 3) {
      octet = octet * 10 + code - 0x30;
      digits++;
      if (octet > 255) refuse(`no IPv4 address: ${text}`);
    } else refuse(`no IPv4 address: ${text}`);
  }
  if (dots !== 3 || digits === 0) refuse(`no IPv4 address: ${text}`);
  into[at + 3] = octet;
}

/**
 * The text of octets from the kernel, undefined when they are none of ours: a wrong length, a range that is no prefix, a
 * protocol without a name here. `last` as in `Octets`.
 */
export function readFields(family: Family, fields: readonly Field[], first: Uint8Array, last: Uint8Array): string | undefined {
  const length = fieldsLength(family, fields);
  if (first.length !== length || last.length !== length) return undefined;
  const texts: string[] = [];
  let at = 0;
  for (const field of fields) {
    const end = at + fieldLength(family, field);
    const text = readField(field, first.subarray(at, end), last.subarray(at, end));
    if (text === undefined) return undefined;
    texts.push(text);
    at = (end + 3) & ~3;
  }
  return texts.join(' . ');
}

function readField(field: Field, first: Uint8Array, last: Uint8Array): string | undefined {
  if (field === 'source') {
    const prefix = prefixOf(first, last);
    if (prefix === undefined) return undefined;
    return prefix.length === first.length * 8 ? formatAddress(prefix.address) : formatPrefix(prefix);
  }
  if (first !== last && !first.every((octet, index) => octet === last[index])) return undefined;
  switch (field) {
    case 'address':
      return formatAddress(addressFromBytes(first));
    case 'protocol':
      return protocolNames.get(first[0] ?? 0);
    case 'port':
      return String(((first[0] ?? 0) << 8) | (first[1] ?? 0));
    case 'class':
      return `${(((first[3] ?? 0) << 8) | (first[2] ?? 0)).toString(16)}:${(((first[1] ?? 0) << 8) | (first[0] ?? 0)).toString(16)}`;
  }
}

/** The prefix with this first and this last address. */
function prefixOf(first: Uint8Array, last: Uint8Array): Prefix | undefined {
  const address = addressFromBytes(first);
  const end = addressFromBytes(last);
  const size = end.value - address.value + 1n;
  if (size <= 0n || (size & (size - 1n)) !== 0n || address.value % size !== 0n) return undefined;
  return maskedPrefix(address, first.length * 8 - (size.toString(2).length - 1));
}

function readPrefix(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new RangeError(`${text}: ${prefix.problem}`);
  return prefix.value;
}

function refuse(why: string): never {
  throw new RangeError(why);
}
