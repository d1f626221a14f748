import type { TestResult } from './results.ts';

/** The part of Ginkgo's JSON report (types.Report) that is used. */
interface GinkgoReport {
  readonly SpecReports: readonly SpecReport[] | null;
}

interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** In nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

const group = '[sig-network] ';

/** Longer reasons end with "…". */
const reasonLength = 200;

/**
 * Reads Ginkgo's JSON report. Tests that the focus or the skip expression left out, or that did not end before an interrupt, are not in the result; a
 * test that skipped itself has a message in the report and is.
 */
export function resultsIn(text: string): TestResult[] {
  const reports = JSON.parse(text) as readonly GinkgoReport[];
  return reports.flatMap(({ SpecReports }) => (SpecReports ?? []).flatMap(resultOf));
}

function resultOf(report: SpecReport): TestResult[] {
  if (report.LeafNodeType !== 'It') return [];
  const message = report.Failure?.Message ?? '';
  if (['pending', 'interrupted'].includes(report.State) || (report.State === 'skipped' && message === '')) return [];
  const name = [...(report.ContainerHierarchyTexts ?? []), report.LeafNodeText].join(' ').replace(group, '');
  const result = report.State === 'passed' || report.State === 'skipped' ? report.State : 'failed';
  const seconds = Math.round(report.RunTime / 1e9);
  return [{ name, result, seconds, ...(result === 'passed' ? {} : { reason: shortened(message === '' ? report.State : message) }) }];
}

function shortened(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > reasonLength ? `${line.slice(0, reasonLength - 1)}…` : line;
}
