import { expect, test } from 'vitest';
import { Health } from '../../../src/telemetry/health.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { metricsAnswer } from '../../../src/telemetry/metrics-answer.ts';

test('a process without parts is alive', () => {
  expect(new Health().answer('/livez')).toMatchObject({ status: 200, body: '[+]ping ok\nlivez check passed\n' });
});

test('a part that is not ready fails readyz alone, with the part and its reason', () => {
  const health = new Health();
  let problem: string | undefined = 'the first pass is not committed';
  health.addCheck({ name: 'forwarding', ready: () => problem });
  expect(health.answer('/readyz')).toMatchObject({
    status: 503,
    body: '[+]ping ok\n[-]forwarding: the first pass is not committed\nreadyz check failed\n',
  });
  expect(health.answer('/livez').status).toBe(200);
  expect(health.answer('/healthz').status).toBe(200);
  expect(health.ready).toBe(false);
  problem = undefined;
  expect(health.answer('/readyz')).toMatchObject({ status: 200, body: '[+]ping ok\n[+]forwarding ok\nreadyz check passed\n' });
  expect(health.ready).toBe(true);
});

test('a part that hangs is neither alive nor ready', () => {
  const health = new Health();
  const remove = health.addCheck({ name: 'passes', live: () => 'a pass has been running for 601 s', ready: () => undefined });
  for (const path of ['/livez', '/healthz', '/readyz']) {
    expect([path, health.answer(path).status]).toEqual([path, 503]);
    expect(health.answer(path).body).toContain('[-]passes: a pass has been running for 601 s\n');
  }
  remove();
  expect(health.answer('/livez').status).toBe(200);
});

test('the answer to an unknown path names the existing paths', async () => {
  expect(new Health().answer('/')).toMatchObject({ status: 404, body: 'not found: /livez, /readyz or /healthz\n' });
  expect(await metricsAnswer(new Metrics(), '/')).toMatchObject({ status: 404, body: 'not found: /metrics\n' });
  expect(await metricsAnswer(new Metrics(), '/metrics')).toMatchObject({
    status: 200,
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: expect.stringContaining('# TYPE herald_scrape_failures_total counter'),
  });
});
