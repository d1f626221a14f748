import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineFramer } from '../../../../src/kube/format/json/line-framer.ts';

test('lines come out unchanged, wherever the chunks are cut', () => {
  const lines = fc.array(fc.string({ unit: 'grapheme', minLength: 1 }).filter((line) => !line.includes('\n')));
  fc.assert(
    fc.property(lines, fc.array(fc.integer({ min: 1, max: 7 })), (lines, sizes) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const framer = new LineFramer(1024);
      const out: string[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes.length === 0 ? 3 : (sizes[i % sizes.length] ?? 3);
        out.push(...framer.push(bytes.subarray(at, at + size)));
        at += size;
      }
      framer.end();
      expect(out).toEqual(lines);
    }),
  );
});

test('empty lines are skipped', () => {
  expect([...new LineFramer(10).push(Buffer.from('\n\na\n\n'))]).toEqual(['a']);
});

test('a line of the maximum length passes and a longer one fails, in one chunk or many', () => {
  const framer = (): LineFramer => new LineFramer(4);
  expect([...framer().push(Buffer.from('four\n'))]).toEqual(['four']);
  expect(() => [...framer().push(Buffer.from('fiver\n'))]).toThrow('longer than 4 bytes');
  const slow = framer();
  expect([...slow.push(Buffer.from('fi'))]).toEqual([]);
  expect(() => [...slow.push(Buffer.from('ver'))]).toThrow('longer than 4 bytes');
});

test('the end of the stream inside a line is an error', () => {
  const framer = new LineFramer(10);
  expect([...framer.push(Buffer.from('a\nb'))]).toEqual(['a']);
  expect(() => framer.end()).toThrow('in the middle of a line');
});
