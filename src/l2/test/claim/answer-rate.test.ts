import { expect, test } from 'vitest';
import { AnswerRate } from '../../../../src/l2/claim/answer-rate.ts';

test('the rate counts the answers of the last minute', () => {
  const rate = new AnswerRate();
  for (let at = 60_000; at < 120_000; at += 1000) rate.add(at);
  expect(rate.perMinute(119_999)).toBe(60);
  expect(rate.perMinute(150_000)).toBe(30);
  expect(rate.perMinute(180_000)).toBe(0);
});

test('answers of long ago do not count', () => {
  const rate = new AnswerRate();
  rate.add(5000);
  expect(rate.perMinute(600_000)).toBe(0);
});
