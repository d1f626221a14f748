import { expect, test } from 'vitest';
import { CompetingWriters } from '../../../../src/controller/services/competing-writers.ts';
import { limits } from '../../../../src/controller/limits.ts';

const { overwrites, competingWriterMilliseconds: span } = limits;
const key = 'shop/web';

function overwriteAll(writers: CompetingWriters, now: number): void {
  for (let n = 0; n < overwrites; n++) {
    writers.recordOverwrite(key, now);
    writers.recordRewrite(key);
  }
}

test('Herald yields after too many overwrites', () => {
  const writers = new CompetingWriters();
  for (let n = 1; n <= overwrites; n++) {
    expect(writers.hasYielded(key, 0)).toBe(false);
    writers.recordOverwrite(key, 0);
    writers.recordRewrite(key);
  }
  expect(writers.hasYielded(key, 0)).toBe(true);
  expect(writers.hasYielded('shop/other', 0)).toBe(false);
});

test('an overwrite that is seen twice before Herald rewrites counts once', () => {
  const writers = new CompetingWriters();
  for (let look = 0; look < 10; look++) writers.recordOverwrite(key, look);
  expect(writers.hasYielded(key, 10)).toBe(false);
});

test('occasional overwrites do not make Herald yield', () => {
  const writers = new CompetingWriters();
  for (let n = 0; n < 10; n++) {
    writers.recordOverwrite(key, (n * span) / (overwrites - 1));
    writers.recordRewrite(key);
  }
  expect(writers.hasYielded(key, (9 * span) / (overwrites - 1))).toBe(false);
});

test('Herald writes again after a quiet time, and counts from zero', () => {
  const writers = new CompetingWriters();
  overwriteAll(writers, 0);
  writers.recordOverwrite(key, 5);
  expect(writers.hasYielded(key, span + 4)).toBe(true);
  expect(writers.takeExpired(span + 4)).toEqual([]);
  expect(writers.hasYielded(key, span + 5)).toBe(false);
  expect(writers.takeExpired(span + 5)).toEqual([key]);
  expect(writers.takeExpired(span + 5)).toEqual([]);
});

test('overwrites are forgotten with their Service and when settings change', () => {
  const writers = new CompetingWriters();
  overwriteAll(writers, 0);
  writers.forgetService(key);
  expect(writers.hasYielded(key, 0)).toBe(false);
  overwriteAll(writers, 0);
  writers.forgetAll();
  expect(writers.hasYielded(key, 0)).toBe(false);
});
