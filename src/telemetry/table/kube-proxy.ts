import { metricsOf, passBuckets } from '../declaration.ts';

const { counter, gauge, histogram } = metricsOf('agent');
const ip_family = 'IPv4 or IPv6; one pass programs both, so both have the same values';

/**
 * Metrics with kube-proxy's names, types and buckets (1.36, pkg/proxy/metrics) where they mean the same, so that dashboards continue to
 * work.
 */
export const kubeProxyMetrics = {
  kubeproxy_sync_proxy_rules_duration_seconds: histogram('Time until the kernel had committed the changes of a pass.', passBuckets, {
    ip_family,
  }),
  kubeproxy_sync_full_proxy_rules_duration_seconds: histogram('Time until the kernel had committed a pass over everything.', passBuckets, {
    ip_family,
  }),
  kubeproxy_sync_partial_proxy_rules_duration_seconds: histogram('Time until the kernel had committed a pass over changes.', passBuckets, {
    ip_family,
  }),
  kubeproxy_sync_proxy_rules_last_timestamp_seconds: gauge('Time of the last commit of a pass.', { ip_family }),
  kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds: gauge('Time of the last request for a pass.', { ip_family }),
  kubeproxy_network_programming_duration_seconds: histogram(
    'Time from a change of endpoints, by the annotation endpoints.kubernetes.io/last-change-trigger-time, until the kernel has its rules.',
    [
      0.25,
      0.5,
      ...Array.from({ length: 59 }, (_, step) => 1 + step),
      ...Array.from({ length: 12 }, (_, step) => 60 + 5 * step),
      ...Array.from({ length: 7 }, (_, step) => 120 + 30 * step),
    ],
    { ip_family: 'IPv4 or IPv6: the family of the EndpointSlice' },
  ),
  kubeproxy_sync_proxy_rules_no_local_endpoints_total: gauge(
    'Ports of Services with a Local traffic policy that have endpoints, but none that this node may use: their traffic is dropped here. A gauge in spite of its name, as in kube-proxy.',
    { traffic_policy: 'internal or external', ip_family: 'IPv4 or IPv6' },
  ),
  kubeproxy_sync_proxy_rules_service_changes_total: counter('Changes of Services that the agent received.'),
  kubeproxy_sync_proxy_rules_service_changes_pending: gauge('Changed Services whose rules are not in the kernel yet.'),
  kubeproxy_sync_proxy_rules_endpoint_changes_total: counter('Changes of EndpointSlices that the agent received.'),
  kubeproxy_sync_proxy_rules_endpoint_changes_pending: gauge('Services with changed endpoints whose rules are not in the kernel yet.'),
  kubeproxy_sync_proxy_rules_nftables_sync_failures_total: counter('Times that the data plane took no change.', { ip_family }),
  kubeproxy_conntrack_reconciler_sync_duration_seconds: histogram(
    'Time until the kernel had deleted the connection tracking flows that changes made wrong: flows to removed backends, and flows from before a frontend existed.',
    passBuckets,
    { ip_family: 'IPv4 or IPv6' },
  ),
  kubeproxy_conntrack_reconciler_deleted_entries_total: counter('Connection tracking flows that were deleted.', {
    ip_family: 'IPv4 or IPv6',
  }),
  kubeproxy_proxy_healthz_total: counter('Answers of /healthz at --healthz-bind-address.', { code: '200 or 503' }),
  kubeproxy_proxy_livez_total: counter('Answers of /livez at --healthz-bind-address.', { code: '200 or 503' }),
};
