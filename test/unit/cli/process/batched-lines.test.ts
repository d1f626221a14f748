import { expect, test } from 'vitest';
import { limits } from '../../../../src/cli/limits.ts';
import { BatchedLines } from '../../../../src/cli/process/batched-lines.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

function begun() {
  const clock = new VirtualClock();
  const written: string[] = [];
  return { clock, written, lines: new BatchedLines({ write: (text) => written.push(text) }, clock) };
}

test('lines are written together after a short time', () => {
  const { clock, written, lines } = begun();
  lines.write('a\n', false);
  clock.advance(limits.logMilliseconds - 1);
  lines.write('b\n', false);
  expect(written).toEqual([]);
  clock.advance(1);
  expect(written).toEqual(['a\nb\n']);
  lines.write('c\n', false);
  clock.advance(limits.logMilliseconds);
  expect(written).toEqual(['a\nb\n', 'c\n']);
});

test('a warning is written at once, with the lines before it', () => {
  const { written, lines } = begun();
  lines.write('a\n', false);
  lines.write('careful\n', true);
  expect(written).toEqual(['a\ncareful\n']);
});

test('the lines that wait are written at the end of the process', () => {
  const { written, lines } = begun();
  lines.write('last\n', false);
  lines.flush();
  expect(written).toEqual(['last\n']);
});

test('many lines are written before their time', () => {
  const { clock, written, lines } = begun();
  const line = `${'x'.repeat(limits.logCharacters / 4 - 1)}\n`;
  for (let count = 0; count < 5; count++) lines.write(line, false);
  expect(written).toEqual([line.repeat(4)]);
  clock.advance(limits.logMilliseconds);
  expect(written).toEqual([line.repeat(4), line]);
});
