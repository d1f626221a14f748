/** The declaration of one metric. The tables are the reference: a process exposes no metric that is in none of them. */
export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for the scrape and for docs/reference/metrics.md. */
  readonly help: string;
  /** The values of each label: a bounded set, never names of Services. */
  readonly labels: Readonly<Record<string, string>>;
  /** The processes that have the metric. */
  readonly of: 'all' | 'agent' | 'controller';
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, MetricDeclaration>>;

/** The names of the metrics of a type. */
export type NamesOf<T extends MetricTable, K> = { [N in keyof T & string]: T[N]['type'] extends K ? N : never }[keyof T & string];

/** The labels of a metric with their values. */
export type LabelsIn<T extends MetricTable, N extends keyof T> = { readonly [L in keyof T[N]['labels']]: string };

/** Counts into the metrics of one table. */
export interface Meter<T extends MetricTable> {
  add<N extends NamesOf<T, 'counter'>>(name: N, labels: LabelsIn<T, N>, by?: number): void;
  set<N extends NamesOf<T, 'gauge'>>(name: N, labels: LabelsIn<T, N>, value: number): void;
  observe<N extends NamesOf<T, 'histogram'>>(name: N, labels: LabelsIn<T, N>, seconds: number): void;
}

type Labels<L extends string> = Readonly<Record<L, string>>;

/** Returns functions that declare the metrics of some processes, each by its help and, if it has labels, their values. */
export function metricsOf(of: MetricDeclaration['of']) {
  return {
    counter: <L extends string = never>(help: string, labels = {} as Labels<L>) => ({ type: 'counter', help, labels, of }) as const,
    gauge: <L extends string = never>(help: string, labels = {} as Labels<L>) => ({ type: 'gauge', help, labels, of }) as const,
    histogram: <L extends string = never>(help: string, buckets: readonly number[], labels = {} as Labels<L>) =>
      ({ type: 'histogram', help, labels, of, buckets }) as const,
  };
}

/** From a millisecond to half a minute, doubling. kube-proxy has these buckets for its passes. */
export const passBuckets = doubling(0.001, 15);

/** From a tenth of a millisecond to a minute and a half, doubling: work in memory is quick, work that waits for others may not be. */
export const workBuckets = doubling(0.0001, 20).map((bound) => Number(bound.toPrecision(6)));

function doubling(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, step) => first * 2 ** step);
}
