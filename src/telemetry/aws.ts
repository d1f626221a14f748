import type { Metrics } from './metrics.ts';

/** Counts for providers/aws: a RequestObserver and an OwnerObserver. */
export class AwsMetrics {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  countedOfOtherClusters(count: number): void {
    this.#metrics.set('herald_aws_other_cluster_resources', {}, count);
  }

  waited(operation: string, milliseconds: number): void {
    this.#metrics.observe('herald_aws_wait_duration_seconds', { operation }, milliseconds / 1000);
  }

  attempted(operation: string, code: string, milliseconds: number): void {
    this.#metrics.add('herald_aws_requests_total', { operation, code });
    this.#metrics.observe('herald_aws_request_duration_seconds', { operation }, milliseconds / 1000);
  }
}
