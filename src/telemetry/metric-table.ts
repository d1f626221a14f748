import type { LabelsIn } from './declaration.ts';
import { agentMetrics } from './table/agent.ts';
import { apiServerMetrics } from './table/api-server.ts';
import { bgpMetrics } from './table/bgp.ts';
import { controllerMetrics } from './table/controller.ts';
import { l2Metrics } from './table/l2.ts';
import { kubeProxyMetrics } from './table/kube-proxy.ts';
import { processMetrics } from './table/process.ts';

/** All metrics of the core. `npm run generate` writes docs/reference/metrics.md from it. Providers declare tables of their own. */
export const metricTable = {
  ...processMetrics,
  ...apiServerMetrics,
  ...agentMetrics,
  ...bgpMetrics,
  ...l2Metrics,
  ...kubeProxyMetrics,
  ...controllerMetrics,
} as const;

export type MetricName = keyof typeof metricTable;

export type LabelsOf<N extends MetricName> = LabelsIn<typeof metricTable, N>;

type OfType<T> = { [N in MetricName]: (typeof metricTable)[N]['type'] extends T ? N : never }[MetricName];

export type CounterName = OfType<'counter'>;
export type GaugeName = OfType<'gauge'>;
export type HistogramName = OfType<'histogram'>;
