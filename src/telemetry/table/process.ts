import type { MetricTable } from '../declaration.ts';

export const processMetrics = {
  herald_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels identify the program.',
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
    help: 'Current problems of objects or of reading them; the log has the details.',
    labels: { severity: 'error or warning' },
    of: 'all',
  },
  herald_records_unwritten: {
    type: 'gauge',
    help: 'Records of a directory that the file system refused at the last attempt (full, read-only, no permission); they are retried. Absent in a cluster.',
    labels: {},
    of: 'all',
  },
  herald_ready: {
    type: 'gauge',
    help: 'Is 1 if /readyz answers 200, else 0.',
    labels: {},
    of: 'all',
  },
  herald_http_connections_ended_total: {
    type: 'counter',
    help: 'Connections to the ports of metrics and health that the process closed because a limit was reached.',
    labels: {
      cause: 'address (16 from one at one port), listener or process (too many), or late (no whole request header within a second)',
    },
    of: 'all',
  },
  herald_scrape_failures_total: {
    type: 'counter',
    help: 'Parts missing from a scrape because reading them failed or took too long.',
    labels: { part: 'bfd, bgp and so on' },
    of: 'all',
  },
  herald_series_dropped_total: {
    type: 'counter',
    help: 'Values that were counted under the label value "other" because the metric has reached its maximum of series.',
    labels: { metric: 'its name' },
    of: 'all',
  },
} as const satisfies MetricTable;
