import { expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { PollIntervals } from '../../../../providers/aws/schedule/poll-intervals.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const key = 'default/web' as ServiceKey;
const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const a = { name: 'a', ports: ['http:80/TCP@30080'], createdAt: '2026-01-01T00:00:00Z' } as const;
const b = { name: 'b', ports: ['http:81/TCP@31081'], createdAt: '2026-01-02T00:00:00Z' } as const;

test('the first poll comes soon, and later intervals are an eighth of the time waited for the same thing', () => {
  const intervals = new PollIntervals();
  const waits = [0, 30, 80, 400, 2000, 100_000].map((seconds) => intervals.intervalSeconds(key, 'x', seconds * 1000));
  expect(waits).toEqual([1, 5, 10, 50, 250, limits.driftSeconds]);
  expect(intervals.intervalSeconds(key, 'y', 100_010_000)).toBe(limits.firstPollSeconds);
  intervals.forgetService(key);
  expect(intervals.intervalSeconds(key, 'y', 200_000_000)).toBe(limits.firstPollSeconds);
});

test("a wait caused by another Service's error is reported and polled rarely until the error is corrected", async () => {
  const fixture = new ProviderFixture();
  const first = fixture.apply({ ...a, annotations: { ...shared, scheme: 'internal' } });
  const second = fixture.apply({ ...b, annotations: shared });
  await fixture.run(400);
  fixture.apply({ ...b, annotations: { ...shared, 'healthcheck-interval': 'x' } });
  await fixture.run(60);
  const before = fixture.results.get(second)?.ingress;
  fixture.apply({ ...a, annotations: { ...shared, scheme: 'internet-facing' } });
  await fixture.run(1200);
  expect(fixture.results.get(first)?.warnings?.map(({ code }) => code)).toContain('AwsWaitsLong');
  expect(fixture.results.get(second)?.ingress).toEqual(before);
  const calls = fixture.cloud.calls.length;
  await fixture.run(600);
  expect(fixture.cloud.calls.length - calls).toBeLessThan(400);
  fixture.apply({ ...b, annotations: shared });
  await fixture.run(900);
  expect([fixture.cloud.world.loadBalancers.size, fixture.results.get(first)?.warnings, fixture.results.get(second)?.warnings]).toEqual([
    1,
    [],
    [],
  ]);
  expect(fixture.results.get(second)?.ingress).toEqual(fixture.results.get(first)?.ingress);
});
