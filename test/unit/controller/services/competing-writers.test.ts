import { expect, test } from 'vitest';
import { Contests } from '../../../../src/controller/services/competing-writers.ts';
import { limits } from '../../../../src/controller/limits.ts';

const { overwrites, contestMilliseconds: span } = limits;
const key = 'shop/web';

function overwriteAll(contests: Contests, now: number): void {
  for (let n = 0; n < overwrites; n++) {
    contests.overwritten(key, now);
    contests.answered(key);
  }
}

test('is lost when it was written over too often', () => {
  const contests = new Contests();
  for (let n = 1; n <= overwrites; n++) {
    expect(contests.isLost(key, 0)).toBe(false);
    contests.overwritten(key, 0);
    contests.answered(key);
  }
  expect(contests.isLost(key, 0)).toBe(true);
  expect(contests.isLost('shop/other', 0)).toBe(false);
});

test('is not lost by looking at one and the same again before it was answered', () => {
  const contests = new Contests();
  for (let look = 0; look < 10; look++) contests.overwritten(key, look);
  expect(contests.isLost(key, 10)).toBe(false);
});

test('is not lost by what happens now and then', () => {
  const contests = new Contests();
  for (let n = 0; n < 10; n++) {
    contests.overwritten(key, (n * span) / (overwrites - 1));
    contests.answered(key);
  }
  expect(contests.isLost(key, (9 * span) / (overwrites - 1))).toBe(false);
});

test('ends when it has been quiet for as long, and starts anew', () => {
  const contests = new Contests();
  overwriteAll(contests, 0);
  contests.overwritten(key, 5);
  expect(contests.isLost(key, span + 4)).toBe(true);
  expect(contests.ended(span + 4)).toEqual([]);
  expect(contests.isLost(key, span + 5)).toBe(false);
  expect(contests.ended(span + 5)).toEqual([key]);
  expect(contests.ended(span + 5)).toEqual([]);
});

test('is forgotten with its Service, and with the settings', () => {
  const contests = new Contests();
  overwriteAll(contests, 0);
  contests.forget(key);
  expect(contests.isLost(key, 0)).toBe(false);
  overwriteAll(contests, 0);
  contests.forgetAll();
  expect(contests.isLost(key, 0)).toBe(false);
});
