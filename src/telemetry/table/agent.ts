import { passBuckets, workBuckets, type MetricTable } from '../declaration.ts';

const kind = 'Service or EndpointSlice: the kind that changed';

export const agentMetrics = {
  herald_change_heard_duration_seconds: {
    type: 'histogram',
    help: 'Time from a change of endpoints, by the annotation endpoints.kubernetes.io/last-change-trigger-time, until the agent received it.',
    labels: {},
    of: 'agent',
    buckets: workBuckets.slice(3),
  },
  herald_change_to_rule_duration_seconds: {
    type: 'histogram',
    help: 'Time from a change until the kernel has its rules: for endpoints from that annotation if they have it, else from when the agent received the change.',
    labels: { kind },
    of: 'agent',
    buckets: workBuckets.slice(3),
  },
  herald_change_to_route_duration_seconds: {
    type: 'histogram',
    help: 'Time from a change until the routes that it changes are sent to the sessions; changes without an effect on routes do not count.',
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
    help: 'Services that passes planned.',
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
    help: 'Services whose state on this node differs from the decision.',
    labels: { aspect: 'Programmed, Announced or HealthCheck', reason: 'code of [reasons.md](reasons.md)' },
    of: 'agent',
  },
  herald_host_problems: {
    type: 'gauge',
    help: 'Problems of the host.',
    labels: { reason: 'code of [reasons.md](reasons.md)' },
    of: 'agent',
  },
  herald_node_held_back: {
    type: 'gauge',
    help: 'Is 1 if the node cannot forward the address family and holds its routes back, else 0.',
    labels: { family: 'ipv4 or ipv6' },
    of: 'agent',
  },
  herald_held_back_last_next_hop_services: {
    type: 'gauge',
    help: 'Services with an address that this node announces although it cannot forward, because no node that can announces it.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_up: {
    type: 'gauge',
    help: 'Is 1 if the data plane took the last changes, else 0.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_call_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had committed the changes of a call to the data plane.',
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
    help: 'Times that the data plane restored rules or routes of Herald that another program had changed.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_failures_total: {
    type: 'counter',
    help: 'Times that the data plane took no change, or could not restore what another program had changed.',
    labels: {},
    of: 'agent',
  },
  herald_dataplane_quarantined_frontends: {
    type: 'gauge',
    help: 'Frontends that the kernel does not have in their latest form.',
    labels: { why: 'refused (by the kernel) or contended (another Service has it)' },
    of: 'agent',
  },
  herald_health_check_listeners: {
    type: 'gauge',
    help: 'Sockets that listen for health checks: health-check node ports and /healthz. Those that cannot listen are in herald_differing_services.',
    labels: {},
    of: 'agent',
  },
  herald_health_check_requests_total: {
    type: 'counter',
    help: 'Requests to health-check node ports.',
    labels: { code: '200 or 503' },
    of: 'agent',
  },
  herald_agent_check_seconds_total: {
    type: 'counter',
    help: "Time spent on looking at what becomes of clients' connections. Includes time in which the thread waited for a processor.",
    labels: {},
    of: 'agent',
  },
  herald_agent_failing_endpoints: {
    type: 'gauge',
    help: 'Endpoints of Services that this node does not reach.',
    labels: {},
    of: 'agent',
  },
  herald_agent_answered_frontends: {
    type: 'gauge',
    help: 'Addresses and ports of Services at which connections through this node were answered in the last ten minutes.',
    labels: {},
    of: 'agent',
  },
  herald_agent_checks_blind: {
    type: 'gauge',
    help: 'Is 1 if the agent should look at connections and cannot, or not at all of them, else 0.',
    labels: {},
    of: 'agent',
  },
  herald_node_report_writes_total: {
    type: 'counter',
    help: "Writes of the node's report (NodeState).",
    labels: { result: 'done or failed' },
    of: 'agent',
  },
} as const satisfies MetricTable;
