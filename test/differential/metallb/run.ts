import { randomInt } from 'node:crypto';
import { differences } from './differences.ts';
import { Judge } from './judge.ts';
import { startHerald, startMetalLB } from './sides.ts';

export interface RunOptions {
  readonly seed: number | undefined;
  readonly seeds: number | undefined;
  readonly seconds: number;
  readonly steps: number;
}

/** Compares Herald's controller with MetalLB's. Prints the differences and the totals, and returns the exit status. */
export async function judgeByMetalLB({ seed, seeds, seconds, steps }: RunOptions): Promise<number> {
  // The programs do not keep this process alive.
  const alive = setInterval(() => undefined, 60_000);
  const [metallb, herald] = await Promise.all([startMetalLB(), startHerald()]);
  const used = new Map(differences.map(({ row }) => [row, 0]));
  const totals = { seeds: 0, failed: 0, compared: 0 };
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  try {
    const judge = new Judge(metallb, herald);
    const end = performance.now() + seconds * 1_000;
    const first = seed ?? randomInt(2 ** 31);
    const count = seeds ?? (seed === undefined ? Number.POSITIVE_INFINITY : 1);
    for (let index = 0; index < count && !interrupted.signal.aborted; index++) {
      if (seeds === undefined && index > 0 && performance.now() > end) break;
      const current = (first + index) >>> 0;
      const { compared, intended, problems } = await judge.run(current, steps);
      for (const row of intended) used.set(row, (used.get(row) ?? 0) + 1);
      totals.seeds++;
      totals.compared += compared;
      if (problems.length > 0) totals.failed++;
      console.log(
        `seed ${current}: ${problems.length === 0 ? 'as MetalLB' : `${problems.length} differences`}, ${intended.length} intended`,
      );
      for (const problem of problems.slice(0, 5)) console.log(`\nseed ${current}, ${problem}`);
    }
  } finally {
    await Promise.all([metallb.stop(), herald.stop()]);
    clearInterval(alive);
  }
  console.log(`${totals.seeds} seeds, ${totals.compared} outcomes; intended differences:`);
  for (const [row, times] of used) console.log(`  ${times}: ${row}`);
  console.log(`${totals.seeds - totals.failed} passed, ${totals.failed} failed`);
  return totals.failed > 0 || totals.seeds === 0 ? 1 : 0;
}
