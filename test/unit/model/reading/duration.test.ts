import { describe, expect, test } from 'vitest';
import { parseDuration } from '../../../../src/model/reading/duration.ts';

describe('duration', () => {
  test.each([
    ['90s', 90],
    ['1m30s', 90],
    ['1.5h', 5400],
    ['500ms', 0.5],
    ['0', 0],
    ['0s', 0],
  ])('%s is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: seconds });
  });

  test.each([[''], ['90'], ['-1s'], ['s'], ['1 s'], ['1s '], ['1d'], ['1s30'], ['.'], ['1e3s']])('"%s" is refused', (text) => {
    expect(parseDuration(text).ok).toBe(false);
  });
});
