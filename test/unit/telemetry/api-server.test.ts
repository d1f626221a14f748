import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { ApiServerMetrics, resourceOf } from '../../../src/telemetry/api-server.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { sampleOf, samplesOf } from './scrape.ts';

test.each([
  ['/api/v1/services', 'services'],
  ['/api/v1/namespaces/herald-system/secrets', 'secrets'],
  ['/apis/discovery.k8s.io/v1/endpointslices', 'endpointslices.discovery.k8s.io'],
  ['/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools', 'ipaddresspools.metallb.io'],
])('path %s is resource %s', (path, resource) => {
  expect(resourceOf(path)).toBe(resource);
});

test('requests are counted by verb and code and timed; a watch is not timed', async () => {
  const metrics = new Metrics();
  const api = new ApiServerMetrics(metrics, new VirtualClock());
  api.request('GET', 200, 20);
  api.request('PATCH', 409, 5);
  api.request('WATCH', 200, 3);
  api.request('WATCH', 'unreachable', 3);
  const text = await metrics.text();
  expect(sampleOf(text, 'herald_api_requests_total{verb="PATCH",code="409"}')).toBe(1);
  expect(sampleOf(text, 'herald_api_requests_total{verb="WATCH",code="unreachable"}')).toBe(1);
  expect(sampleOf(text, 'herald_api_request_duration_seconds_sum{verb="GET"}')).toBe(0.02);
  expect(sampleOf(text, 'herald_api_request_duration_seconds_count{verb="WATCH"}')).toBeUndefined();
});

test('the last event of a resource is exposed as long as a watch follows it', async () => {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const api = new ApiServerMetrics(metrics, clock);
  const start = clock.date().getTime() / 1000;
  api.listed('/api/v1/services');
  clock.advance(60_000);
  api.watchEvent('/api/v1/services', 'bookmark');
  const at = 'herald_watch_last_heard_timestamp_seconds{resource="services"}';
  expect(sampleOf(await metrics.text(), at)).toBe(start + 60);
  expect(sampleOf(await metrics.text(), 'herald_watch_lists_total{resource="services"}')).toBe(1);
  api.watchEnded('/api/v1/services');
  expect(samplesOf(await metrics.text(), 'herald_watch_last_heard_timestamp_seconds').size).toBe(0);
});
