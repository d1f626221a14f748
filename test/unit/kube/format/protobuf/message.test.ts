import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { message } from '../../../../../src/kube/format/protobuf/message.ts';
import { ProtobufError } from '../../../../../src/kube/format/protobuf/protobuf-error.ts';
import {
  bool,
  int32,
  int64,
  intOrString,
  list,
  omitEmpty,
  sharedText,
  text,
  textMap,
  time,
} from '../../../../../src/kube/format/protobuf/types.ts';
import { WireReader } from '../../../../../src/kube/format/protobuf/wire-reader.ts';
import { limits } from '../../../../../src/kube/limits.ts';
import { field, varint } from './encode.ts';

const all = message({
  text: [1, text],
  shared: [2, sharedText],
  number: [3, int32],
  long: [4, int64],
  flag: [5, bool],
  when: [6, time],
  port: [7, intOrString],
  labels: [8, textMap],
  names: [9, list(text)],
  inner: [10, message({ name: [1, text], flag: [2, bool] })],
  inners: [11, list(message({ name: [1, text] }))],
  optionalText: [12, omitEmpty(text)],
  optionalNumber: [13, omitEmpty(int32)],
  optionalFlag: [14, omitEmpty(bool)],
});
const decode = (...parts: readonly Buffer[]): unknown => all.decode(new WireReader(Buffer.concat(parts)));
const hex = (octets: string): Buffer => Buffer.from(octets.replaceAll(' ', ''), 'hex');

describe('a field', () => {
  test.each<[string, string, object]>([
    ['text', '0a 02 c3bc', { text: 'ü' }],
    ['empty text', '0a 00', { text: '' }],
    ['text outside the basic plane', '0a 04 f09f9880', { text: '\u{1f600}' }],
    ['shared text', '12 01 61', { shared: 'a' }],
    ['shared text outside ASCII', '12 02 c3bc', { shared: 'ü' }],
    ['empty shared text', '12 00', { shared: '' }],
    ['int32 0', '18 00', { number: 0 }],
    ['int32 300', '18 ac02', { number: 300 }],
    ['the highest int32', '18 ffffffff07', { number: 2_147_483_647 }],
    ['int32 -1 in ten octets', '18 ffffffffffffffffff01', { number: -1 }],
    ['the lowest int32', '18 80808080f8ffffffff01', { number: -2_147_483_648 }],
    ['int64 1', '20 01', { long: 1 }],
    ['int64 2^32', '20 8080808010', { long: 4_294_967_296 }],
    ['the highest exact int64', '20 ffffffffffffff0f', { long: Number.MAX_SAFE_INTEGER }],
    ['the highest int64', '20 ffffffffffffffff7f', { long: 2 ** 63 }],
    ['int64 -1', '20 ffffffffffffffffff01', { long: -1 }],
    ['the lowest int64', '20 80808080808080808001', { long: -(2 ** 63) }],
    ['true', '28 01', { flag: true }],
    ['false, which is not absent', '28 00', { flag: false }],
    ['a time', '32 06 08 8fafabd806', { when: '2026-11-28T13:30:55Z' }],
    ['a time with nanoseconds, which JSON does not have', '32 0b 08 8fafabd806 10 87ade204', { when: '2026-11-28T13:30:55Z' }],
    ['the epoch', '32 04 08 00 10 00', { when: '1970-01-01T00:00:00Z' }],
    ['a second before the epoch', '32 0b 08 ffffffffffffffffff01', { when: '1969-12-31T23:59:59Z' }],
    ['no time', '32 00', {}],
    ['a port as a number', '3a 06 08 00 10 50 1a 00', { port: 80 }],
    ['a port as a name', '3a 0a 08 01 10 00 1a 04 68747470', { port: 'http' }],
    ['a port of nothing', '3a 00', { port: 0 }],
    ['a map', '42 06 0a 01 61 12 01 62', { labels: { a: 'b' } }],
    ['a map with the value first', '42 06 12 01 62 0a 01 61', { labels: { a: 'b' } }],
    ['a map with an empty value', '42 03 0a 01 61', { labels: { a: '' } }],
    ['a map with two entries', '42 06 0a 01 61 12 01 62 42 03 0a 01 63', { labels: { a: 'b', c: '' } }],
    ['a list', '4a 01 61 4a 00 4a 01 61', { names: ['a', '', 'a'] }],
    ['a message', '52 05 0a 01 61 10 00', { inner: { name: 'a', flag: false } }],
    ['an empty message', '52 00', { inner: {} }],
    ['a list of messages', '5a 03 0a 01 61 5a 00', { inners: [{ name: 'a' }, {}] }],
    ['empty text that JSON leaves out', '62 00', {}],
    ['text that JSON leaves out when empty', '62 01 61', { optionalText: 'a' }],
    ['a number that JSON leaves out when 0', '68 00', {}],
    ['a negative number that JSON leaves out when 0', '68 ffffffffffffffffff01', { optionalNumber: -1 }],
    ['false that JSON leaves out', '70 00', {}],
    ['a value twice, of which the last counts', '0a 01 61 0a 01 62', { text: 'b' }],
    ['fields in any order', '28 01 0a 01 61', { flag: true, text: 'a' }],
    ['nothing', '', {}],
  ])('that is %s is decoded', (_, octets, wanted) => {
    expect(decode(hex(octets))).toStrictEqual(wanted);
  });

  test.each<[string, Buffer]>([
    ['a number', field(20, 300n)],
    ['eight octets', Buffer.concat([varint((20 << 3) | 1), Buffer.alloc(8)])],
    ['octets', field(20, 'what is that')],
    ['four octets', Buffer.concat([varint((20 << 3) | 5), Buffer.alloc(4)])],
    ['the highest number of a field', Buffer.concat([varint((2n ** 29n - 1n) << 3n), varint(1)])],
  ])('that is not in the table, with %s, is passed over', (_, octets) => {
    expect(decode(octets, field(1, 'a'), octets)).toStrictEqual({ text: 'a' });
  });

  test('an int64 is read as the nearest number, as in JSON', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(decode(field(4, value))).toStrictEqual({ long: JSON.parse(String(value)) });
      }),
    );
  });

  test('with any int32 is that number', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        expect(decode(field(3, value))).toStrictEqual({ number: value });
      }),
    );
  });

  test('named __proto__ in a map changes nothing', () => {
    const entry = field(8, Buffer.concat([field(1, '__proto__'), field(2, 'x')]));
    expect(decode(entry)).toStrictEqual({ labels: {} });
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('has the same text after another one took its place among the shared texts', () => {
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < limits.sharedTexts * 2; index++)
        expect(decode(field(2, `node-${index}`))).toStrictEqual({ shared: `node-${index}` });
  });
});

