import type { LabelsIn, NamesOf } from './declaration.ts';
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

export type CounterName = NamesOf<typeof metricTable, 'counter'>;
export type GaugeName = NamesOf<typeof metricTable, 'gauge'>;
export type HistogramName = NamesOf<typeof metricTable, 'histogram'>;
