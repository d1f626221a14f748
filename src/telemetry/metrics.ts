import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricDeclaration } from './declaration.ts';
import { limits } from './limits.ts';
import { metricTable, type CounterName, type GaugeName, type HistogramName, type LabelsOf, type MetricName } from './metric-table.ts';

/** Sets one value of a part of the scrape. */
export type Put<N extends MetricName> = <M extends N>(name: M, labels: LabelsOf<M>, value: number) => void;

interface Part {
  readonly name: string;
  readonly metrics: readonly (CounterName | GaugeName)[];
  readonly read: (put: Put<CounterName | GaugeName>) => void | Promise<void>;
}

/**
 * The metrics of a process, by the names and labels of the table. What happens is counted when it happens (`add`, `observe`); what is
 * known anyway is read when somebody scrapes (`part`), so that it costs nothing otherwise. What nobody fills is not exposed.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #made = new Map<MetricName, Counter | Gauge | Histogram>();
  readonly #bounds = new Map<MetricName, SeriesBound>();
  readonly #parts: Part[] = [];
  #scrape: Promise<string> | undefined;
  readonly #within: (work: Promise<void>) => Promise<boolean>;

  /** `within` resolves to whether the work was done in time (`inTime`). It never rejects: what fails was not. */
  constructor(within: (work: Promise<void>) => Promise<boolean> = done) {
    this.#within = within;
    this.describe('herald_scrape_failures_total', 'herald_series_dropped_total');
  }

  /** For what is not in the table: the figures of the process, by the library's own names. */
  get registry(): Registry {
    return this.#registry;
  }

  /** Exposes metrics before they have a value; those without labels begin at 0. */
  describe(...names: readonly MetricName[]): void {
    for (const name of names) this.#metric(name);
  }

  add<N extends CounterName>(name: N, labels: LabelsOf<N>, by = 1): void {
    (this.#metric(name) as Counter).inc(this.#bounded(name, labels), by);
  }

  set<N extends GaugeName>(name: N, labels: LabelsOf<N>, value: number): void {
    (this.#metric(name) as Gauge).set(this.#bounded(name, labels), value);
  }

  observe<N extends HistogramName>(name: N, labels: LabelsOf<N>, seconds: number): void {
    (this.#metric(name) as Histogram).observe(this.#bounded(name, labels), Math.max(0, seconds));
  }

  /**
   * Metrics that `read` fills anew at each scrape, each with the values it has then; a series that is not put is gone. `name` is for
   * herald_scrape_failures_total. The result ends it.
   */
  addCollector<N extends CounterName | GaugeName>(
    name: string,
    metrics: readonly N[],
    read: (put: Put<N>) => void | Promise<void>,
  ): () => void {
    const part: Part = { name, metrics, read };
    this.#parts.push(part);
    this.describe(...metrics);
    return () => {
      this.#parts.splice(this.#parts.indexOf(part), 1);
      for (const metric of metrics) this.#clear(metric);
    };
  }

  /** In the text format 0.0.4 of Prometheus. Two who ask at the same time get the same. */
  text(): Promise<string> {
    this.#scrape ??= this.#read().finally(() => (this.#scrape = undefined));
    return this.#scrape;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async #read(): Promise<string> {
    await Promise.all(this.#parts.map((part) => this.#readPart(part)));
    return this.#registry.metrics();
  }

  async #readPart(part: Part): Promise<void> {
    for (const metric of part.metrics) this.#clear(metric);
    let isOver = false;
    const put = (name: CounterName | GaugeName, labels: Readonly<Record<string, string>>, value: number): void => {
      if (isOver) return;
      const bounded = this.#bounded(name, labels);
      const metric = this.#metric(name);
      if (metric instanceof Counter) metric.inc(bounded, value);
      else (metric as Gauge).set(bounded, value);
    };
    // An error in what is told of must not stop what is done.
    const read = async (): Promise<void> => part.read(put);
    const inTime = await this.#within(read());
    isOver = true;
    if (!inTime) this.add('herald_scrape_failures_total', { part: part.name });
  }

  #clear(name: MetricName): void {
    (this.#metric(name) as Gauge).reset();
    this.#bounds.delete(name);
  }

  #bounded(name: MetricName, labels: Readonly<Record<string, string>>): Record<string, string> {
    let bound = this.#bounds.get(name);
    if (bound === undefined) this.#bounds.set(name, (bound = new SeriesBound(limits.series)));
    if (bound.admits(labels)) return labels;
    if (name !== 'herald_series_dropped_total') this.add('herald_series_dropped_total', { metric: name });
    return Object.fromEntries(Object.keys(labels).map((label) => [label, 'other']));
  }

  #metric(name: MetricName): Counter | Gauge | Histogram {
    const present = this.#made.get(name);
    if (present !== undefined) return present;
    const made = make(name, metricTable[name], this.#registry);
    this.#made.set(name, made);
    return made;
  }
}

function make(name: string, { type, help, labels, buckets = [] }: MetricDeclaration, registry: Registry): Counter | Gauge | Histogram {
  const configuration = { name, help, labelNames: Object.keys(labels), registers: [registry] };
  switch (type) {
    case 'counter':
      return new Counter(configuration);
    case 'gauge':
      return new Gauge(configuration);
    case 'histogram':
      return new Histogram({ ...configuration, buckets: [...buckets] });
  }
}

function done(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** How many series a metric may have: whoever could make up labels must not be able to fill the memory. */
class SeriesBound {
  readonly #most: number;
  readonly #seen = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the series is there already, or there is room for it. */
  admits(labels: Readonly<Record<string, string>>): boolean {
    const values = Object.values(labels);
    const [only = ''] = values;
    const series = values.length < 2 ? only : values.join('\u0000');
    if (this.#seen.has(series)) return true;
    if (this.#seen.size >= this.#most) return false;
    this.#seen.add(series);
    return true;
  }
}
