import { passBuckets, workBuckets, type MetricTable } from '../declaration.ts';

const kind = 'Service or EndpointSlice: what changed';

export const agentMetrics = {
  herald_change_heard_duration_seconds: {
    type: 'histogram',
    help: 'From a change of endpoints, by the annotation endpoints.kubernetes.io/last-change-trigger-time, until the agent heard of it.',
    labels: {},
    of: 'agent',
    buckets: workBuckets.slice(3),
  },
  herald_change_to_rule_duration_seconds: {
    type: 'histogram',
    help: 'From a change until the kernel has its rules: of endpoints by that annotation where they have it, else since the agent heard of it.',
    labels: { kind },
    of: 'agent',
    buckets: workBuckets.slice(3),
  },
  herald_change_to_route_duration_seconds: {
    type: 'histogram',
    help: 'The same until routes that it alters are on their way to the sessions; changes that alter no route do not count.',
    labels: { kind },
    of: 'agent',
    buckets: workBuckets.slice(3),
  },
  herald_pass_duration_seconds: {
    type: 'histogram',
    help: 'Time of a pass: plan, withdraw, commit, announce.',
    labels: { result: 'done or failed' },
    of: 'agent',
    buckets: passBuckets,
  },
  herald_pass_services_total: {
    type: 'counter',
    help: 'Services that passes looked at.',
    labels: {},
    of: 'agent',
  },
  herald_waiting_services: {
    type: 'gauge',
    help: 'Services that wait for the next pass.',
    labels: {},
    of: 'agent',
  },
  herald_differing_services: {
    type: 'gauge',
    help: 'Services that are not as was decided for this node.',
    labels: { aspect: 'Programmed, Announced or HealthCheck', reason: 'code of [reasons.md](reasons.md)' },
    of: 'agent',
  },
  herald_host_problems: {
    type: 'gauge',
    help: 'What is wrong with the host, or missing on it.',
    labels: { reason: 'code of [reasons.md](reasons.md)' },
    of: 'agent',
  },
  herald_dataplane_up: {
    type: 'gauge',
    help: 'Whether the data plane took what it was given last.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_call_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had committed what a pass gave to the data plane.',
    labels: { call: 'replace (everything), node or apply (a change)', result: 'done or failed' },
    of: 'agent',
    buckets: workBuckets,
  },
  herald_dataplane_transactions_total: {
    type: 'counter',
    help: 'Transactions of nf_tables, of both families together.',
    labels: { result: 'committed or refused' },
    of: 'agent',
  },
  herald_dataplane_repairs_total: {
    type: 'counter',
    help: 'Times that rules or routes of ours were put right after another program had changed them.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_failures_total: {
    type: 'counter',
    help: 'Times that the data plane took nothing, or could not repair what another program had changed.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_quarantined_frontends: {
    type: 'gauge',
    help: 'Frontends whose latest form is not in the kernel.',
    labels: { why: 'refused (by the kernel) or contended (another Service has it)' },
    of: 'agent',
  },
  herald_health_check_listeners: {
    type: 'gauge',
    help: 'Sockets that listen for health checks: those of health-check node ports and of /healthz. Those that cannot are in herald_differing_services.',
    labels: {},
    of: 'agent',
  },
  herald_health_check_requests_total: {
    type: 'counter',
    help: 'Requests to health-check node ports.',
    labels: { code: '200 or 503' },
    of: 'agent',
  },
  herald_node_report_writes_total: {
    type: 'counter',
    help: 'Reports of the node (NodeState) that were written.',
    labels: { result: 'done or failed' },
    of: 'agent',
  },
} as const satisfies MetricTable;
