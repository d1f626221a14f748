import { expect, test } from 'vitest';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

/** Creates an NLB of the user with these tags. Resolves to its ARN. */
async function theirs(fixture: ProviderFixture, tags: Readonly<Record<string, string>>): Promise<string> {
  const { LoadBalancers } = await fixture.cloud.call('elbv2:CreateLoadBalancer', {
    Name: 'theirs',
    Type: 'network',
    Scheme: 'internal',
    IpAddressType: 'ipv4',
    SubnetMappings: [{ SubnetId: 'subnet-private-0' }],
    SecurityGroups: ['sg-00000aaa'],
    Tags: Object.entries({ team: 'payments', ...tags }).map(([Key, Value]) => ({ Key, Value })),
  });
  fixture.cloud.world.clock.advance(600_000);
  return LoadBalancers[0]?.LoadBalancerArn ?? '';
}

function adopting(fixture: ProviderFixture, name: string): ServiceKey {
  return fixture.apply({ name: 'web', ports: ['http:80/TCP@30080'], annotations: { 'herald.dev/aws-load-balancer': name } });
}

const mine = { 'herald.dev/cluster': 'test' };
const tagsOf = (fixture: ProviderFixture, arn: string): Record<string, string> =>
  Object.fromEntries(fixture.cloud.world.tags.get(arn) ?? []);

test.each(['theirs', 'its ARN'])('an NLB that its owner has not tagged for the cluster is not changed, when named by %s', async (by) => {
  const fixture = new ProviderFixture();
  const arn = await theirs(fixture, {});
  const key = adopting(fixture, by === 'theirs' ? by : arn);
  await fixture.run(300);
  expect(fixture.results.get(key)).toMatchObject({
    ingress: [],
    reason: { code: 'AwsForeignLoadBalancer', details: { name: 'theirs', why: 'its owner has not tagged it herald.dev/cluster: test' } },
  });
  expect(fixture.cloud.world.listeners.size).toBe(0);
  expect(tagsOf(fixture, arn)).toEqual({ team: 'payments' });
  fixture.delete(key);
  await fixture.run(300);
  expect([fixture.services.has(key), fixture.cloud.world.targetGroups.size, fixture.cloud.world.loadBalancers.size]).toEqual([false, 0, 1]);
});

test.each(['elbv2.k8s.aws/cluster', 'kubernetes.io/service-name'])("an NLB with another controller's tag %s is refused", async (tag) => {
  const fixture = new ProviderFixture();
  await theirs(fixture, { ...mine, [tag]: 'default/web' });
  const key = adopting(fixture, 'theirs');
  await fixture.run(300);
  expect(fixture.results.get(key)?.reason).toMatchObject({ code: 'AwsForeignLoadBalancer', details: { why: `it carries the tag ${tag}` } });
  expect(fixture.cloud.world.listeners.size).toBe(0);
});

test('an adopted NLB gets no listener before it has our tags', async () => {
  const fixture = new ProviderFixture();
  await theirs(fixture, mine);
  fixture.cloud.fault = ({ operation }) => (operation === 'elbv2:AddTags' ? { kind: 'error', code: 'denied' } : undefined);
  const key = adopting(fixture, 'theirs');
  await fixture.run(300);
  expect(fixture.results.get(key)).toMatchObject({ ingress: [], reason: { code: 'AwsRefused' } });
  expect(fixture.cloud.world.listeners.size).toBe(0);
});

test("an NLB stays adoptable after its Service was deleted, as long as its owner's tag is there", async () => {
  const fixture = new ProviderFixture();
  const arn = await theirs(fixture, mine);
  const first = adopting(fixture, 'theirs');
  await fixture.run(300);
  fixture.delete(first);
  await fixture.run(600);
  expect(tagsOf(fixture, arn)).toEqual({ team: 'payments', ...mine });
  const again = adopting(fixture, 'theirs');
  await fixture.run(300);
  expect(fixture.results.get(again)?.ingress).toHaveLength(1);
});

test.each(['continues', 'restarts'])(
  'a Service can be deleted after the owner removed our tags from its NLB, when the controller %s',
  async (controller) => {
    const fixture = new ProviderFixture();
    const arn = await theirs(fixture, mine);
    const key = adopting(fixture, 'theirs');
    await fixture.run(300);
    expect(fixture.cloud.world.listeners.size).toBe(1);
    fixture.cloud.world.tags.set(arn, new Map([['team', 'payments']]));
    if (controller === 'restarts') fixture.restart();
    await fixture.run(300);
    fixture.delete(key);
    await fixture.run(600);
    expect([fixture.services.has(key), fixture.cloud.world.listeners.size, fixture.cloud.world.targetGroups.size]).toEqual([false, 0, 0]);
    expect([fixture.cloud.world.loadBalancers.size, tagsOf(fixture, arn)]).toEqual([1, { team: 'payments' }]);
  },
);
