import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../../providers/aws/cloud/operations.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { sleep } from '../../../../src/system/clock.ts';
import { service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';

/** How long AWS works on each call, and how many calls it works on at a time. */
const [callMilliseconds, callsAtOnce] = [40, 8];
const stepMilliseconds = 10;

/** A controller whose calls take time. AWS activates load balancers at once, as moto does. */
async function started(): Promise<ControllerFixture> {
  const fixture = new ControllerFixture();
  const { world } = fixture.cloud;
  world.provisioningSeconds = 0;
  Object.assign(world.quotas, { loadBalancers: 1000 });
  const free = Array.from({ length: callsAtOnce }, () => 0);
  fixture.cloud.latency = async () => {
    const now = world.clock.now();
    const [first = 0] = free.toSorted((a, b) => a - b);
    const end = Math.max(first, now) + callMilliseconds;
    free[free.indexOf(first)] = end;
    await sleep(world.clock, end - now);
  };
  await fixture.start();
  return fixture;
}

function apply(fixture: ControllerFixture, name: string, port: number): ServiceKey {
  return fixture.apply(service({ name, loadBalancerClass: 'herald.dev/aws', ports: [`http:80/TCP@${port}`] }));
}

/** Lets time pass until the condition holds, but no longer than `milliseconds`. Returns the seconds that it took. */
async function until(fixture: ControllerFixture, holds: () => boolean, milliseconds = 120_000): Promise<number> {
  const { clock } = fixture.cloud.world;
  const began = clock.now();
  while (!holds() && clock.now() - began < milliseconds) {
    clock.advance(stepMilliseconds);
    await fixture.turn();
  }
  return (clock.now() - began) / 1000;
}

function applyMany(fixture: ControllerFixture, count: number): ServiceKey[] {
  return Array.from({ length: count }, (_, index) => apply(fixture, `web-${index}`, 30_000 + index));
}

function countOf({ cloud }: ControllerFixture, operation: Operation): number {
  return cloud.calls.filter((call) => call.operation === operation).length;
}

describe('a Service that comes while 53 others are in progress', () => {
  test('has its host name within 3 seconds, and the others are checked only after all host names', async () => {
    const fixture = await started();
    const { world } = fixture.cloud;
    const others = applyMany(fixture, 53);
    const isPublished = (key: ServiceKey): boolean => fixture.ingress(key).length > 0;
    await until(fixture, () => world.loadBalancers.size >= others.length / 2);
    const late = apply(fixture, 'late', 31_000);
    expect(await until(fixture, () => isPublished(late))).toBeLessThan(3);
    await until(fixture, () => others.every(isPublished));
    expect(countOf(fixture, 'elbv2:DescribeTargetHealth')).toBeLessThan(10);
    await until(fixture, () => countOf(fixture, 'elbv2:DescribeTargetHealth') >= 54);
    expect(fixture.cloud.calls.length / 54).toBeLessThan(12);
    // A pass over the rules of nodes serves all Services that have come during the pass before it.
    expect(countOf(fixture, 'ec2:DescribeInstances')).toBeLessThan(10);
  }, 60_000);

  test('has its load balancer within 3 seconds while AWS activates those of 100 others, which hold no slot', async () => {
    const fixture = await started();
    const { world } = fixture.cloud;
    world.provisioningSeconds = 120;
    applyMany(fixture, 100);
    await until(fixture, () => world.loadBalancers.size === 100);
    apply(fixture, 'late', 31_000);
    expect(await until(fixture, () => world.loadBalancers.size === 101)).toBeLessThan(3);
  }, 60_000);
});

describe('a new load balancer', () => {
  test('is published before its node rules are complete, and the next check reports refused rules', async () => {
    const fixture = await started();
    fixture.cloud.fault = ({ operation }) => (operation === 'ec2:DescribeInstances' ? { kind: 'error', code: 'denied' } : undefined);
    const key = apply(fixture, 'web', 30_000);
    await until(fixture, () => fixture.ingress(key).length > 0);
    expect(fixture.condition(key)).toBe('True Assigned');
    await until(fixture, () => fixture.condition(key) === 'False AwsRefused');
    expect(fixture.ingress(key)).toHaveLength(1);
  });

  test.each([
    [
      'is not listed yet',
      ({ cloud }: ControllerFixture) => {
        cloud.fault = ({ operation, input }) =>
          operation === 'elbv2:DescribeLoadBalancers' && 'LoadBalancerArns' in (input as object) && cloud.world.clock.now() < 4000
            ? { kind: 'error', code: 'notFound' }
            : undefined;
      },
    ],
    ['is not active yet', ({ cloud }: ControllerFixture) => void (cloud.world.provisioningSeconds = 4)],
  ])('that %s keeps the Service waiting, and is created once', async (_, delay) => {
    const fixture = await started();
    delay(fixture);
    const key = apply(fixture, 'web', 30_000);
    await until(fixture, () => fixture.ingress(key).length > 0, 3000);
    expect(fixture.condition(key)).toBe('False AwsProvisioning');
    await until(fixture, () => fixture.ingress(key).length > 0);
    await until(fixture, () => false, 20_000);
    expect([fixture.condition(key), countOf(fixture, 'elbv2:CreateLoadBalancer')]).toEqual(['True Assigned', 1]);
  });
});
