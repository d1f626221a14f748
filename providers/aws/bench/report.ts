import type { Result } from './measure.ts';

/** Prints a table, and the requests by action. */
export function print(results: readonly Result[], idleSeconds: number): void {
  const columns = ['Services', 'throttled', 'controller', 'first, median, last host name', 'late', 'requests per Service', 'refused'];
  console.log(`\n| ${[...columns, `of these in ${idleSeconds} s after`, 'peak RSS', 'CPU', 'moto busy', 'load'].join(' | ')} |`);
  console.log('|---:|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|');
  for (const one of results) {
    const times = [one.first, one.median, one.last].map(seconds).join(', ');
    const missing = one.published === one.services ? '' : ` (${one.services - one.published} missing)`;
    const cells = [
      `${one.services}${one.late ? ' + 1' : ''}`,
      one.throttled ? 'yes' : 'no',
      one.contender,
      `${times}${missing}`,
      one.late ? seconds(one.lateTime) : '-',
      one.perService.toFixed(1),
      one.refused,
      one.idle,
      `${one.peakMegabytes.toFixed(0)} MB`,
      seconds(one.cpu),
      `${Math.round(one.motoBusy * 100)} %`,
      one.load.toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  for (const one of results) {
    console.log(`\n${one.contender}, ${one.services} Services${one.throttled ? ', throttled' : ''}: ${actions(one.byAction)}`);
    if (one.idle > 0) console.log(`  in ${idleSeconds} s after: ${actions(one.idleByAction)}`);
  }
}

function seconds(time: number): string {
  return `${time.toFixed(1)} s`;
}

function actions(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([action, count]) => `${action} ${count}`)
    .join(', ');
}
