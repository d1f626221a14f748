/** What one metric is. The table of all of them is the reference: nothing is exposed that is not in it. */
export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for the scrape and for docs/reference/metrics.md. */
  readonly help: string;
  /** By name, what its values are: a bounded set, never the name of a Service. */
  readonly labels: Readonly<Record<string, string>>;
  /** Which process has it. */
  readonly of: 'all' | 'agent' | 'controller';
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, MetricDeclaration>>;

/** From a millisecond to half a minute, each twice the one before; kube-proxy has these for its passes. */
export const passBuckets = doubling(0.001, 15);

/** From a tenth of a millisecond to a minute and a half: what is in memory is quick, what waits for others may not be. */
export const workBuckets = doubling(0.0001, 20).map((bound) => Number(bound.toPrecision(6)));

function doubling(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, step) => first * 2 ** step);
}
