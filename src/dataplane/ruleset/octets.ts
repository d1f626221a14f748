import type { Address } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import { lastAddress, type Prefix } from '../../net/prefix.ts';
import { classNumber, slotText } from './classid.ts';

/**
 * Octets as the kernel compares them, each one a character below 256, so that strings can be joined with +, compared with === and used as
 * Map keys. A field of a key takes a multiple of four octets (set-declaration.ts).
 */
export type Octets = string;

/** Network byte order: 4 or 16 octets. */
export function addressOctets({ family, value }: Address): Octets {
  if (family === 4) return wordOctets(Number(value));
  return [96n, 64n, 32n, 0n].map((shift) => wordOctets(Number(BigInt.asUintN(32, value >> shift)))).join('');
}

/** Returns the key of a range: its first key followed by its last key, for the addresses of the prefix. Both begin with `beginning`. */
export function rangeOctets(prefix: Prefix, beginning: Octets = ''): Octets {
  return `${beginning}${addressOctets(prefix.address)}${beginning}${addressOctets(lastAddress(prefix))}`;
}

export function protocolOctets(protocol: Protocol): Octets {
  return protocols[protocol];
}

export const protocolNumbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };

const protocols: Readonly<Record<Protocol, Octets>> = {
  TCP: String.fromCharCode(protocolNumbers.TCP, 0, 0, 0),
  UDP: String.fromCharCode(protocolNumbers.UDP, 0, 0, 0),
  SCTP: String.fromCharCode(protocolNumbers.SCTP, 0, 0, 0),
};

/** Network byte order, padded to four octets. */
export function portOctets(port: number): Octets {
  return String.fromCharCode(port >> 8, port & 0xff, 0, 0);
}

/** Encodes a class, slot or backend id as classid.ts writes it, "3:2", in the machine's byte order. */
export function classOctets(text: string): Octets {
  return markOctets(classNumber(text));
}

/** Encodes a slot, like `classOctets`. */
export const slotOctets = (slot: number): Octets => (slots[slot] ??= classOctets(slotText(slot)));

const slots: Octets[] = [];

/** Encodes a packet mark in the machine's byte order. */
export function markOctets(mark: number): Octets {
  return String.fromCharCode(mark & 0xff, (mark >>> 8) & 0xff, (mark >>> 16) & 0xff, mark >>> 24);
}

/** Encodes "02:00:00:00:00:01". */
export function linkOctets(text: string): Octets {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(text)) throw new RangeError(`no link address: ${text}`);
  return String.fromCharCode(...text.split(':').map((octet) => Number.parseInt(octet, 16)));
}

function wordOctets(word: number): Octets {
  return String.fromCharCode(word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff);
}
