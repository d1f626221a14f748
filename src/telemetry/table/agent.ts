import { metricsOf, passBuckets, workBuckets } from '../declaration.ts';

const { counter, gauge, histogram } = metricsOf('agent');
const kind = 'Service or EndpointSlice: the kind that changed';

export const agentMetrics = {
  herald_change_heard_duration_seconds: histogram(
    'Time from a change of endpoints, by the annotation endpoints.kubernetes.io/last-change-trigger-time, until the agent received it.',
    workBuckets.slice(3),
  ),
  herald_change_to_rule_duration_seconds: histogram(
    'Time from a change until the kernel has its rules: for endpoints from that annotation if they have it, else from when the agent received the change.',
    workBuckets.slice(3),
    { kind },
  ),
  herald_change_to_route_duration_seconds: histogram(
    'Time from a change until the routes that it changes are sent to the sessions; changes without an effect on routes do not count.',
    workBuckets.slice(3),
    { kind },
  ),
  herald_pass_duration_seconds: histogram('Time of a pass: plan, withdraw, commit, announce.', passBuckets, { result: 'done or failed' }),
  herald_pass_services_total: counter('Services that passes planned.'),
  herald_waiting_services: gauge('Services that wait for the next pass.'),
  herald_differing_services: gauge('Services whose state on this node differs from the decision.', {
    aspect: 'Programmed, Announced or HealthCheck',
    reason: 'code of [reasons.md](reasons.md)',
  }),
  herald_host_problems: gauge('Problems of the host.', { reason: 'code of [reasons.md](reasons.md)' }),
  herald_node_held_back: gauge('Is 1 if the node cannot forward the address family and holds its routes back, else 0.', {
    family: 'ipv4 or ipv6',
  }),
  herald_held_back_last_next_hop_services: gauge(
    'Services with an address that this node announces although it cannot forward, because no node that can announces it.',
  ),
  herald_dataplane_up: gauge('Is 1 if the data plane took the last changes, else 0.'),
  herald_dataplane_call_duration_seconds: histogram(
    'Time until the kernel had committed the changes of a call to the data plane.',
    workBuckets,
    { call: 'replace (everything), node or apply (a change)', result: 'done or failed' },
  ),
  herald_dataplane_transactions_total: counter('Transactions of nf_tables, of both families together.', { result: 'committed or refused' }),
  herald_dataplane_repairs_total: counter('Times that the data plane restored rules or routes of Herald that another program had changed.'),
  herald_dataplane_failures_total: counter(
    'Times that the data plane took no change, or could not restore what another program had changed.',
  ),
  herald_dataplane_quarantined_frontends: gauge('Frontends that the kernel does not have in their latest form.', {
    why: 'refused (by the kernel) or contended (another Service has it)',
  }),
  herald_health_check_listeners: gauge(
    'Sockets that listen for health checks: health-check node ports and /healthz. Those that cannot listen are in herald_differing_services.',
  ),
  herald_health_check_requests_total: counter('Requests to health-check node ports.', { code: '200 or 503' }),
  herald_agent_check_seconds_total: counter(
    "Time spent on looking at what becomes of clients' connections. Includes time in which the thread waited for a processor.",
  ),
  herald_agent_failing_endpoints: gauge('Endpoints of Services that this node does not reach.'),
  herald_agent_answered_frontends: gauge(
    'Addresses and ports of Services at which connections through this node were answered in the last ten minutes.',
  ),
  herald_agent_checks_blind: gauge('Is 1 if the agent should look at connections and cannot, or not at all of them, else 0.'),
  herald_node_report_writes_total: counter("Writes of the node's report (NodeState).", { result: 'done or failed' }),
};
