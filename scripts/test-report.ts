/**
 * Reads vitest's JSON reports and combines two runs of the same tests into one verdict.
 *
 * Suites with real routers, kernels and API servers depend on how busy the machine is. A failed test of such a suite is therefore run once
 * more, together with its file. A test that passes then does not fail the run, but it is not simply passed either: the last lines of the
 * run name it as unsteady, with the message of its failure.
 */

/** The part of `vitest --reporter=json` output that is read. */
export interface Report {
  readonly testResults: readonly {
    /** The absolute path of the file. */
    readonly name: string;
    readonly status: string;
    /** The reason why the whole file failed: it did not load, or a hook threw. */
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

export interface Failure {
  /** The absolute path of the file. */
  readonly file: string;
  /** The title of the test with its suites. Empty when the whole file failed. */
  readonly test: string;
  /** The failure message with its stack. */
  readonly message: string;
}

export interface Verdict {
  readonly passed: number;
  /** Tests that failed, also in the second run when there was one. */
  readonly failed: readonly Failure[];
  /** Tests that failed once and passed once. */
  readonly unsteady: readonly Failure[];
}

/** Lines shown of one failure, and failures shown of one suite. Bounded because CI keeps only the end of the output. */
const mostLines = 12;
const mostFailures = 10;

export function verdictOf(report: Report): Verdict {
  const passed = report.testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === 'passed').length;
  return { passed, failed: report.testResults.flatMap(failuresOf), unsteady: [] };
}

/** Returns the verdict after the failed files were run again. Without a second report (the run crashed) every failure stays. */
export function afterSecondRun(first: Verdict, second: Report | undefined): Verdict {
  if (second === undefined) return first;
  const forgiven = first.failed.filter((failure) => passes(failure, second));
  const failed = first.failed.filter((failure) => !forgiven.includes(failure));
  const tests = forgiven.filter(({ test }) => test !== '').length;
  const known = new Set(first.failed.map(idOf));
  const fresh = verdictOf(second).failed.filter((failure) => !known.has(idOf(failure)));
  // A file with a failed test does not report a failed hook. A hook that fails the second time may have failed both times, so it is a
  // failure.
  const [whole, single] = [fresh.filter(({ test }) => test === ''), fresh.filter(({ test }) => test !== '')];
  return { passed: first.passed + tests, failed: [...failed, ...whole], unsteady: [...forgiven, ...single] };
}

/**
 * Returns the lines about failed and unsteady tests for the end of a run. Empty when there are none. `name` returns the shown name of a
 * file.
 */
export function* recap({ failed, unsteady }: Verdict, name: (file: string) => string): Iterable<string> {
  const all = [...failed.map((failure) => ['failed', failure] as const), ...unsteady.map((failure) => ['unsteady', failure] as const)];
  for (const [kind, failure] of all.slice(0, mostFailures)) {
    const test = failure.test === '' ? 'the file as a whole' : failure.test;
    yield `${kind}: ${name(failure.file)}: ${test}${kind === 'unsteady' ? ' (one of two runs passed)' : ''}`;
    const lines = failure.message.split('\n').filter((line) => !line.includes('/node_modules/'));
    for (const line of lines.slice(0, mostLines)) yield `    ${line}`;
  }
  if (all.length > mostFailures) yield `and ${all.length - mostFailures} more`;
}

function failuresOf(file: Report['testResults'][number]): Failure[] {
  const failures = file.assertionResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages = [] }) => ({ file: file.name, test: fullName, message: failureMessages.join('\n') }));
  if (failures.length > 0 || file.status !== 'failed') return failures;
  return [{ file: file.name, test: '', message: file.message ?? '' }];
}

function idOf({ file, test }: Failure): string {
  return `${file}\0${test}`;
}

function passes({ file, test }: Failure, report: Report): boolean {
  const again = report.testResults.find(({ name }) => name === file);
  if (again === undefined) return false;
  if (test === '') return again.status === 'passed';
  return again.assertionResults.some(({ fullName, status }) => fullName === test && status === 'passed');
}
