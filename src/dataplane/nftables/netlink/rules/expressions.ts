import type { MessageWriter } from '../../../../system/netlink/message-writer.ts';
import { dataAttributes, expressionAttributes, listElement, verdictAttributes } from '../constants.ts';

/** The value of an attribute: a number of four octets, a text, octets, a number of eight octets, or nested attributes. */
export type Value = number | string | Uint8Array | bigint | Attributes;
export type Attributes = readonly (readonly [type: number, value: Value])[];

/** One step of a rule, as the kernel executes it. */
export interface Expression {
  readonly name: string;
  readonly attributes: Attributes;
}

/**
 * Returns the number of the register at an offset in octets; the registers have 64 octets. The kernel has two numberings; this is the one
 * in which it lists them.
 */
export const register = (octet: number): number => (octet % 16 === 0 ? 1 + octet / 16 : 8 + octet / 4);
const verdictRegister = 0;

const data = (value: Uint8Array): Attributes => [[dataAttributes.value, value]];

/** Encodes a number in the machine's byte order, which marks, classids and states use. */
export function hostNumber(value: number): Uint8Array {
  return Uint8Array.of(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24);
}

export const metaKeys = { priority: 2, mark: 3, iif: 4, iifname: 6, iiftype: 8, l4proto: 16 } as const;
/** Keys for the original direction of a connection, whose addresses have one family. */
export const originalKeys = { daddr: { ip: 20, ip6: 22 }, 'proto-dst': 12 } as const;
export const conntrackKeys = { state: 0, status: 2 } as const;
export const routeFlags = { saddr: 1, daddr: 2 } as const;
export const payloadBases = { link: 0, network: 1, transport: 2 } as const;

const expression = (name: string, ...attributes: Attributes): Expression => ({ name, attributes });

export const expressions = {
  payload: (base: number, offset: number, length: number, to: number): Expression =>
    expression('payload', [1, register(to)], [2, base], [3, offset], [4, length]),
  metaLoad: (key: number, to: number): Expression => expression('meta', [2, key], [1, register(to)]),
  metaSet: (key: number): Expression => expression('meta', [2, key], [3, register(0)]),
  conntrack: (key: number, to: number): Expression => expression('ct', [1, register(to)], [2, key]),
  /** Loads a value of the packets from the side that opened the connection. */
  conntrackOriginal: (key: number, to: number): Expression => expression('ct', [1, register(to)], [2, key], [3, Uint8Array.of(0)]),
  /** Loads the type of the source or destination address, such as local. */
  addressType: (flag: number, to: number): Expression => expression('fib', [1, register(to)], [2, 3], [3, flag]),
  random: (modulus: number, to: number): Expression => expression('numgen', [1, register(to)], [2, modulus], [3, 1], [4, 0]),
  /** Counts from 0 to the modulus - 1, and then from 0 again. */
  next: (modulus: number, to: number): Expression => expression('numgen', [1, register(to)], [2, modulus], [3, 0], [4, 0]),
  hash: (from: number, length: number, modulus: number, seed: number, to: number): Expression =>
    expression('hash', [1, register(from)], [2, register(to)], [3, length], [4, modulus], [5, seed], [6, 0], [7, 0]),
  /** (register and mask) xor other. */
  bitwise: (mask: number, other: number): Expression => bitwise(hostNumber(mask), hostNumber(other)),
  /** Masks one octet. */
  bits: (mask: number): Expression => bitwise(Uint8Array.of(mask), Uint8Array.of(0)),
  constant: (value: Uint8Array, to = 0): Expression => expression('immediate', [1, register(to)], [2, data(value)]),
  notrack: (): Expression => expression('notrack'),
  /** Writes two octets of a TCP option, if the packet has it. */
  setTcpOption: (kind: number, offset: number): Expression =>
    expression('exthdr', [7, register(0)], [2, Uint8Array.of(kind)], [3, offset], [4, 2], [6, 1]),
  compare: (equal: boolean, value: Uint8Array): Expression => expression('cmp', [1, register(0)], [2, equal ? 0 : 1], [3, data(value)]),
  /** Ends the rule when the key is not in the set or, if inverted, when it is. */
  lookup: (set: string, setId: number | undefined, inverted: boolean): Expression =>
    expression('lookup', [1, set], [2, register(0)], ...optional(4, setId), [5, inverted ? 1 : 0]),
  /** Ends the rule when the key is not in the map. Otherwise loads its value into the register. */
  mapLookup: (map: string): Expression => expression('lookup', [1, map], [2, register(0)], [3, register(0)], [5, 0]),
  verdictLookup: (map: string): Expression => expression('lookup', [1, map], [2, register(0)], [3, verdictRegister], [5, 0]),
  /** Writes into a map. The key is at the first register. `timeout` is in milliseconds. */
  dynamic: (operation: 'update' | 'delete', map: string, value: number, timeout: number | undefined): Expression => {
    const period = optional(6, timeout === undefined ? undefined : BigInt(timeout));
    return expression('dynset', [1, map], [3, operation === 'update' ? 1 : 2], [4, register(0)], [5, register(value)], ...period);
  },
  /** Counts the packets that come to it, from 0. */
  counter: (): Expression => expression('counter'),
  /** Adds the key at the first register to a set, and counts the packet in its element. `update`: an element that is there stays for longer. */
  count: (operation: 'add' | 'update', set: string): Expression =>
    expression('dynset', [1, set], [3, operation === 'add' ? 0 : 1], [4, register(0)], [7, [[expressionAttributes.name, 'counter']]]),
  verdict: (verdict: string): Expression => expression('immediate', [1, verdictRegister], [2, verdictData(verdict)]),
  /** The address is at the first register. */
  destinationNat: (family: number, port: number | undefined): Expression => {
    const at = port === undefined ? undefined : register(port);
    return expression('nat', [1, 1], [2, family], [3, register(0)], [4, register(0)], ...optional(5, at), ...optional(6, at));
  },
  masquerade: (fullyRandom: boolean): Expression => expression('masq', ...optional(1, fullyRandom ? 0x10 : undefined)),
  /** Ends the rule for packets within the rate. `rate`: packets a second. `burst`: packets. */
  limitOver: (rate: bigint, burst: number): Expression => expression('limit', [1, rate], [2, 1n], [3, burst], [4, 0], [5, 1]),
  /** Sends a copy of the packet by the route to the address at the first register, on the interface whose number is at another, if any. */
  duplicate: (device?: number): Expression =>
    expression('dup', [1, register(0)], ...optional(2, device === undefined ? undefined : register(device))),
  rejectWithReset: (): Expression => expression('reject', [1, 1], [2, Uint8Array.of(0)]),
  /** `code`: the ICMP code for "port unreachable" of the family. */
  reject: (code: number): Expression => expression('reject', [1, 0], [2, Uint8Array.of(code)]),
} as const;

