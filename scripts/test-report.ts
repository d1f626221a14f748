/**
 * What vitest's JSON report says of a run, and what two runs of the same tests say together.
 *
 * Suites with real routers, kernels and API servers meet what unit tests never do: a machine that others keep busy. A test of
 * theirs that fails is run once more, alone with its file. What passes then is no failure of the change at hand, and no success
 * either: it is told as unsteady, with how it failed, in the last lines of the run.
 */

/** The part that is read of what `vitest --reporter=json` writes. */
export interface Report {
  readonly testResults: readonly {
    /** The file, as an absolute path. */
    readonly name: string;
    readonly status: string;
    /** Why the file failed as a whole: it did not load, or a hook threw. */
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

export interface Failure {
  /** As an absolute path. */
  readonly file: string;
  /** Of the test with the suites that it is in; empty where the file failed as a whole. */
  readonly test: string;
  /** Why, with its stack. */
  readonly message: string;
}

export interface Verdict {
  readonly passed: number;
  /** Failed, and did not pass the second time where there was one. */
  readonly failed: readonly Failure[];
  /** Failed one time and passed the other. */
  readonly unsteady: readonly Failure[];
}

/** Lines that are shown of one failure, and failures that are shown of one suite: CI keeps the end of what is printed. */
const mostLines = 12;
const mostFailures = 10;

export function verdictOf(report: Report): Verdict {
  const passed = report.testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === 'passed').length;
  return { passed, failed: report.testResults.flatMap(failuresOf), unsteady: [] };
}

/** What holds after the files of the failures were run again. Without a second report (it crashed) nothing is forgiven. */
export function afterSecondRun(first: Verdict, second: Report | undefined): Verdict {
  if (second === undefined) return first;
  const forgiven = first.failed.filter((failure) => passes(failure, second));
  const failed = first.failed.filter((failure) => !forgiven.includes(failure));
  const tests = forgiven.filter(({ test }) => test !== '').length;
  const known = new Set(first.failed.map(idOf));
  const fresh = verdictOf(second).failed.filter((failure) => !known.has(idOf(failure)));
  // Beside a test that failed, the first report does not say whether a hook did: one that fails the second time may have failed both times.
  const [whole, single] = [fresh.filter(({ test }) => test === ''), fresh.filter(({ test }) => test !== '')];
  return { passed: first.passed + tests, failed: [...failed, ...whole], unsteady: [...forgiven, ...single] };
}

/** The lines that say what failed, for the end of a run; none where nothing did. `name`: what a file is called there. */
export function* recap({ failed, unsteady }: Verdict, name: (file: string) => string): Iterable<string> {
  const all = [...failed.map((failure) => ['failed', failure] as const), ...unsteady.map((failure) => ['unsteady', failure] as const)];
  for (const [kind, failure] of all.slice(0, mostFailures)) {
    const test = failure.test === '' ? 'the file as a whole' : failure.test;
    yield `${kind}: ${name(failure.file)}: ${test}${kind === 'unsteady' ? ' (of two runs one passed)' : ''}`;
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
