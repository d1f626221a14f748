import { expect, test } from 'vitest';
import { isWrite } from '../../../../providers/aws/cloud/operations.ts';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { DriftIntervals } from '../../../../providers/aws/schedule/drift-intervals.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const key = 'default/web' as ServiceKey;
const web = { name: 'web', ports: ['http:80/TCP@30080'] } as const;

test('a check without a find doubles the interval up to the longest, a find resets it to the shortest', () => {
  const intervals = new DriftIntervals();
  const quiet = (): number => intervals.next(key, true, 300);
  expect([quiet(), quiet(), quiet()]).toEqual([300, 600, 1200]);
  for (let check = 0; check < 10; check++) quiet();
  expect(quiet()).toBe(limits.driftMaximumSeconds);
  expect([intervals.next(key, false, 300), quiet(), quiet()]).toEqual([300, 300, 600]);
});

test('an unchanged load balancer costs about one read per hour, besides the scans of the account', async () => {
  const fixture = new ProviderFixture();
  fixture.apply(web);
  await fixture.run(24 * 3600);
  const before = fixture.cloud.calls.length;
  const days = 2;
  await fixture.run(days * 24 * 3600);
  const calls = fixture.cloud.calls.slice(before);
  expect(calls.filter(({ operation }) => isWrite(operation))).toEqual([]);
  // These operations are part of checks only, not of scans.
  const deep = calls.filter(({ operation }) => /Attributes|Listeners|TargetHealth/.test(operation));
  expect(deep.length).toBeGreaterThan(0);
  expect(deep.length).toBeLessThanOrEqual(days * 24);
  const listeners = deep.filter(({ operation }) => operation === 'elbv2:DescribeListeners');
  expect(listeners.length).toBeLessThanOrEqual((days * 24 * 3600) / limits.driftMaximumSeconds);
}, 60_000);

test('a tag that is removed after a quiet hour is restored after the next scan of the account', async () => {
  const fixture = new ProviderFixture();
  fixture.apply({ ...web, annotations: { 'additional-resource-tags': 'team=a' } });
  await fixture.run(6 * limits.sweepSeconds);
  const [arn = ''] = fixture.cloud.world.loadBalancers.keys();
  const tags = fixture.cloud.world.tags.get(arn);
  expect(tags?.delete('team')).toBe(true);
  await fixture.run(8 * limits.sweepSeconds);
  expect(fixture.cloud.world.tags.get(arn)?.has('team')).toBe(true);
}, 60_000);
