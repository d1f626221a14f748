import { quantile } from '../bgp/statistics.ts';
import type { Times } from './results.ts';

export function timesOf(milliseconds: readonly number[]): Times {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const rounded = (q: number): number => Math.round(quantile(sorted, q) * 10) / 10;
  return { p50: rounded(0.5), p99: rounded(0.99), count: sorted.length };
}
