import { shortTimeouts, RecoveryBed } from '../../lab/recovery-bed.ts';
import { median } from '../runner/statistics.ts';
import { boundOf, type TermName } from './bounds.ts';
import { noDamping, type Case } from './cases.ts';

/** One measured time of one case, in milliseconds. */
export interface Row {
  readonly name: string;
  readonly what: string;
  readonly times: readonly number[];
  readonly least: number;
  readonly median: number;
  readonly most: number;
  readonly bound: number;
  readonly terms: readonly TermName[];
}

/** The client's requests during one case. `late` counts lost requests that began after the recovery. */
export interface Requests {
  readonly name: string;
  readonly sent: number;
  readonly lost: number;
  readonly late: number;
}

export interface Result {
  readonly rows: readonly Row[];
  readonly requests: readonly Requests[];
}

export async function measureRecovery(cases: readonly Case[], times: number, note: (text: string) => void): Promise<Result> {
  const bed = await RecoveryBed.start(shortTimeouts);
  const rows: Row[] = [];
  const requests: Requests[] = [];
  try {
    // Each repetition would count as a flap, and the fourth would be held back.
    await bed.herald.edit('20-herald.yaml', noDamping);
    for (const one of cases) {
      note(one.name);
      const [measured, lost] = await repeat(bed, one, Math.min(times, one.atMost ?? times));
      rows.push(...measured);
      requests.push(lost);
    }
  } finally {
    await bed.lab.stop();
  }
  return { rows, requests };
}

async function repeat(bed: RecoveryBed, one: Case, times: number): Promise<[readonly Row[], Requests]> {
  const seen: (readonly number[])[] = [];
  let [sent, lost, late] = [0, 0, 0];
  for (let time = 0; time < times; time++) {
    // The settings are changed for each repetition, because the reset clears the flap counts.
    const restore = one.settings === undefined ? undefined : await bed.withPeers(one.settings);
    const stream = bed.stream();
    seen.push(await one.run(bed));
    await bed.untilAll();
    const report = await stream.stop();
    [sent, lost, late] = [sent + report.sent, lost + report.failed, late + report.late];
    await restore?.();
  }
  const rows = one.figures.map(({ what, bound }, index) => {
    const column = seen.map((run) => run[index] ?? Number.NaN);
    const [least, most] = [Math.min(...column), Math.max(...column)];
    return { name: one.name, what, times: column, least, median: median(column), most, bound: boundOf(bound), terms: bound };
  });
  return [rows, { name: one.name, sent, lost, late }];
}
