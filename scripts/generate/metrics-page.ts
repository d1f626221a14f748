import type { MetricDeclaration } from '../../src/telemetry/declaration.ts';
import { VirtualClock } from '../../src/system/virtual-clock.ts';
import { limits } from '../../src/telemetry/limits.ts';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { registerProcessMetrics, registeredMetrics } from '../../src/telemetry/process-metrics.ts';
import { agentMetrics } from '../../src/telemetry/table/agent.ts';
import { apiServerMetrics } from '../../src/telemetry/table/api-server.ts';
import { awsMetrics } from '../../providers/aws/tables/metrics.ts';
import { bgpMetrics } from '../../src/telemetry/table/bgp.ts';
import { controllerMetrics } from '../../src/telemetry/table/controller.ts';
import { kubeProxyMetrics } from '../../src/telemetry/table/kube-proxy.ts';
import { processMetrics } from '../../src/telemetry/table/process.ts';

const head = `# Metrics

Metrics are in the text format of Prometheus, at \`/metrics\` of [\`--metrics-address\`](command-line.md#metrics-and-health). \`npm run generate\` writes this page
from \`src/telemetry/table\`. \`manifests/monitoring\` has [alerts, a dashboard and monitors](../how-to/monitoring.md) for them.

- No metric has a label for a Service. Labels are pools, peers, reasons and other small sets. A metric has at most ${limits.series} series
  ([limits](limits.md)); further ones are counted under the label value \`other\`.
- State is read at the time of a scrape, and events are counted when they happen. Neither costs more with more Services: with 10,000 of them a scrape takes
  milliseconds (\`npm run bench:metrics\`).
- The time of a change is measured from the annotation \`endpoints.kubernetes.io/last-change-trigger-time\`, which the endpoint slice controller writes, by the
  clock of the node. Without the annotation it is measured from when the process received the change. Endpoints that existed when the agent started are not
  measured.
- \`of\` is the process that has the metric. \`herald run\` has the metrics of both.

`;

const chapters: readonly (readonly [string, Readonly<Record<string, MetricDeclaration>>])[] = [
  ['Every process', processMetrics],
  ['API server', apiServerMetrics],
  ['Agent', agentMetrics],
  ['BGP and BFD', bgpMetrics],
  ['Controller', controllerMetrics],
  ['AWS', awsMetrics],
  ["kube-proxy's names", kubeProxyMetrics],
];

const kubeProxy = `Metrics with kube-proxy's names, types, labels and buckets, for dashboards made for kube-proxy. Herald has those with the same meaning; the metrics about iptables
are left out.

\`kubeproxy_conntrack_reconciler_*\` count other rounds. kube-proxy's round reads all UDP flows after each change of endpoints of a Service with UDP. Herald's round
handles only flows that a change made stale, so there are fewer rounds: UDP and SCTP flows, unanswered TCP flows, and all TCP flows to a removed backend when
the frontend resets them. Reading all flows at the start of an agent or after a repair does not count as time; the stale flows found then do count. A failed
round is in the log instead.

`;

/** Returns docs/reference/metrics.md. */
export function metricsPage(): string {
  const own = chapters.map(([title, table]) => {
    const before = table === kubeProxyMetrics ? kubeProxy : '';
    return `## ${title}\n\n${before}| metric | type | labels | of | what |\n|---|---|---|---|---|\n${Object.entries(table).map(rowOf).join('')}`;
  });
  return `${head}${own.join('\n')}\n## Process\n\nThe names are those of prom-client, usual for Node.js.\n\n| metric | type | what |\n|---|---|---|\n${figures()}`;
}

function rowOf([name, { type, help, labels, of, buckets }]: [string, MetricDeclaration]): string {
  const listed = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${values}`);
  const range = buckets === undefined ? '' : ` (${buckets[0]} to ${buckets.at(-1)} s)`;
  return `| \`${name}\` | ${type}${range} | ${listed.join('; ')} | ${of} | ${help} |\n`;
}

function figures(): string {
  const metrics = new Metrics();
  registerProcessMetrics(metrics, new VirtualClock());
  return registeredMetrics(metrics)
    .filter(({ name }) => !(name in metricTable))
    .map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |\n`)
    .join('');
}
