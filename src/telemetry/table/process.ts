import type { MetricTable } from '../declaration.ts';

export const processMetrics = {
  herald_build_info: {
    type: 'gauge',
    help: 'Always 1: which program this is.',
    labels: { version: 'of Herald', nodejs: 'version of Node.js' },
    of: 'all',
  },
  herald_objects: {
    type: 'gauge',
    help: 'Objects that the process has read and works with.',
    labels: { kind: 'Service, Node, IPAddressPool, BGPPeer and so on' },
    of: 'all',
  },
  herald_source_problems: {
    type: 'gauge',
    help: 'What is wrong with objects, or with reading them, at this moment; the log says what.',
    labels: { severity: 'error or warning' },
    of: 'all',
  },
  herald_ready: {
    type: 'gauge',
    help: 'Whether /readyz answers 200.',
    labels: {},
    of: 'all',
  },
  herald_scrape_failures_total: {
    type: 'counter',
    help: 'Parts of a scrape that are missing from it, because reading them failed or took too long.',
    labels: { part: 'bfd, bgp and so on' },
    of: 'all',
  },
  herald_series_dropped_total: {
    type: 'counter',
    help: 'Values that were counted under the label value "other", because the metric has as many series as it may have.',
    labels: { metric: 'its name' },
    of: 'all',
  },
} as const satisfies MetricTable;
