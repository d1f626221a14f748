import { createHistogram, performance } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';
import { untilBeat, type Cancel, type Clock } from '../system/clock.ts';
import { limits } from './limits.ts';

/** The names and helps of prom-client, which dashboards for Node.js know. */
export const lagFigures = {
  nodejs_eventloop_lag_min_seconds: ['The minimum recorded event loop delay.', ({ min }) => min],
  nodejs_eventloop_lag_max_seconds: ['The maximum recorded event loop delay.', ({ max }) => max],
  nodejs_eventloop_lag_mean_seconds: ['The mean of the recorded event loop delays.', ({ mean }) => mean],
  nodejs_eventloop_lag_stddev_seconds: ['The standard deviation of the recorded event loop delays.', ({ stddev }) => stddev],
  nodejs_eventloop_lag_p50_seconds: ['The 50th percentile of the recorded event loop delays.', (lags) => lags.percentile(50)],
  nodejs_eventloop_lag_p90_seconds: ['The 90th percentile of the recorded event loop delays.', (lags) => lags.percentile(90)],
  nodejs_eventloop_lag_p99_seconds: ['The 99th percentile of the recorded event loop delays.', (lags) => lags.percentile(99)],
} as const satisfies Record<string, readonly [help: string, read: (lags: Histogram) => number]>;

type Histogram = Pick<ReturnType<typeof createHistogram>, 'min' | 'max' | 'mean' | 'stddev' | 'percentile'>;

/**
 * Measures how late the event loop runs a timer, and exposes the figures since the last scrape: ten times a second while the loop works,
 * and once a second while it rests. Node's own monitor (`monitorEventLoopDelay`) wakes the process a hundred times a second.
 * `workedMilliseconds` returns the time for which the loop did not wait. Returns a function that ends the measurement.
 */
export function measureEventLoopLag(
  registry: Registry,
  clock: Clock,
  workedMilliseconds = (): number => performance.eventLoopUtilization().active,
): Cancel {
  const lags = createHistogram();
  let latest = 0;
  let cancel: Cancel = () => undefined;
  let before = { at: clock.now(), worked: workedMilliseconds() };
  const next = (): void => {
    const now = { at: clock.now(), worked: workedMilliseconds() };
    const rests = now.worked - before.worked < limits.restingPart * (now.at - before.at);
    before = now;
    const wait = untilBeat(clock, rests ? limits.restingLagMilliseconds : limits.lagMilliseconds);
    const due = clock.now() + wait;
    cancel = clock.after(wait, () => {
      // In nanoseconds. A histogram takes numbers from 1.
      latest = Math.max(1, Math.round((clock.now() - due) * 1e6));
      lags.record(latest);
      next();
    });
  };
  next();
  const gauges = Object.entries(lagFigures).map(([name, [help, read]]) => ({ gauge: new Gauge({ name, help, registers: [] }), read }));
  const lag = new Gauge({
    name: 'nodejs_eventloop_lag_seconds',
    help: 'Lag of event loop in seconds.',
    registers: [registry],
    // Registered first, so it is collected before the others.
    collect: () => {
      lag.set(latest / 1e9);
      for (const { gauge, read } of gauges) gauge.set(lags.count === 0 ? 0 : read(lags) / 1e9);
      lags.reset();
    },
  });
  for (const { gauge } of gauges) registry.registerMetric(gauge);
  return () => cancel();
}
