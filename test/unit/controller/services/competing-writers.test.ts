import { expect, test } from 'vitest';
import { CompetingWriters } from '../../../../src/controller/services/competing-writers.ts';
import { limits } from '../../../../src/controller/limits.ts';

const { overwrites, competingWriterMilliseconds: span } = limits;
const key = 'shop/web';

function overwriteAll(contests: CompetingWriters, now: number): void {
  for (let n = 0; n < overwrites; n++) {
    contests.recordOverwrite(key, now);
    contests.recordRewrite(key);
  }
}

test('Herald yields after too many overwrites', () => {
  const contests = new CompetingWriters();
  for (let n = 1; n <= overwrites; n++) {
    expect(contests.hasYielded(key, 0)).toBe(false);
    contests.recordOverwrite(key, 0);
    contests.recordRewrite(key);
  }
  expect(contests.hasYielded(key, 0)).toBe(true);
  expect(contests.hasYielded('shop/other', 0)).toBe(false);
});

test('an overwrite that is seen twice before Herald rewrites counts once', () => {
  const contests = new CompetingWriters();
  for (let look = 0; look < 10; look++) contests.recordOverwrite(key, look);
  expect(contests.hasYielded(key, 10)).toBe(false);
});

test('occasional overwrites do not make Herald yield', () => {
  const contests = new CompetingWriters();
  for (let n = 0; n < 10; n++) {
    contests.recordOverwrite(key, (n * span) / (overwrites - 1));
    contests.recordRewrite(key);
  }
  expect(contests.hasYielded(key, (9 * span) / (overwrites - 1))).toBe(false);
});

test('Herald writes again after a quiet time, and counts from zero', () => {
  const contests = new CompetingWriters();
  overwriteAll(contests, 0);
  contests.recordOverwrite(key, 5);
  expect(contests.hasYielded(key, span + 4)).toBe(true);
  expect(contests.takeExpired(span + 4)).toEqual([]);
  expect(contests.hasYielded(key, span + 5)).toBe(false);
  expect(contests.takeExpired(span + 5)).toEqual([key]);
  expect(contests.takeExpired(span + 5)).toEqual([]);
});

test('overwrites are forgotten with their Service and when settings change', () => {
  const contests = new CompetingWriters();
  overwriteAll(contests, 0);
  contests.forgetService(key);
  expect(contests.hasYielded(key, 0)).toBe(false);
  overwriteAll(contests, 0);
  contests.forgetAll();
  expect(contests.hasYielded(key, 0)).toBe(false);
});