describe('octets are refused', () => {
  test.each<[string, string, string]>([
    ['when a key is cut off', '80', 'ends too early'],
    ['when a number is cut off', '18 80', 'ends too early'],
    ['when there is no value', '18', 'ends too early'],
    ['when text is longer than what there is', '0a 05 6162', 'longer than what contains it'],
    ['when a field inside is longer than its message', '52 02 0a 05 6162636465', 'longer than what contains it'],
    ['when a number inside goes beyond its message', '52 02 10 80 01', 'ends too early'],
    ['when a number has eleven octets', '20 8080808080808080808001', 'more than ten octets'],
    ['when an int32 has eleven octets', '18 8080808080808080808001', 'more than ten octets'],
    ['when a length has more than 32 bits', '0a 8080808010', 'more than 32 bits'],
    ['when a field has the number 0', '02 00', 'number 0'],
    ['when a group begins', 'a3 01', 'wire type 3'],
    ['when a group ends', 'a4 01', 'wire type 4'],
    ['when a field is not in the table and has no wire type', 'a6 01', 'wire type 6'],
    ['when eight octets are cut off', 'a1 01 00', 'longer than what contains it'],
    ['when text is written as a number', '08 01', 'field text has the wire type 0'],
    ['when a number is written as text', '1a 01 61', 'field number has the wire type 2'],
    ['when a time is before the year 1', '32 0b 08 80808080808080808001', 'years 1 and 9999'],
    ['when a time is after the year 9999', '32 07 08 80f0aae4b007', 'years 1 and 9999'],
  ])('%s', (_, octets, problem) => {
    expect(() => decode(hex(octets))).toThrow(ProtobufError);
    expect(() => decode(hex(octets))).toThrow(problem);
  });

  test('when one object has more fields than an object of the API server can have', () => {
    const most = Buffer.alloc(limits.objectFields * 2, Buffer.from([0x18, 0x00]));
    expect(decode(most)).toStrictEqual({ number: 0 });
    expect(() => decode(most, Buffer.from([0x18, 0x00]))).toThrow(`more than ${limits.objectFields} fields`);
  });
});
