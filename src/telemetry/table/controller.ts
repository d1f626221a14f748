import { workBuckets, type MetricTable } from '../declaration.ts';

const queue = 'services or configuration';

export const controllerMetrics = {
  herald_leader: {
    type: 'gauge',
    help: 'Is 1 if this controller leads, 0 while it waits for the Lease.',
    labels: {},
    of: 'controller',
  },
  herald_pool_addresses: {
    type: 'gauge',
    help: 'Addresses of a pool. assigned counts each once however many Services share it; kept are reserved for Services that released them.',
    labels: { pool: 'name of the IPAddressPool', family: 'ipv4 or ipv6', state: 'free, assigned or kept' },
    of: 'controller',
  },
  herald_pool_size_addresses: {
    type: 'gauge',
    help: 'Addresses that a pool can assign.',
    labels: { pool: 'name of the IPAddressPool', family: 'ipv4 or ipv6' },
    of: 'controller',
  },
  herald_pending_services: {
    type: 'gauge',
    help: 'Services that do not have what they request, each once.',
    labels: { reason: 'code of [reasons.md](reasons.md)' },
    of: 'controller',
  },
  herald_pending_services_by_pool: {
    type: 'gauge',
    help: 'Services that do not have what they request, by pool: a Service counts once for each pool that refused it.',
    labels: { pool: 'name of the IPAddressPool', reason: 'code of [reasons.md](reasons.md)' },
    of: 'controller',
  },
  herald_service_conditions: {
    type: 'gauge',
    help: 'Services by the state of their conditions.',
    labels: { condition: 'AddressAssigned, Programmed or Announced', status: 'True, False or Unknown', reason: 'code of the condition' },
    of: 'controller',
  },
  herald_reconcile_duration_seconds: {
    type: 'histogram',
    help: 'Time that a provider took for one Service, including its waits.',
    labels: { provider: 'bare-metal, or the name of another provider', result: 'met, unmet or failed' },
    of: 'controller',
    buckets: workBuckets,
  },
  herald_queue_depth: {
    type: 'gauge',
    help: 'Keys that wait or are being worked on.',
    labels: { queue },
    of: 'controller',
  },
  herald_queue_work_total: {
    type: 'counter',
    help: 'Keys that were worked on.',
    labels: { queue, result: 'done, retried (another program wrote in between) or failed (retried later)' },
    of: 'controller',
  },
  herald_queue_longest_work_seconds: {
    type: 'gauge',
    help: 'Age of the longest running work.',
    labels: { queue },
    of: 'controller',
  },
  herald_queue_waiting_retries: {
    type: 'gauge',
    help: 'Keys whose work failed and that wait for a retry.',
    labels: { queue },
    of: 'controller',
  },
  herald_status_writes_total: {
    type: 'counter',
    help: 'Statuses given to the writer; an unchanged status is not sent.',
    labels: { kind: 'Service, or the kind of a configuration object', result: 'done, conflict or failed' },
    of: 'controller',
  },
  herald_refused_statuses: {
    type: 'gauge',
    help: 'Services whose status the API server did not let the controller write at the last attempt (403); they are retried.',
    labels: {},
    of: 'controller',
  },
  herald_events_total: {
    type: 'counter',
    help: 'Events that were recorded.',
    labels: { type: 'Normal or Warning' },
    of: 'controller',
  },
  herald_events_lost_total: {
    type: 'counter',
    help: 'Events that were never written.',
    labels: { why: 'queue, budget, leading, refused or unreachable' },
    of: 'controller',
  },
} as const satisfies MetricTable;
