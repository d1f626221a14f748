import { describe, expect, test } from 'vitest';
import { LengthFramer } from '../../../../../src/kube/format/protobuf/length-framer.ts';
import { framed } from './encode.ts';

const frames = ['a', 'frame', 'x'.repeat(300), 'end'];
const octets = Buffer.concat(frames.map((one) => framed(Buffer.from(one))));

test.each([1, 2, 3, 4, 5, 7, 64, 10_000])('frames arrive in order, in chunks of %i octets', (size) => {
  const framer = new LengthFramer(1024);
  const found: string[] = [];
  for (let at = 0; at < octets.length; at += size) for (const one of framer.push(octets.subarray(at, at + size))) found.push(String(one));
  expect(found).toEqual(frames);
  expect(() => framer.end()).not.toThrow();
});

test('a stream without frames may end', () => {
  expect(() => new LengthFramer(4).end()).not.toThrow();
});

test('a frame of the longest length is read', () => {
  expect([...new LengthFramer(4).push(framed(Buffer.from('four')))]).toEqual([Buffer.from('four')]);
});

describe.each([
  ['a frame beyond the bound', [0, 0, 0, 5], 'longer than 4 bytes'],
  ['a length with the highest bit', [0xff, 0xff, 0xff, 0xff], 'longer than 4 bytes'],
  ['an empty frame', [0, 0, 0, 0], 'is empty'],
])('%s', (_, header, message) => {
  test('is refused by its length alone', () => {
    expect(() => [...new LengthFramer(4).push(Buffer.from(header))]).toThrow(message);
  });
});

test.each([
  ['a length', [0, 0, 0]],
  ['a frame', [0, 0, 0, 2, 1]],
  ['a frame of which nothing came', [0, 0, 0, 2]],
])('a stream that ends in %s is malformed', (_, sent) => {
  const framer = new LengthFramer(4);
  expect([...framer.push(Buffer.from(sent))]).toEqual([]);
  expect(() => framer.end()).toThrow('in the middle of a frame');
});
