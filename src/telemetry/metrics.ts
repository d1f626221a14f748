import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import assert from 'node:assert';
import type { MetricDeclaration, Meter, MetricTable } from './declaration.ts';
import { limits } from './limits.ts';
import { metricTable, type CounterName, type GaugeName, type HistogramName, type LabelsOf, type MetricName } from './metric-table.ts';

/** Sets one value of a collector's metrics. */
export type Put<N extends MetricName> = <M extends N>(name: M, labels: LabelsOf<M>, value: number) => void;

interface Collector {
  readonly name: string;
  readonly metrics: readonly (CounterName | GaugeName)[];
  readonly read: (put: Put<CounterName | GaugeName>) => void | Promise<void>;
}

/**
 * The metrics of a process, with the names and labels of the table. Events are counted when they happen (`add`, `observe`); values that
 * exist anyway are read at a scrape (`addCollector`), so that they cost nothing otherwise. Metrics without a value are not exposed.
 */
export class Metrics {
  readonly #registry = new Registry();
  /** The declared metrics. */
  readonly #table = new Map<string, MetricDeclaration>(Object.entries(metricTable));
  readonly #made = new Map<string, Counter | Gauge | Histogram>();
  readonly #bounds = new Map<string, SeriesBound>();
  readonly #collectors: Collector[] = [];
  #scrape: Promise<string> | undefined;
  readonly #within: (work: Promise<void>) => Promise<boolean>;

  /** `within` resolves to true if the work ended in time (`collectWithTimeout`). It never rejects: failed work resolves to false. */
  constructor(within: (work: Promise<void>) => Promise<boolean> = done) {
    this.#within = within;
    this.describe('herald_scrape_failures_total', 'herald_series_dropped_total');
  }

  /** For metrics that are not in the table: those of the process, with the library's own names. */
  get registry(): Registry {
    return this.#registry;
  }

  /** Adds a table of metrics, of a provider. Declaring it again changes nothing. */
  declare<T extends MetricTable>(table: T): Meter<T> {
    for (const [name, declaration] of Object.entries(table)) {
      const present = this.#table.get(name);
      assert(present === undefined || present === declaration, `two tables have metric ${name}`);
      this.#table.set(name, declaration);
    }
    return this as unknown as Meter<T>;
  }

  /** Exposes metrics before they have a value. Metrics without labels start at 0. */
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
   * Registers a collector: `read` sets the values of its metrics at each scrape, and a series that it does not set disappears. `name` is
   * for herald_scrape_failures_total. Returns a function that removes the collector.
   */
  addCollector<N extends CounterName | GaugeName>(
    name: string,
    metrics: readonly N[],
    read: (put: Put<N>) => void | Promise<void>,
  ): () => void {
    const collector: Collector = { name, metrics, read };
    this.#collectors.push(collector);
    this.describe(...metrics);
    return () => {
      this.#collectors.splice(this.#collectors.indexOf(collector), 1);
      for (const metric of metrics) this.#clear(metric);
    };
  }

  /** Returns the metrics in the Prometheus text format 0.0.4. Scrapes at the same time share one result. */
  text(): Promise<string> {
    this.#scrape ??= this.#read().finally(() => (this.#scrape = undefined));
    return this.#scrape;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async #read(): Promise<string> {
    await Promise.all(this.#collectors.map((collector) => this.#collect(collector)));
    return this.#registry.metrics();
  }

  async #collect(collector: Collector): Promise<void> {
    for (const metric of collector.metrics) this.#clear(metric);
    let isOver = false;
    const put = (name: CounterName | GaugeName, labels: Readonly<Record<string, string>>, value: number): void => {
      if (isOver) return;
      const bounded = this.#bounded(name, labels);
      const metric = this.#metric(name);
      if (metric instanceof Counter) metric.inc(bounded, value);
      else (metric as Gauge).set(bounded, value);
    };
    // An async function turns an exception into a rejection: an error in a collector must not stop other work.
    const read = async (): Promise<void> => collector.read(put);
    const inTime = await this.#within(read());
    isOver = true;
    if (!inTime) this.add('herald_scrape_failures_total', { part: collector.name });
  }

  #clear(name: string): void {
    (this.#metric(name) as Gauge).reset();
    this.#bounds.delete(name);
  }

  #bounded(name: string, labels: Readonly<Record<string, string>>): Record<string, string> {
    let bound = this.#bounds.get(name);
    if (bound === undefined) this.#bounds.set(name, (bound = new SeriesBound(limits.series)));
    if (bound.admits(labels)) return labels;
    if (name !== 'herald_series_dropped_total') this.add('herald_series_dropped_total', { metric: name });
    return Object.fromEntries(Object.keys(labels).map((label) => [label, 'other']));
  }

  #metric(name: string): Counter | Gauge | Histogram {
    const present = this.#made.get(name);
    if (present !== undefined) return present;
    const declaration = this.#table.get(name);
    assert(declaration !== undefined, `no table has metric ${name}`);
    const made = make(name, declaration, this.#registry);
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

/** Limits the series of a metric, so that invented label values cannot fill the memory. */
class SeriesBound {
  readonly #most: number;
  readonly #seen = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns true if the series exists or there is room for it. */
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
