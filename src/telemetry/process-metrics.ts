import { collectDefaultMetrics } from 'prom-client';
import type { Metrics } from './metrics.ts';

/** What the library tells of the process itself, by names that dashboards for Node.js know. */
interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/**
 * Gauges that are called counters, and an older spelling of others: they say nothing that is not in the rest, and some cost a look
 * at each open socket.
 */
const leftOut = [
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_version_info',
];

/** Exposes memory, processor time, delay of the event loop and garbage collection of this process. */
export function registerProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry });
  for (const name of leftOut) registry.removeSingleMetric(name);
}

/** Everything that a scrape has, in its order. */
export function registeredMetrics({ registry }: Metrics): RegisteredMetric[] {
  // The library's types leave out what kind a metric is, and each object has it.
  return registry
    .getMetricsAsArray()
    .map((metric) => ({ name: metric.name, type: (metric as unknown as { readonly type: string }).type, help: metric.help }));
}
