import { workBuckets, type Meter, type MetricTable } from '../../../src/controller/provider-definition.ts';

const operation = 'service and operation: elbv2:CreateLoadBalancer';

export const awsMetrics = {
  herald_aws_requests_total: {
    type: 'counter',
    help: 'Requests to AWS, answered or not; each attempt counts.',
    labels: { operation, code: 'ok, or the class of the error: throttled, denied, unreachable and so on' },
    of: 'controller',
  },
  herald_aws_request_duration_seconds: {
    type: 'histogram',
    help: 'Time of one attempt, without the wait before it.',
    labels: { operation },
    of: 'controller',
    buckets: workBuckets.slice(6),
  },
  herald_aws_wait_duration_seconds: {
    type: 'histogram',
    help: 'Time that requests waited so that AWS does not throttle the account.',
    labels: { operation },
    of: 'controller',
    buckets: workBuckets.slice(3),
  },
  herald_aws_other_cluster_resources: {
    type: 'gauge',
    help: 'Known resources in AWS with the name of this cluster and the UID of another one. While there are any, nothing is changed in AWS.',
    labels: {},
    of: 'controller',
  },
} as const satisfies MetricTable;

/** Counts for the provider: a RequestObserver and an OwnerObserver. */
export class AwsMetrics {
  readonly #meter: Meter<typeof awsMetrics>;

  constructor(meter: Meter<typeof awsMetrics>) {
    this.#meter = meter;
  }

  countedOfOtherClusters(count: number): void {
    this.#meter.set('herald_aws_other_cluster_resources', {}, count);
  }

  waited(operation: string, milliseconds: number): void {
    this.#meter.observe('herald_aws_wait_duration_seconds', { operation }, milliseconds / 1000);
  }

  attempted(operation: string, code: string, milliseconds: number): void {
    this.#meter.add('herald_aws_requests_total', { operation, code });
    this.#meter.observe('herald_aws_request_duration_seconds', { operation }, milliseconds / 1000);
  }
}
