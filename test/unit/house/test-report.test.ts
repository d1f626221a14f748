import { describe, expect, it } from 'vitest';

import { afterSecondRun, recap, verdictOf, type Report } from '../../../scripts/test-report.ts';

type Tests = Readonly<Record<string, 'passed' | 'failed' | 'skipped'>>;

/** A report about one file, `/root/a.test.ts`. */
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

describe('the verdict on a test run', () => {
  it('passed tests are counted, and failed tests are named with their message', () => {
    const verdict = verdictOf(reportOf({ one: 'passed', two: 'failed', three: 'skipped' }));
    expect(verdict.passed).toBe(1);
    expect(verdict.failed).toEqual([{ file: '/root/a.test.ts', test: 'two', message: 'two is wrong' }]);
  });

  it('a file that does not load is a failure', () => {
    expect(verdictOf(reportOf({}, 'no such module')).failed).toEqual([{ file: '/root/a.test.ts', test: '', message: 'no such module' }]);
  });

  it('a test that passes the second time counts as passed and is reported as unsteady', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'passed', two: 'failed' })), reportOf({ one: 'passed', two: 'passed' }));
    expect(both).toMatchObject({ passed: 2, failed: [] });
    expect(namesOf(both.unsteady)).toEqual(['two']);
  });

  it('a test that fails twice or is missing in the second run stays failed', () => {
    const first = verdictOf(reportOf({ one: 'failed', two: 'failed' }));
    expect(namesOf(afterSecondRun(first, reportOf({ one: 'failed', two: 'skipped' })).failed)).toEqual(['one', 'two']);
    expect(namesOf(afterSecondRun(first, reportOf({})).failed)).toEqual(['one', 'two']);
    expect(namesOf(afterSecondRun(first, undefined).failed)).toEqual(['one', 'two']);
  });

  it('a test that fails only the second time is reported as unsteady', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'passed', two: 'failed' })), reportOf({ one: 'failed', two: 'passed' }));
    expect(both).toMatchObject({ passed: 2, failed: [] });
    expect(namesOf(both.unsteady)).toEqual(['two', 'one']);
  });

  it('a hook that fails the second time is a failure, because the first report does not show hooks', () => {
    const both = afterSecondRun(verdictOf(reportOf({ one: 'failed' })), reportOf({ one: 'passed' }, 'a hook threw'));
    expect(namesOf(both.failed)).toEqual(['']);
    expect(namesOf(both.unsteady)).toEqual(['one']);
  });

  it('a file that loads the second time is forgiven and counts as no test', () => {
    const both = afterSecondRun(verdictOf(reportOf({}, 'a hook threw')), reportOf({ one: 'passed' }));
    expect(both).toMatchObject({ passed: 0, failed: [] });
  });

  it('the recap shows the first lines of each failure and counts failures beyond the bound', () => {
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
      'unsteady: a.test.ts: late (one of two runs passed)',
      '    timed out',
    ]);
  });
});
