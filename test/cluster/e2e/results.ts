import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const setUps = ['in-place', 'beside-nftables', 'beside-iptables', 'kube-proxy'] as const;
export type SetUpName = (typeof setUps)[number];

export interface TestResult {
  /** Without "[sig-network] ". */
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** The first line of the failure, or why the test skipped itself. */
  readonly reason?: string;
}

/** The results of one set-up and one minor. */
export interface Results {
  /** "v1.36.2" */
  readonly kubernetes: string;
  /** The kernel of the nodes: "6.18.44" */
  readonly kernel: string;
  /** "2026-11-23": the day of the last run. */
  readonly date: string;
  /** Sorted by name. */
  readonly tests: readonly TestResult[];
}

/** What the page is generated from. */
export const storedResults = join(import.meta.dirname, 'results');

/** The file of a set-up: the whole suite on the newest minor, and the short list on another minor. */
export function resultsFile(directory: string, setUp: SetUpName, shortOfMinor?: string): string {
  return join(directory, `${setUp}${shortOfMinor === undefined ? '' : `-short-${shortOfMinor}`}.json`);
}

export function readResults(file: string): Results | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : undefined;
}

/** Writes one test a line. Tests of the file that did not run now keep their results. */
export function mergeResults(file: string, results: Results): void {
  const tests = new Map([...(readResults(file)?.tests ?? []), ...results.tests].map((test) => [test.name, test]));
  const sorted = [...tests.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const { tests: _, ...head } = results;
  const lines = sorted.map((test) => `    ${JSON.stringify(test)}`);
  const text = `${JSON.stringify(head, undefined, 2).slice(0, -2)},\n  "tests": [\n${lines.join(',\n')}\n  ]\n}\n`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
