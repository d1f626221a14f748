import { describe, expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { isWrite } from '../../../../providers/aws/cloud/operations.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { node } from '../support/stack-fixture.ts';

const count = 20;

/** A controller with 20 Services that were applied at once. AWS needs two minutes to activate their load balancers. */
async function created(): Promise<{ fixture: ControllerFixture; keys: ServiceKey[] }> {
  const fixture = new ControllerFixture();
  await fixture.start();
  const indexes = Array.from({ length: count }, (_, index) => index);
  const keys = indexes.map((index) =>
    fixture.apply(service({ name: `web-${index}`, loadBalancerClass: 'herald.dev/aws', ports: [`http:80/TCP@${30_080 + index}`] })),
  );
  await seconds(fixture, 180);
  expect(keys.filter((key) => fixture.ingress(key).length === 0)).toEqual([]);
  return { fixture, keys };
}

async function seconds(fixture: ControllerFixture, length: number): Promise<void> {
  for (let second = 0; second < length; second++) {
    for (let turn = 0; turn < 20; turn++) await fixture.turn();
    fixture.cloud.world.clock.advance(1000);
  }
}

function byOperation({ cloud }: ControllerFixture, from = 0): Record<string, number> {
  const groups = Object.groupBy(cloud.calls.slice(from), ({ operation }) => operation);
  return Object.fromEntries(Object.entries(groups).map(([operation, calls]) => [operation, calls.length]));
}

describe('requests for 20 Services', () => {
  test('a Service costs fewer than 13, of them 6 writes, while AWS activates its load balancer', async () => {
    const { fixture } = await created();
    const { calls, writes } = fixture.cloud;
    expect(calls.length / count).toBeLessThan(13);
    // All share the security group by which nodes admit load balancers, and its rule.
    expect(writes).toHaveLength(6 * count + 2);
  }, 60_000);

  test('nothing is asked after the host names are published, until the next check for drift', async () => {
    const { fixture, keys } = await created();
    const before = fixture.cloud.calls.length;
    await seconds(fixture, limits.driftSeconds - 120);
    expect(byOperation(fixture, before)).toEqual({});
    await seconds(fixture, 120);
    const checks = fixture.cloud.calls.slice(before).filter(({ operation }) => operation === 'elbv2:DescribeListeners');
    expect(checks).toHaveLength(keys.length);
  }, 60_000);

  test('Herald reads changes of another program before it writes, when it waited for AWS', async () => {
    const fixture = new ControllerFixture();
    await fixture.start();
    const literal = { name: 'web', loadBalancerClass: 'herald.dev/aws' } as const;
    fixture.apply(service({ ...literal, ports: ['http:80/TCP@30080'] }));
    await seconds(fixture, 10);
    const [arn = ''] = fixture.cloud.world.targetGroups.keys();
    await fixture.cloud.call('elbv2:ModifyTargetGroupAttributes', {
      TargetGroupArn: arn,
      Attributes: [{ Key: 'proxy_protocol_v2.enabled', Value: 'true' }],
    });
    await seconds(fixture, 20);
    const writes = fixture.cloud.writes.length;
    // A new node must become a target.
    fixture.source.put(node(2));
    await seconds(fixture, 20);
    const later = fixture.cloud.calls.filter(({ operation }) => isWrite(operation)).slice(writes);
    expect(later.map(({ operation }) => operation).toSorted()).toEqual(['elbv2:ModifyTargetGroupAttributes', 'elbv2:RegisterTargets']);
  }, 60_000);
});
