import { describe, expect, test } from 'vitest';
import { withoutSelfReference } from '../../../../src/explain/text/self-reference.ts';
import { allReasons } from '../../../support/built-in-providers.ts';

/** Details in which every name is "x". */
const named = new Proxy({}, { get: () => 'x' });

/** The fixes of all reasons that can be written with names alone. */
const fixes = Object.entries(allReasons).flatMap(([code, { fix }]) => {
  try {
    return [{ code, line: `    fix: ${(fix as (details: unknown) => string)(named)}` }];
  } catch {
    return [];
  }
});

describe('an explanation', () => {
  test.each(['service', 'pool', 'peer', 'node'])('of a %s never recommends itself, whatever the reason', (subject) => {
    const command = `herald explain ${subject} x`;
    const kept = withoutSelfReference(
      fixes.map(({ line }) => line),
      command,
    );
    expect(kept.filter((line) => line.split(command).length > 1 && !line.includes(`${command}/`))).toEqual([]);
    expect(kept.length).toBeGreaterThan(50);
  });

  test('drops the fix that is the command itself', () => {
    expect(fixes.some(({ line }) => line.includes('herald explain peer x '))).toBe(true);
    expect(withoutSelfReference(['  fix: see why: herald explain peer x shows the cause'], 'herald explain peer x')).toEqual([]);
  });

  test('keeps a recommendation of another object, also one whose name is longer', () => {
    const lines = ['  fix: herald explain peer tor11 shows it', '  fix: herald explain node tor1', 'herald explain peer tor1'];
    expect(withoutSelfReference(lines, 'herald explain peer tor1')).toEqual(lines);
  });
});
