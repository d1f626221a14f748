import { expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { PollIntervals } from '../../../../providers/aws/schedule/poll-intervals.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const key = 'default/web' as ServiceKey;
const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const a = { name: 'a', ports: ['http:80/TCP@30080'], createdAt: '2026-01-01T00:00:00Z' } as const;
const b = { name: 'b', ports: ['http:81/TCP@31081'], createdAt: '2026-01-02T00:00:00Z' } as const;

test('who waits for one and the same thing looks after an eighth of the time that he has waited', () => {
  const patience = new PollIntervals();
  const waits = [0, 30, 80, 400, 2000, 100_000].map((seconds) => patience.wait(key, 'x', seconds * 1000));
  expect(waits).toEqual([5, 5, 10, 50, 250, limits.driftSeconds]);
  expect(patience.wait(key, 'y', 100_010_000)).toBe(limits.pollSeconds);
  patience.forgetService(key);
  expect(patience.wait(key, 'y', 200_000_000)).toBe(limits.pollSeconds);
});

test('what a mistake of another Service holds up is told, and costs little until somebody corrects it', async () => {
  const town = new ProviderFixture();
  const first = town.apply({ ...a, annotations: { ...shared, scheme: 'internal' } });
  const second = town.apply({ ...b, annotations: shared });
  await town.run(400);
  town.apply({ ...b, annotations: { ...shared, 'healthcheck-interval': 'x' } });
  await town.run(60);
  const before = town.results.get(second)?.ingress;
  town.apply({ ...a, annotations: { ...shared, scheme: 'internet-facing' } });
  await town.run(1200);
  expect(town.results.get(first)?.warnings?.map(({ code }) => code)).toContain('AwsWaitsLong');
  expect(town.results.get(second)?.ingress).toEqual(before);
  const calls = town.cloud.calls.length;
  await town.run(600);
  expect(town.cloud.calls.length - calls).toBeLessThan(400);
  town.apply({ ...b, annotations: shared });
  await town.run(900);
  expect([town.cloud.world.loadBalancers.size, town.results.get(first)?.warnings, town.results.get(second)?.warnings]).toEqual([1, [], []]);
  expect(town.results.get(second)?.ingress).toEqual(town.results.get(first)?.ingress);
});
