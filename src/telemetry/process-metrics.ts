import { collectDefaultMetrics } from 'prom-client';
import type { Cancel, Clock } from '../system/clock.ts';
import { lagFigures, measureEventLoopLag } from './event-loop-lag.ts';
import type { Metrics } from './metrics.ts';

/** A metric of the registry, under the library's names that dashboards for Node.js know. */
interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** The longest interval that Node's monitor of the event loop takes: it never wakes the process. */
const never = 2 ** 31 - 1;

/**
 * Metrics of the library that are left out: gauges that are called counters and older spellings of other metrics. They repeat what the
 * others tell, and some read every open socket. The lag of the event loop is measured here at less cost.
 */
const leftOut = [
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_version_info',
  'nodejs_eventloop_lag_seconds',
  ...Object.keys(lagFigures),
];

/**
 * Registers metrics of this process: memory, processor time, delay of the event loop and garbage collection. Returns a function that ends
 * the measurement of the event loop.
 */
export function registerProcessMetrics({ registry }: Metrics, clock: Clock): Cancel {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: never });
  for (const name of leftOut) registry.removeSingleMetric(name);
  return measureEventLoopLag(registry, clock);
}

/** Returns all metrics of a scrape in its order. */
export function registeredMetrics({ registry }: Metrics): RegisteredMetric[] {
  // The library's types lack `type`, though every metric has it.
  return registry
    .getMetricsAsArray()
    .map((metric) => ({ name: metric.name, type: (metric as unknown as { readonly type: string }).type, help: metric.help }));
}
