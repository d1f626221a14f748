import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkew } from '../../../../src/kube/client/clock-skew.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { silentLog } from '../../../../src/system/log.ts';

const now = Date.UTC(2026, 0, 1);
let lines: string[];
let skew: ClockSkew;

beforeEach(() => {
  lines = [];
  const say = (level: string) => (fields: object, message: string) => void lines.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  skew = new ClockSkew({ ...silentLog, warn: say('warn'), info: say('info') });
});

/** The server's clock is `offset` milliseconds behind ours when it answers, `after` milliseconds after the request. */
function answer(offset: number, { after = 10, took = 20 } = {}): void {
  skew.observe(new Date(now + after - offset).toUTCString(), now, now + took);
}

function answers(count: number, offset: number): void {
  for (let index = 0; index < count; index++) answer(offset);
}

describe("the clock and the API server's", () => {
  test.each([40_000, -40_000, 6100, -6100])('a difference of %i ms is logged once, after several answers', (offset) => {
    answers(limits.skewAnswers - 1, offset);
    expect([skew.isSkewed, lines]).toEqual([false, []]);
    answers(10, offset);
    expect(skew.isSkewed).toBe(true);
    expect(Math.sign(skew.seconds)).toBe(Math.sign(offset));
    expect(Math.abs(skew.seconds * 1000 - offset)).toBeLessThanOrEqual(1020);
    expect(lines).toEqual([expect.stringMatching(/^warn: .*secondsAhead.*NTP/)]);
  });

  test('the end is logged when the difference is small again, not while it stays near the threshold', () => {
    answers(limits.skewAnswers, 20_000);
    answers(10, limits.skewMilliseconds - 1000);
    expect(skew.isSkewed).toBe(true);
    answers(limits.skewAnswers, 0);
    expect(skew.isSkewed).toBe(false);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^info: /);
  });

  test.each([0, 900, -900, 4000, -4000])('a difference of %i ms is none', (offset) => {
    answers(20, offset);
    expect([skew.isSkewed, lines]).toEqual([false, []]);
  });

  test('a slow answer and one wrong answer say nothing', () => {
    for (let index = 0; index < 10; index++) answer(0, { after: 29_000, took: 30_000 });
    for (let index = 0; index < 10; index++) {
      answer(60_000);
      answer(0);
    }
    expect(lines).toEqual([]);
  });

  test('an answer without a date, or with an invalid one, counts as none', () => {
    for (const date of [undefined, '', 'yesterday']) skew.observe(date, now, now);
    expect(skew.seconds).toBe(0);
  });
});
