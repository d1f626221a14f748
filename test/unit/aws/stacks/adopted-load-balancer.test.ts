import { expect, test } from 'vitest';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

/** An NLB that somebody has made, with these tags. Resolves to its ARN. */
async function theirs(town: ProviderFixture, tags: Readonly<Record<string, string>>): Promise<string> {
  const { LoadBalancers } = await town.cloud.call('elbv2:CreateLoadBalancer', {
    Name: 'theirs',
    Type: 'network',
    Scheme: 'internal',
    IpAddressType: 'ipv4',
    SubnetMappings: [{ SubnetId: 'subnet-private-0' }],
    SecurityGroups: ['sg-00000aaa'],
    Tags: Object.entries({ team: 'payments', ...tags }).map(([Key, Value]) => ({ Key, Value })),
  });
  town.cloud.world.clock.advance(600_000);
  return LoadBalancers[0]?.LoadBalancerArn ?? '';
}

function adopting(town: ProviderFixture, name: string): ServiceKey {
  return town.apply({ name: 'web', ports: ['http:80/TCP@30080'], annotations: { 'herald.dev/aws-load-balancer': name } });
}

const mine = { 'herald.dev/cluster': 'test' };
const tagsOf = (town: ProviderFixture, arn: string): Record<string, string> => Object.fromEntries(town.cloud.world.tags.get(arn) ?? []);

test.each(['theirs', 'its ARN'])('an NLB that its owner has not tagged for the cluster gets nothing of ours: %s', async (by) => {
  const town = new ProviderFixture();
  const arn = await theirs(town, {});
  const key = adopting(town, by === 'theirs' ? by : arn);
  await town.run(300);
  expect(town.results.get(key)).toMatchObject({
    ingress: [],
    reason: { code: 'AwsForeignLoadBalancer', details: { name: 'theirs', why: 'its owner has not tagged it herald.dev/cluster: test' } },
  });
  expect(town.cloud.world.listeners.size).toBe(0);
  expect(tagsOf(town, arn)).toEqual({ team: 'payments' });
  town.delete(key);
  await town.run(300);
  expect([town.services.has(key), town.cloud.world.targetGroups.size, town.cloud.world.loadBalancers.size]).toEqual([false, 0, 1]);
});

test.each(['elbv2.k8s.aws/cluster', 'kubernetes.io/service-name'])('an NLB that another controller tends is refused: %s', async (tag) => {
  const town = new ProviderFixture();
  await theirs(town, { ...mine, [tag]: 'default/web' });
  const key = adopting(town, 'theirs');
  await town.run(300);
  expect(town.results.get(key)?.reason).toMatchObject({ code: 'AwsForeignLoadBalancer', details: { why: `it carries the tag ${tag}` } });
  expect(town.cloud.world.listeners.size).toBe(0);
});

test('an NLB that was given to us gets no listener before it has our tags', async () => {
  const town = new ProviderFixture();
  await theirs(town, mine);
  town.cloud.fault = ({ operation }) => (operation === 'elbv2:AddTags' ? { kind: 'error', code: 'denied' } : undefined);
  const key = adopting(town, 'theirs');
  await town.run(300);
  expect(town.results.get(key)).toMatchObject({ ingress: [], reason: { code: 'AwsRefused' } });
  expect(town.cloud.world.listeners.size).toBe(0);
});

test('an NLB that was given to us is given for as long as its owner says so', async () => {
  const town = new ProviderFixture();
  const arn = await theirs(town, mine);
  const first = adopting(town, 'theirs');
  await town.run(300);
  town.delete(first);
  await town.run(600);
  expect(tagsOf(town, arn)).toEqual({ team: 'payments', ...mine });
  const again = adopting(town, 'theirs');
  await town.run(300);
  expect(town.results.get(again)?.ingress).toHaveLength(1);
});

test.each(['goes on', 'is started anew'])(
  'a Service can be deleted after the owner has taken our tags off its NLB, and the controller %s',
  async (controller) => {
    const town = new ProviderFixture();
    const arn = await theirs(town, mine);
    const key = adopting(town, 'theirs');
    await town.run(300);
    expect(town.cloud.world.listeners.size).toBe(1);
    town.cloud.world.tags.set(arn, new Map([['team', 'payments']]));
    if (controller === 'is started anew') town.restart();
    await town.run(300);
    town.delete(key);
    await town.run(600);
    expect([town.services.has(key), town.cloud.world.listeners.size, town.cloud.world.targetGroups.size]).toEqual([false, 0, 0]);
    expect([town.cloud.world.loadBalancers.size, tagsOf(town, arn)]).toEqual([1, { team: 'payments' }]);
  },
);
