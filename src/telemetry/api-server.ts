import type { Clock } from '../system/clock.ts';
import type { Metrics } from './metrics.ts';

/** Counts requests to the API server and watch events: a ClientObserver and a WatchObserver of src/kube. */
export class ApiServerMetrics {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  /** By resource: the time of the last event, in milliseconds since the epoch. */
  readonly #lastEvents = new Map<string, number>();

  constructor(metrics: Metrics, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
    metrics.addCollector('watches', ['herald_watch_last_heard_timestamp_seconds'], (put) => {
      for (const [resource, at] of this.#lastEvents) put('herald_watch_last_heard_timestamp_seconds', { resource }, at / 1000);
    });
  }

  request(verb: string, code: number | string, milliseconds: number): void {
    this.#metrics.add('herald_api_requests_total', { verb, code: String(code) });
    if (verb !== 'WATCH') this.#metrics.observe('herald_api_request_duration_seconds', { verb }, milliseconds / 1000);
  }

  listed(path: string): void {
    const resource = resourceOf(path);
    this.#metrics.add('herald_watch_lists_total', { resource });
    this.#lastEvents.set(resource, this.#clock.date().getTime());
  }

  watchEvent(path: string, type: string): void {
    const resource = resourceOf(path);
    this.#metrics.add('herald_watch_events_total', { resource, type });
    this.#lastEvents.set(resource, this.#clock.date().getTime());
  }

  watchFailed(path: string, code: string): void {
    this.#metrics.add('herald_watch_failures_total', { resource: resourceOf(path), code });
  }

  /** Several watches may follow one resource (Secrets, one by name each). The next event of the others adds it again. */
  watchEnded(path: string): void {
    this.#lastEvents.delete(resourceOf(path));
  }
}

/**
 * Returns the resource of a path: "/apis/herald.dev/v1alpha1/namespaces/x/bgppeers" is "bgppeers.herald.dev", "/api/v1/services" is
 * "services".
 */
export function resourceOf(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const plural = parts.at(-1) ?? '';
  return parts[0] === 'apis' ? `${plural}.${parts[1] ?? ''}` : plural;
}
