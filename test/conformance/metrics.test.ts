import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { sampleOf, samplesOf } from '../unit/telemetry/scrape.ts';
import { freePorts } from './free-port.ts';
import { apply } from './manifests.ts';
import { loadBalancer, ServiceCluster } from './services.ts';

/** Metrics of a controller with a real API server. bootstrap.test.ts tests those of an agent. */
let services: ServiceCluster;
let url: string;

beforeAll(async () => {
  // The pool has one address, enough for one Service.
  services = await ServiceCluster.start(['192.0.2.1/32']);
  const [port] = await freePorts(1);
  url = `http://127.0.0.1:${port}/metrics`;
  await services.startController('--metrics-address', `127.0.0.1:${port}`, '--health-address', 'none');
});

afterAll(() => services?.stop());

async function scrape(): Promise<string> {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  return answer.text();
}

/** Sums all series of a metric that have these labels. */
function sum(text: string, metric: string, labels = ''): number {
  return [...samplesOf(text, metric)].filter(([series]) => series.includes(labels)).reduce((total, [, value]) => total + value, 0);
}

test('each resource is listed once and then watched', async () => {
  const text = await scrape();
  expect(sampleOf(text, 'herald_watch_lists_total{resource="services"}')).toBe(1);
  expect(sampleOf(text, 'herald_watch_lists_total{resource="ipaddresspools.herald.dev"}')).toBe(1);
  expect(sampleOf(text, 'herald_watch_last_heard_timestamp_seconds{resource="services"}')).toBeGreaterThan(1_700_000_000);
  expect(sum(text, 'herald_api_requests_total', 'verb="WATCH",code="200"')).toBeGreaterThan(1);
  expect(sampleOf(text, 'herald_pool_addresses{pool="main",family="ipv4",state="assigned"}')).toBe(0);
});

test('events, reconciles, status writes and requests count a Service that gets its address', async () => {
  const before = await scrape();
  await apply(services.cluster, loadBalancer('first'));
  await services.untilAddresses('first', 1);
  const moved = await until('the metrics have counted the change', async () => {
    const after = await scrape();
    const more = (metric: string, labels = ''): boolean => sum(after, metric, labels) > sum(before, metric, labels);
    return (
      more('herald_watch_events_total', 'resource="services"') &&
      more('herald_reconcile_duration_seconds_count') &&
      more('herald_status_writes_total') &&
      more('herald_api_request_duration_seconds_count') &&
      sampleOf(after, 'herald_pool_addresses{pool="main",family="ipv4",state="assigned"}') === 1
    );
  });
  expect(moved).toBe(true);
});

test('a waiting Service counts by reason and pool while it waits', async () => {
  const waiting = 'herald_pending_services_by_pool{pool="main",reason="PoolFull"}';
  expect(sampleOf(await scrape(), waiting) ?? 0).toBe(0);
  await apply(services.cluster, loadBalancer('second'));
  await until('the Service waits', async (note) => note(sampleOf(await scrape(), waiting)) === 1);
  expect(sum(await scrape(), 'herald_pending_services')).toBeGreaterThan(0);
  await services.cluster.request({ method: 'DELETE', path: `${services.path}/first` });
  await services.untilAddresses('second', 1);
  await until('no Service waits', async (note) => (note(sampleOf(await scrape(), waiting)) ?? 0) === 0);
});

test('watch failures are counted, and the time of the last contact moves again', async () => {
  const heard = 'herald_watch_last_heard_timestamp_seconds{resource="services"}';
  const before = await scrape();
  await services.cluster.stopApiServer();
  await until(
    'the failure is counted',
    async (note) =>
      note(sum(await scrape(), 'herald_watch_failures_total', 'resource="services"')) >
      sum(before, 'herald_watch_failures_total', 'resource="services"'),
  );
  await services.cluster.startApiServer();
  await until(
    'the API server answers again',
    async (note) => Number(note(sampleOf(await scrape(), heard))) > Number(sampleOf(before, heard)),
  );
});
