import { metricsOf, workBuckets } from '../declaration.ts';

const { counter, gauge, histogram } = metricsOf('all');
const resource = 'plural name and group: services, bgppeers.herald.dev';

export const apiServerMetrics = {
  herald_api_requests_total: counter('Requests to the API server that have ended; a watch counts when it begins.', {
    verb: 'GET, POST, PUT, PATCH, DELETE or WATCH',
    code: 'HTTP status, or the error if there was no answer: unreachable, untrusted, credentials, stalled, malformed, aborted',
  }),
  herald_api_request_duration_seconds: histogram('Time of requests to the API server, without watches.', workBuckets.slice(3), {
    verb: 'GET, POST, PUT, PATCH or DELETE',
  }),
  herald_clock_skew_seconds: gauge(
    "Seconds by which this host's clock is certainly ahead of the API server's, or behind if negative. More than 5 is logged.",
  ),
  herald_watch_lists_total: counter(
    'Complete lists that were read. More than one for a resource means that a watch could not continue where it broke off.',
    { resource },
  ),
  herald_watch_failures_total: counter('Lists and watches that ended with an error; they are retried.', {
    resource,
    code: 'unreachable, forbidden, gone and so on (src/kube/error.ts)',
  }),
  herald_watch_events_total: counter('Events of watches.', { resource, type: 'present, gone or bookmark' }),
  herald_watch_last_heard_timestamp_seconds: gauge(
    "Time of the API server's last message about a resource; bookmarks come about every minute.",
    { resource },
  ),
};
