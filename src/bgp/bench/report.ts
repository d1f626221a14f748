import type { FailedRow } from '../../../test/bench/runner/attempts.ts';
import { conditionLines, type Conditions } from '../../../test/bench/runner/conditions.ts';
import type { Run } from './measure.ts';
import type { SingleChange } from './single-change.ts';
import { median } from '../../../test/bench/runner/statistics.ts';

export interface Results {
  readonly conditions: Conditions;
  readonly contenders: readonly { readonly name: string; readonly version: string; readonly how: string }[];
  readonly rounds: number;
  /** Idle memory in MB, by sender. */
  readonly idle: Readonly<Record<string, number>>;
  readonly runs: readonly Run[];
  readonly singleChange: SingleChange | undefined;
  readonly failed: readonly FailedRow[];
}

/** Renders the results as Markdown tables, which the documentation includes as they are. `failed`: a line for each row that could not be measured. */
export function report(results: Results, failed: readonly string[]): string {
  const { contenders, runs, rounds, idle, singleChange } = results;
  const lines = [
    conditionLines(results.conditions),
    `${rounds} ${rounds === 1 ? 'round' : 'rounds'}; minimum / median.`,
    ...failed,
    '',
    '| prefixes | sender | announce, ms | withdraw, ms | CPU announce, ms | CPU withdraw, ms | memory above idle, MB | UPDATEs |',
    '|---:|---|---:|---:|---:|---:|---:|---:|',
  ];
  const sizes = [...new Set(runs.map(({ size }) => size))].toSorted((a, b) => a - b);
  for (const size of sizes) {
    for (const { name } of contenders) {
      const mine = runs.filter((run) => run.sender === name && run.size === size);
      if (mine.length === 0) continue;
      const both = (figure: (run: Run) => number): string => {
        const all = mine.map(figure);
        return `${number(Math.min(...all))} / ${number(median(all))}`;
      };
      const above = (run: Run): number => run.memory - (idle[name] ?? 0);
      const had = Math.min(...mine.map(({ count }) => count));
      const figures = [
        had < size ? `${size} (${had})` : `${size}`,
        name,
        both((run) => run.announce),
        both((run) => run.withdraw),
        both((run) => run.processorAnnounce),
        both((run) => run.processorWithdraw),
        both(above),
        `${Math.min(...mine.map(({ updates }) => updates))}`,
      ];
      lines.push(`| ${figures.join(' | ')} |`);
    }
  }
  lines.push('');
  for (const { name, version, how } of contenders) lines.push(`- ${name} ${version}: ${how}. Idle: ${number(idle[name] ?? 0)} MB.`);
  if (singleChange !== undefined) {
    const { prefixes, changes, p50, p99, maximum } = singleChange;
    lines.push(
      '',
      `One change of ${prefixes} prefixes, from routes.update to the socket of the peer: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ` +
        `maximum ${maximum.toFixed(2)} ms (${changes} changes).`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function number(value: number): string {
  return Math.abs(value) < 10 ? value.toFixed(1) : String(Math.round(value));
}