const bitwise = (mask: Uint8Array, other: Uint8Array): Expression =>
  expression('bitwise', [1, register(0)], [2, register(0)], [3, mask.length], [6, 0], [4, data(mask)], [5, data(other)]);

export const jumpCode = -3;
const verdictCodes: Readonly<Record<string, number>> = { drop: 0, accept: 1, jump: jumpCode, goto: -4, return: -5 };

/** Encodes "accept", "goto refuse". Throws for anything else. */
export function verdictData(verdict: string): Attributes {
  const [word = '', chain] = verdict.split(' ');
  const code = verdictCodes[word];
  if (code === undefined || (chain !== undefined) !== (word === 'jump' || word === 'goto')) throw new Error(`unknown verdict: ${verdict}`);
  return [[dataAttributes.verdict, [[verdictAttributes.code, code], ...optional(verdictAttributes.chain, chain)]]];
}

/** Returns the attribute, or none for an undefined value. */
export function optional(type: number, value: Value | undefined): Attributes {
  return value === undefined ? [] : [[type, value]];
}

export function writeAttributes(writer: MessageWriter, attributes: Attributes): void {
  for (const [type, value] of attributes) {
    if (typeof value === 'number') writer.numberAttribute(type, value);
    else if (typeof value === 'string') writer.textAttribute(type, value);
    else if (typeof value === 'bigint') writer.longAttribute(type, value);
    else if (value instanceof Uint8Array) writer.bytesAttribute(type, value);
    else {
      const nested = writer.beginNested(type);
      writeAttributes(writer, value);
      writer.endNested(nested);
    }
  }
}

/** Returns the attributes of a list of expressions. */
export function expressionList(list: readonly Expression[]): Attributes {
  return list.map(({ name, attributes }) => [
    listElement,
    [
      [expressionAttributes.name, name],
      [expressionAttributes.data, attributes],
    ],
  ]);
}
