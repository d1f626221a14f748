import { expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

test('a Classic ELB reports once that its only subnet cannot be exchanged within its zone', async () => {
  const town = new ProviderFixture();
  const { subnets, classic } = town.cloud.world;
  const present = subnets.get('subnet-private-0') ?? expect.unreachable('no such subnet');
  subnets.set('subnet-0b', { ...present, SubnetId: 'subnet-0b', CidrBlock: '10.0.200.0/24' });
  const web = { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws-classic' } as const;
  const key = town.apply({ ...web, annotations: { subnets: 'subnet-private-0' } });
  await town.run(400);
  town.apply({ ...web, annotations: { subnets: 'subnet-0b' } });
  await town.run(100);
  expect(town.results.get(key)?.reason).toMatchObject({ code: 'AwsSubnetUnusable', details: { subnet: 'subnet-0b' } });
  expect([...classic.values()].map(({ value }) => value.Subnets)).toEqual([['subnet-private-0']]);
  const looks = (): number => town.cloud.calls.filter(({ operation }) => operation === 'elb:DescribeInstanceHealth').length;
  const before = looks();
  await town.run(2 * limits.driftSeconds);
  expect(looks() - before).toBeLessThanOrEqual(3);
});

test.each([2, 3])('a Classic ELB gets other subnets in each of its %i zones, and is always in one', async (count) => {
  const town = new ProviderFixture();
  const { subnets, classic } = town.cloud.world;
  const zones = [0, 1, 2].slice(0, count);
  for (const zone of zones) {
    const present = subnets.get(`subnet-private-${zone}`) ?? expect.unreachable('no such subnet');
    subnets.set(`subnet-${zone}b`, { ...present, SubnetId: `subnet-${zone}b`, CidrBlock: `10.0.20${zone}.0/24` });
  }
  const web = { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws-classic' } as const;
  const key = town.apply({ ...web, annotations: { subnets: zones.map((zone) => `subnet-private-${zone}`).join() } });
  await town.run(400);
  town.apply({ ...web, annotations: { subnets: zones.map((zone) => `subnet-${zone}b`).join() } });
  await town.run(200);
  expect(town.results.get(key)?.reason).toBeUndefined();
  expect([...classic.values()].map(({ value }) => value.Subnets.toSorted())).toEqual([zones.map((zone) => `subnet-${zone}b`)]);
});
