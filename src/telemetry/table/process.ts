import { metricsOf } from '../declaration.ts';

const { counter, gauge } = metricsOf('all');

export const processMetrics = {
  herald_build_info: gauge('Always 1; the labels identify the program.', { version: 'of Herald', nodejs: 'version of Node.js' }),
  herald_objects: gauge('Objects that the process has read and works with.', { kind: 'Service, Node, IPAddressPool, BGPPeer and so on' }),
  herald_source_problems: gauge('Current problems of objects or of reading them; the log has the details.', {
    severity: 'error or warning',
  }),
  herald_records_unwritten: gauge(
    'Records of a directory that the file system refused at the last attempt (full, read-only, no permission); they are retried. Absent in a cluster.',
  ),
  herald_ready: gauge('Is 1 if /readyz answers 200, else 0.'),
  herald_http_connections_ended_total: counter(
    'Connections to the ports of metrics and health that the process closed because a limit was reached.',
    {
      cause: 'address (16 from one at one port), listener or process (too many), or late (no whole request header within a second)',
    },
  ),
  herald_scrape_failures_total: counter('Parts missing from a scrape because reading them failed or took too long.', {
    part: 'bfd, bgp and so on',
  }),
  herald_series_dropped_total: counter(
    'Values that were counted under the label value "other" because the metric has reached its maximum of series.',
    { metric: 'its name' },
  ),
};
