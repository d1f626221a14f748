import type { Mutant } from './mutants.ts';
import type { Verdict } from './trial.ts';

export interface Tried {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

export interface RoomReport {
  readonly room: string;
  /** The share of mutants that something detects which should be reached, in percent. */
  readonly goal: number;
  /** The number of all mutants of the room, from which the sample was taken. */
  readonly mutants: number;
  readonly tried: readonly Tried[];
}

const verdicts = ['killed', 'types', 'timeout', 'survived', 'untested'] as const satisfies readonly Verdict[];

/** Returns the percentage of mutants that a test or the compiler detects. */
export function score({ tried }: Pick<RoomReport, 'tried'>): number {
  const missed = tried.filter(({ verdict }) => verdict === 'survived' || verdict === 'untested').length;
  return tried.length === 0 ? 100 : (100 * (tried.length - missed)) / tried.length;
}

/** Returns how far the score of all mutants may be from that of the sample, in percentage points: two standard errors. */
function margin(report: RoomReport): number {
  const { tried, mutants } = report;
  if (tried.length >= mutants) return 0;
  const share = score(report) / 100;
  return 200 * Math.sqrt((share * (1 - share)) / tried.length);
}

/** True when the room is below its goal, and not only by the chance of the sample. */
export function missesGoal(report: RoomReport): boolean {
  return score(report) + margin(report) < report.goal;
}

/** Renders a table of the rooms, and each mutant that nothing detects. */
export function reportText(rooms: readonly RoomReport[]): string {
  const lines = [
    `| room | mutants | sample | ${verdicts.join(' | ')} | score | goal |`,
    `|---|---:|---:|${'---:|'.repeat(verdicts.length)}---:|---:|`,
  ];
  for (const report of rooms) {
    const counts = verdicts.map((verdict) => report.tried.filter((one) => one.verdict === verdict).length);
    lines.push(
      `| ${[report.room, report.mutants, report.tried.length, ...counts, `${score(report).toFixed(0)} ± ${margin(report).toFixed(0)} %`, `${report.goal} %`].join(' | ')} |`,
    );
  }
  for (const { tried } of rooms)
    for (const { mutant, verdict } of tried.filter((one) => one.verdict === 'survived' || one.verdict === 'untested'))
      lines.push(`${lines.at(-1)?.startsWith('|') ? '\n' : ''}${verdict}: ${mutant.file}:${mutant.line}: ${mutant.change}`);
  return `${lines.join('\n')}\n`;
}
