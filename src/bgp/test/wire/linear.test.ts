import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Coverage } from '../../../../test/fuzz/coverage.ts';
import { messageOf } from '../../../../test/fuzz/bgp/corpus.ts';
import type * as Wire from '../../../../src/bgp/wire/index.ts';
import type { WireSession } from '../../../../src/bgp/wire/index.ts';
import { hex } from '../hex.ts';

const coverage = new Coverage(join(import.meta.dirname, '../../../../src/bgp/wire'));
let wire: typeof Wire;

beforeAll(async () => {
  coverage.start();
  wire = await import('../../../../src/bgp/wire/index.ts');
});
afterAll(() => coverage.stop());

/** The factor by which the work may exceed linear growth. */
const bound = 1.05;
const extended = 65_535;
const room = extended - 19;

/** Repeats the unit as often as it fits into `length` octets. */
const repeated = (unit: string, length: number): Uint8Array => {
  const octets = hex(unit);
  const count = Math.floor(length / octets.length);
  return Uint8Array.from({ length: count * octets.length }, (_, at) => octets[at % octets.length] ?? 0);
};

const u16 = (value: number): number[] => [value >> 8, value & 255];

function concat(...parts: readonly (Uint8Array | readonly number[])[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

const nothing: Uint8Array = new Uint8Array(0);
const update = (attributes: Uint8Array, nlri = nothing, withdrawn = nothing): Uint8Array =>
  messageOf(2, concat(u16(withdrawn.length), withdrawn, u16(attributes.length), attributes, nlri));

/** Encodes one attribute with the extended length. */
const attribute = (flags: number, type: number, value: Uint8Array): Uint8Array => concat([flags | 0x10, type, ...u16(value.length)], value);

const mandatory = hex('40010100 40020602010000fde9 4003040a000001');
const nextHop6 = '20010db8000000000000000000000002';

/** The most expensive messages for a decoder, each with about `length` octets after the header. An OPEN is shorter: a seventeenth. */
const worst: readonly (readonly [string, (length: number) => Uint8Array, WireSession?])[] = [
  ['zero-length prefixes', (length) => update(mandatory, repeated('00', length - 60))],
  ['zero-length withdrawn prefixes', (length) => update(nothing, nothing, repeated('00', length - 60))],
  ['prefixes with a path identifier', (length) => update(mandatory, repeated('0000000100', length - 60)), { addPathReceive: [4, 6] }],
  [
    'zero-length IPv6 prefixes',
    (length) => update(concat(attribute(0x80, 14, concat(hex(`000201 10 ${nextHop6} 00`), repeated('00', length - 100))), mandatory)),
  ],
  ['withdrawn IPv6 prefixes', (length) => update(attribute(0x80, 15, concat(hex('000201'), repeated('00', length - 60))))],
  ['one repeated attribute', (length) => update(concat(mandatory, repeated('400600', length - 60)), hex('080a'))],
  ['repeated attributes of a wrong length', (length) => update(concat(mandatory, repeated('c00800', length - 60)), hex('080a'))],
  ['unknown attributes', (length) => update(concat(mandatory, repeated('c06300', length - 60)), hex('080a'))],
  ['unknown well-known attributes', (length) => update(concat(mandatory, repeated('406300', length - 60)), hex('080a'))],
  ['a long AS_PATH', (length) => update(attribute(0x40, 2, repeated(`0210${'0000fde9'.repeat(16)}`, length - 60)))],
  ['an AS_PATH of short segments', (length) => update(attribute(0x40, 2, repeated('02010000fde9', length - 60)))],
  [
    'an AS_PATH of many segments with AS 0 at the end',
    (length) => update(attribute(0x40, 2, concat(repeated('02010000fde9', length - 70), hex('020100000000')))),
  ],
  ['communities', (length) => update(attribute(0xc0, 8, repeated('fde90001', length - 60)))],
  ['large communities', (length) => update(attribute(0xc0, 32, repeated('0000fde90000000100000002', length - 60)))],
  ['extended communities', (length) => update(attribute(0xc0, 16, repeated('0002fde900000064', length - 60)))],
  ['a cluster list', (length) => update(attribute(0x80, 10, repeated('0a000001', length - 60))), { internal: true }],
  ['empty capabilities', (length) => openWith(repeated('0200', length / 17))],
  ['parameters without capabilities', (length) => openWithParameters(repeated('020000', length / 17))],
  ['graceful restart capabilities', (length) => openWith(repeated('4006 0078 00010180', length / 17))],
  ['nested Hard Resets', (length) => messageOf(3, repeated('0609', length))],
  ['a shutdown text of control characters', (length) => messageOf(3, concat([6, 2, 255], repeated('1b', length - 3)))],
];

function openWith(capabilities: Uint8Array): Uint8Array {
  return openWithParameters(concat([2, ...u16(capabilities.length)], capabilities));
}

/** Encodes an OPEN in the form of RFC 9072. */
function openWithParameters(parameters: Uint8Array): Uint8Array {
  return messageOf(1, concat(hex('04 fde9 005a 0a000001 ff ff'), u16(parameters.length), parameters));
}

/** Returns the engine's count of work for decoding the message and, where possible, for describing or encoding it again. */
function workFor(message: Uint8Array, session: WireSession): number {
  const options = { maximum: extended, ...session };
  coverage.work();
  const result = wire.decodeMessage(message, options);
  if (result.ok && result.value.kind === 'notification') wire.describeNotification(result.value);
  if (result.ok) wire.encodeMessage(result.value, options);
  return coverage.work();
}

describe('BGP-084 the work of the codec for long messages', () => {
  test('the measurement distinguishes linear from quadratic work', () => {
    const message = update(mandatory, repeated('00', 100));
    const decode = (times: number): number => {
      coverage.work();
      for (let i = 0; i < times; i++) wire.decodeMessage(message);
      return coverage.work();
    };
    const [once, often, square] = [decode(10), decode(160), decode(2_560)];
    expect(often / once).toBeLessThan(bound * 16);
    expect(square / once).toBeGreaterThan(bound * 16);
    expect(once).toBeGreaterThan(10 * 100);
  });

  test.each(worst.map(([name, make, session = {}]) => [name, make, session] as const))(
    'the work grows linearly for %s',
    (_, make, session) => {
      const [short, long] = [make(room / 16), make(room)];
      expect(long.length).toBeLessThanOrEqual(extended);
      const [little, much] = [workFor(short, session), workFor(long, session)];
      // The message is sixteen times as long: quadratic work would be 256 times as much.
      expect(much / little).toBeLessThan(bound * 16);
      expect(much).toBeLessThan(30 * long.length);
    },
  );
});
