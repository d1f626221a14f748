import type { MetricDeclaration } from '../../src/telemetry/declaration.ts';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { registerProcessMetrics, registeredMetrics } from '../../src/telemetry/process-metrics.ts';
import { agentMetrics } from '../../src/telemetry/table/agent.ts';
import { apiServerMetrics } from '../../src/telemetry/table/api-server.ts';
import { awsMetrics } from '../../src/telemetry/table/aws.ts';
import { bgpMetrics } from '../../src/telemetry/table/bgp.ts';
import { controllerMetrics } from '../../src/telemetry/table/controller.ts';
import { kubeProxyMetrics } from '../../src/telemetry/table/kube-proxy.ts';
import { processMetrics } from '../../src/telemetry/table/process.ts';

const head = `# Metrics

In the text format of Prometheus, at \`/metrics\` of the address that [\`--metrics-address\`](command-line.md#metrics-and-health) says. This page is written
by \`npm run generate\` from \`src/telemetry/table\`; [alerts, a dashboard and monitors](../how-to/monitoring.md) for them are in \`manifests/monitoring\`.

- No metric has a label for a Service: labels are pools, peers, reasons and other sets that are small. A metric has at most 5000 series
  ([limits](limits.md)); what comes beyond is counted under the label value \`other\`.
- What is known anyway is read when somebody scrapes; what happens is counted when it happens. Neither costs more where there are more Services:
  with 10,000 a scrape takes milliseconds (\`npm run bench:metrics\`).
- Times of changes are measured where endpoints have the annotation \`endpoints.kubernetes.io/last-change-trigger-time\` (the endpoint slice controller
  writes it) from that time on, by the clock of the node; otherwise from when the process heard of the change. What was there when the agent started is not measured.
- \`of\`: the process that has it. \`herald run\` has those of both.

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

const kubeProxy = `What dashboards for kube-proxy ask for, with its types, labels and buckets, where Herald has the same thing to tell. The others of kube-proxy are not there: those of
iptables.

\`kubeproxy_conntrack_reconciler_*\` differ in what a round is. That of kube-proxy is over all flows of UDP, after each change of endpoints of a Service with UDP. Herald's is over
the flows that changes have led astray, so that there are fewer rounds; they are those of UDP and SCTP, and of TCP those that nobody has answered, or all to a backend that is gone where
the frontend resets them. The look at all flows when an agent starts, or after a repair, is not in the time; what it finds is, and is counted. A round that fails is in the log instead.

`;

/** docs/reference/metrics.md. */
export function metricsPage(): string {
  const own = chapters.map(([title, table]) => {
    const before = table === kubeProxyMetrics ? kubeProxy : '';
    return `## ${title}\n\n${before}| metric | type | labels | of | what |\n|---|---|---|---|---|\n${Object.entries(table).map(rowOf).join('')}`;
  });
  return `${head}${own.join('\n')}\n## Process\n\nBy the names of prom-client, the usual ones for Node.js.\n\n| metric | type | what |\n|---|---|---|\n${figures()}`;
}

function rowOf([name, { type, help, labels, of, buckets }]: [string, MetricDeclaration]): string {
  const listed = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${values}`);
  const range = buckets === undefined ? '' : ` (${buckets[0]} to ${buckets.at(-1)} s)`;
  return `| \`${name}\` | ${type}${range} | ${listed.join('; ')} | ${of} | ${help} |\n`;
}

function figures(): string {
  const metrics = new Metrics();
  registerProcessMetrics(metrics);
  return registeredMetrics(metrics)
    .filter(({ name }) => !(name in metricTable))
    .map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |\n`)
    .join('');
}
