import { metricsOf, workBuckets } from '../declaration.ts';

const { counter, gauge, histogram } = metricsOf('controller');
const queue = 'services or configuration';

export const controllerMetrics = {
  herald_leader: gauge('Is 1 if this controller leads, 0 while it waits for the Lease.'),
  herald_nodes_without_report: gauge('Nodes whose agent does not report now, by what their last report shows.', {
    last: 'stopped (its agent said that it stops), silent (its agent vanished) or none (no agent ever reported)',
  }),
  herald_pool_addresses: gauge(
    'Addresses of a pool. assigned counts each once however many Services share it; kept are reserved for Services that released them.',
    { pool: 'name of the IPAddressPool', family: 'ipv4 or ipv6', state: 'free, assigned or kept' },
  ),
  herald_pool_size_addresses: gauge('Addresses that a pool can assign.', { pool: 'name of the IPAddressPool', family: 'ipv4 or ipv6' }),
  herald_pending_services: gauge('Services that do not have what they request, each once.', { reason: 'code of [reasons.md](reasons.md)' }),
  herald_pending_services_by_pool: gauge(
    'Services that do not have what they request, by pool: a Service counts once for each pool that refused it.',
    { pool: 'name of the IPAddressPool', reason: 'code of [reasons.md](reasons.md)' },
  ),
  herald_service_conditions: gauge('Services by the state of their conditions.', {
    condition: 'AddressAssigned, Programmed, Announced or Answered',
    status: 'True, False or Unknown',
    reason: 'code of the condition',
  }),
  herald_reconcile_duration_seconds: histogram('Time that a provider took for one Service, including its waits.', workBuckets, {
    provider: 'bare-metal, or the name of another provider',
    result: 'met, unmet or failed',
  }),
  herald_queue_depth: gauge('Keys that wait or are being worked on.', { queue }),
  herald_queue_work_total: counter('Keys that were worked on.', {
    queue,
    result: 'done, retried (another program wrote in between) or failed (retried later)',
  }),
  herald_queue_longest_work_seconds: gauge('Age of the longest running work.', { queue }),
  herald_queue_waiting_retries: gauge('Keys whose work failed and that wait for a retry.', { queue }),
  herald_status_writes_total: counter('Statuses given to the writer; an unchanged status is not sent.', {
    kind: 'Service, or the kind of a configuration object',
    result: 'done, conflict or failed',
  }),
  herald_refused_statuses: gauge(
    'Services whose status the API server did not let the controller write at the last attempt (403); they are retried.',
  ),
  herald_events_total: counter('Events that were recorded.', { type: 'Normal or Warning' }),
  herald_events_lost_total: counter('Events that were never written.', { why: 'queue, budget, leading, refused or unreachable' }),
};
