import type { Metrics } from './metrics.ts';

/** Counts requests to AWS: a RequestObserver of providers/aws. */
export class AwsMetrics {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  waited(operation: string, milliseconds: number): void {
    this.#metrics.observe('herald_aws_wait_duration_seconds', { operation }, milliseconds / 1000);
  }

  attempted(operation: string, code: string, milliseconds: number): void {
    this.#metrics.add('herald_aws_requests_total', { operation, code });
    this.#metrics.observe('herald_aws_request_duration_seconds', { operation }, milliseconds / 1000);
  }
}
