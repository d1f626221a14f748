import { workBuckets, type MetricTable } from '../declaration.ts';

const resource = 'plural name and group: services, bgppeers.herald.dev';

export const apiServerMetrics = {
  herald_api_requests_total: {
    type: 'counter',
    help: 'Requests to the API server that have ended; a watch counts when it begins.',
    labels: {
      verb: 'GET, POST, PUT, PATCH, DELETE or WATCH',
      code: 'HTTP status, or the error if there was no answer: unreachable, untrusted, credentials, stalled, malformed, aborted',
    },
    of: 'all',
  },
  herald_api_request_duration_seconds: {
    type: 'histogram',
    help: 'Time of requests to the API server, without watches.',
    labels: { verb: 'GET, POST, PUT, PATCH or DELETE' },
    of: 'all',
    buckets: workBuckets.slice(3),
  },
  herald_clock_skew_seconds: {
    type: 'gauge',
    help: "Seconds by which this host's clock is certainly ahead of the API server's, or behind if negative. More than 5 is logged.",
    labels: {},
    of: 'all',
  },
  herald_watch_lists_total: {
    type: 'counter',
    help: 'Complete lists that were read. More than one for a resource means that a watch could not continue where it broke off.',
    labels: { resource },
    of: 'all',
  },
  herald_watch_failures_total: {
    type: 'counter',
    help: 'Lists and watches that ended with an error; they are retried.',
    labels: { resource, code: 'unreachable, forbidden, gone and so on (src/kube/error.ts)' },
    of: 'all',
  },
  herald_watch_events_total: {
    type: 'counter',
    help: 'Events of watches.',
    labels: { resource, type: 'present, gone or bookmark' },
    of: 'all',
  },
  herald_watch_last_heard_timestamp_seconds: {
    type: 'gauge',
    help: "Time of the API server's last message about a resource; bookmarks come about every minute.",
    labels: { resource },
    of: 'all',
  },
} as const satisfies MetricTable;
