import type { Outcome } from './outcome.ts';

/** The figures of a series of requests. Times are in milliseconds. */
export interface StreamFigures {
  readonly requests: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly median: number;
  readonly percentile99: number;
  readonly longest: number;
}

export function streamFigures(outcomes: readonly Outcome[]): StreamFigures {
  const begun = outcomes.map(({ at }) => at).toSorted((a, b) => a - b);
  const times = outcomes.map(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b);
  const share = (part: number): number => Math.round(10 * (times[Math.floor(part * (times.length - 1))] ?? 0)) / 10;
  const seconds = ((begun.at(-1) ?? 0) - (begun[0] ?? 0)) / 1000;
  return {
    requests: outcomes.length,
    perSecond: seconds === 0 ? 0 : Math.round((outcomes.length - 1) / seconds),
    failed: outcomes.filter(({ ok }) => !ok).length,
    median: share(0.5),
    percentile99: share(0.99),
    longest: share(1),
  };
}

export function figuresText({ requests, perSecond, failed, median, percentile99, longest }: StreamFigures): string {
  return `${requests} requests, ${perSecond} a second, ${failed} failed; ${median} ms (median), ${percentile99} ms (99 %), ${longest} ms (longest)`;
}
