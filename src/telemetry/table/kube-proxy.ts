import { passBuckets, type MetricTable } from '../declaration.ts';

const ip_family = 'IPv4 or IPv6; one pass programs both, so both have the same values';

/**
 * Metrics with kube-proxy's names, types and buckets (1.36, pkg/proxy/metrics) where they mean the same, so that dashboards continue to
 * work.
 */
export const kubeProxyMetrics = {
  kubeproxy_sync_proxy_rules_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had committed the changes of a pass.',
    labels: { ip_family },
    of: 'agent',
    buckets: passBuckets,
  },
  kubeproxy_sync_full_proxy_rules_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had committed a pass over everything.',
    labels: { ip_family },
    of: 'agent',
    buckets: passBuckets,
  },
  kubeproxy_sync_partial_proxy_rules_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had committed a pass over changes.',
    labels: { ip_family },
    of: 'agent',
    buckets: passBuckets,
  },
  kubeproxy_sync_proxy_rules_last_timestamp_seconds: {
    type: 'gauge',
    help: 'Time of the last commit of a pass.',
    labels: { ip_family },
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds: {
    type: 'gauge',
    help: 'Time of the last request for a pass.',
    labels: { ip_family },
    of: 'agent',
  },
  kubeproxy_network_programming_duration_seconds: {
    type: 'histogram',
    help: 'Time from a change of endpoints, by the annotation endpoints.kubernetes.io/last-change-trigger-time, until the kernel has its rules.',
    labels: { ip_family: 'IPv4 or IPv6: the family of the EndpointSlice' },
    of: 'agent',
    buckets: [
      0.25,
      0.5,
      ...Array.from({ length: 59 }, (_, step) => 1 + step),
      ...Array.from({ length: 12 }, (_, step) => 60 + 5 * step),
      ...Array.from({ length: 7 }, (_, step) => 120 + 30 * step),
    ],
  },
  kubeproxy_sync_proxy_rules_no_local_endpoints_total: {
    type: 'gauge',
    help: 'Ports of Services with a Local traffic policy that have endpoints, but none that this node may use: their traffic is dropped here. A gauge in spite of its name, as in kube-proxy.',
    labels: { traffic_policy: 'internal or external', ip_family: 'IPv4 or IPv6' },
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_service_changes_total: {
    type: 'counter',
    help: 'Changes of Services that the agent received.',
    labels: {},
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_service_changes_pending: {
    type: 'gauge',
    help: 'Changed Services whose rules are not in the kernel yet.',
    labels: {},
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_endpoint_changes_total: {
    type: 'counter',
    help: 'Changes of EndpointSlices that the agent received.',
    labels: {},
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_endpoint_changes_pending: {
    type: 'gauge',
    help: 'Services with changed endpoints whose rules are not in the kernel yet.',
    labels: {},
    of: 'agent',
  },
  kubeproxy_sync_proxy_rules_nftables_sync_failures_total: {
    type: 'counter',
    help: 'Times that the data plane took no change.',
    labels: { ip_family },
    of: 'agent',
  },
  kubeproxy_conntrack_reconciler_sync_duration_seconds: {
    type: 'histogram',
    help: 'Time until the kernel had deleted the connection tracking flows that changes made wrong: flows to removed backends, and flows from before a frontend existed.',
    labels: { ip_family: 'IPv4 or IPv6' },
    of: 'agent',
    buckets: passBuckets,
  },
  kubeproxy_conntrack_reconciler_deleted_entries_total: {
    type: 'counter',
    help: 'Connection tracking flows that were deleted.',
    labels: { ip_family: 'IPv4 or IPv6' },
    of: 'agent',
  },
  kubeproxy_proxy_healthz_total: {
    type: 'counter',
    help: 'Answers of /healthz at --healthz-bind-address.',
    labels: { code: '200 or 503' },
    of: 'agent',
  },
  kubeproxy_proxy_livez_total: {
    type: 'counter',
    help: 'Answers of /livez at --healthz-bind-address.',
    labels: { code: '200 or 503' },
    of: 'agent',
  },
} as const satisfies MetricTable;
