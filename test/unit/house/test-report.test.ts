import { describe, expect, it } from 'vitest';

import { afterSecondRun, recap, verdictOf, type Report } from '../../../scripts/test-report.ts';

type Tests = Readonly<Record<string, 'passed' | 'failed' | 'skipped'>>;

/** One file, `/root/a.test.ts`. */
function reportOf(tests: Tests, message = ''): Report {
  const assertionResults = Object.entries(tests).map(([fullName, status]) => ({
    fullName,
    status,
    failureMessages: status === 'failed' ? [`${fullName} is wrong`] : [],
  }));
  const status = message !== '' || Object.values(tests).includes('failed') ? 'failed' : 'passed';
  return { testResults: [{ name: '/root/a.test.ts', status, message, assertionResults }] };
}

function namesOf(failures: readonly { test: string }[]): string[] {
  return failures.map(({ test }) => test);
}

describe('what a run of tests says at its end', () => {
  it('counts what passed, and knows what failed and why', () => {
    const verdict = verdictOf(reportOf({ one: 'passed', two: 'failed', three: 'skipped' }));
    expect(verdict.passed).toBe(1);
    expect(verdict.failed).toEqual([{ file: '/root/a.test.ts', test: 'two', message: 'two is wrong' }]);
  });

  it('knows a file that did not load', () => {
    expect(verdictOf(reportOf({}, 'no such module')).failed).toEqual([{ file: '/root/a.test.ts', test: '', message: 'no such module' }]);
  });

  it('counts a test that passes the second time as passed, and tells of it', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'passed', two: 'failed' })), reportOf({ one: 'passed', two: 'passed' }));
    expect(both).toMatchObject({ passed: 2, failed: [] });
    expect(namesOf(both.unsteady)).toEqual(['two']);
  });

  it('forgives nothing that fails twice, or that the second run does not have', () => {
    const first = verdictOf(reportOf({ one: 'failed', two: 'failed' }));
    expect(namesOf(afterSecondRun(first, reportOf({ one: 'failed', two: 'skipped' })).failed)).toEqual(['one', 'two']);
    expect(namesOf(afterSecondRun(first, reportOf({})).failed)).toEqual(['one', 'two']);
    expect(namesOf(afterSecondRun(first, undefined).failed)).toEqual(['one', 'two']);
  });

  it('tells of a test that fails the second time only', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'passed', two: 'failed' })), reportOf({ one: 'failed', two: 'passed' }));
    expect(both).toMatchObject({ passed: 2, failed: [] });
    expect(namesOf(both.unsteady)).toEqual(['two', 'one']);
  });

  it('does not forgive a hook that fails the second time: beside a failed test nobody knows whether it failed the first time', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'failed' })), reportOf({ one: 'passed' }, 'a hook threw'));
    expect(namesOf(both.failed)).toEqual(['']);
    expect(namesOf(both.unsteady)).toEqual(['one']);
  });

  it('forgives a file that loads the second time, without counting it as a test', () => {
    const both = afterSecondRun(verdictOf(reportOf({}, 'a hook threw')), reportOf({ one: 'passed' }));
    expect(both).toMatchObject({ passed: 0, failed: [] });
  });

  it('names each failure with the first lines of its reason, and says how many more there are', () => {
    const failed = Array.from({ length: 12 }, (_, index) => ({
      file: '/root/a.test.ts',
      test: `test ${index}`,
      message: 'x\n'.repeat(40),
    }));
    const unsteady = [{ file: '/root/a.test.ts', test: 'late', message: 'timed out' }];
    const lines = [...recap({ passed: 0, failed, unsteady }, (file) => file.slice('/root/'.length))];
    expect(lines[0]).toBe('failed: a.test.ts: test 0');
    expect(lines.filter((line) => line.startsWith('failed: '))).toHaveLength(10);
    expect(lines.at(-1)).toBe('and 3 more');
    expect(lines.length).toBeLessThan(150);
    expect([...recap({ passed: 0, failed: [], unsteady }, () => 'a.test.ts')]).toEqual([
      'unsteady: a.test.ts: late (of two runs one passed)',
      '    timed out',
    ]);
  });
});
