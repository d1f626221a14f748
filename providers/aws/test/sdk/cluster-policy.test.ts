import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import { iamPolicy, type IamStatement } from '../../../../providers/aws/tables/command/iam-policy.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { fakeBackend } from '../moto/scenarios/fake-backend.ts';
import { ScenarioFixture } from '../moto/scenarios/scenario-fixture.ts';
import { scenarios } from '../moto/scenarios/scenarios.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { settings } from '../support/stack-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const nodeGroup = 'sg-00000aaa';
const vpcId = 'vpc-1';

describe('the IAM policy of one cluster', () => {
  test.each(scenarios.map(({ name, run }) => [name, run] as const))('it allows every call of the scenario: %s', async (_, run) => {
    expect.hasAssertions();
    const backend = fakeBackend();
    const herald = new FakeCloud((backend.cloud as FakeCloud).world);
    const fixture = new ScenarioFixture({ ...backend, herald });
    herald.policy = iamPolicy(fixture.settings.clusterName);
    await run(fixture);
    expect(herald.calls.length).toBeGreaterThan(0);
  });

  test('it allows a Service from its creation to its deletion, with node rules, retirement and orphans', async () => {
    const one = new ProviderFixture();
    one.cloud.policy = iamPolicy(settings.clusterName);
    const key = one.apply({ ...web, annotations: { scheme: 'internet-facing' } });
    await one.run(900);
    one.apply(web);
    await one.run(1800);
    expect(one.results.get(key)).toMatchObject({ ingress: [{ hostname: expect.any(String) }], warnings: [] });
    expect(one.results.get(key)?.reason).toBeUndefined();
    one.services.delete(key);
    one.restart();
    await one.run(14_400);
    expect([one.cloud.world.loadBalancers.size, one.cloud.world.targetGroups.size]).toEqual([0, 0]);
  });

  /** What a load balancer of cluster "test" consists of, and the cloud of a controller with the policy of cluster "other". */
  async function neighbour(): Promise<{ cloud: FakeCloud; arn: string; targetGroup: string; group: string }> {
    const one = new ProviderFixture();
    one.apply(web);
    await one.run(600);
    const { world } = one.cloud;
    const cloud = new FakeCloud(world);
    cloud.policy = iamPolicy('other');
    const [arn = ''] = world.loadBalancers.keys();
    const [targetGroup = ''] = world.targetGroups.keys();
    const group = [...world.securityGroups.keys()].find((id) => id !== nodeGroup) ?? '';
    return { cloud, arn, targetGroup, group };
  }

  type Neighbour = Awaited<ReturnType<typeof neighbour>>;
  const ours = [{ Key: 'herald.dev/cluster', Value: 'test' }];
  const IpPermissions = [{ IpProtocol: 'tcp', FromPort: 5432, ToPort: 5432, IpRanges: [{ CidrIp: '0.0.0.0/0' }] }];

  test.each<[string, (cloud: Cloud, of: Neighbour) => Promise<unknown>]>([
    ['delete its load balancer', (cloud, { arn }) => cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn: arn })],
    ['tag its load balancer', (cloud, { arn }) => cloud.call('elbv2:AddTags', { ResourceArns: [arn], Tags: ours })],
    ['take its tags', (cloud, { arn }) => cloud.call('elbv2:RemoveTags', { ResourceArns: [arn], TagKeys: ['herald.dev/cluster'] })],
    ['delete its target group', (cloud, { targetGroup }) => cloud.call('elbv2:DeleteTargetGroup', { TargetGroupArn: targetGroup })],
    [
      'register targets with it',
      (cloud, { targetGroup }) =>
        cloud.call('elbv2:RegisterTargets', { TargetGroupArn: targetGroup, Targets: [{ Id: 'i-00000000', Port: 30_080 }] }),
    ],
    [
      'deregister its targets',
      (cloud, { targetGroup }) =>
        cloud.call('elbv2:DeregisterTargets', { TargetGroupArn: targetGroup, Targets: [{ Id: 'i-00000000', Port: 30_080 }] }),
    ],
    ['delete its security group', (cloud, { group }) => cloud.call('ec2:DeleteSecurityGroup', { GroupId: group })],
    ['open its security group', (cloud, { group }) => cloud.call('ec2:AuthorizeSecurityGroupIngress', { GroupId: group, IpPermissions })],
    ['open its nodes', (cloud) => cloud.call('ec2:AuthorizeSecurityGroupIngress', { GroupId: nodeGroup, IpPermissions })],
    [
      'create a security group in its name',
      (cloud) => {
        const TagSpecifications = [{ ResourceType: 'security-group' as const, Tags: ours }];
        return cloud.call('ec2:CreateSecurityGroup', { GroupName: 'x', Description: 'x', VpcId: vpcId, TagSpecifications });
      },
    ],
  ])('a controller of another cluster cannot %s', async (_, call) => {
    const of = await neighbour();
    const before = structuredClone([...of.cloud.world.tags]);
    await expect(call(of.cloud, of)).rejects.toMatchObject({ code: 'denied' });
    expect([...of.cloud.world.tags]).toEqual(before);
  });

  test('a controller of another cluster can register targets in its target group if it is shared', async () => {
    const { cloud, targetGroup } = await neighbour();
    cloud.world.setTags(targetGroup, [{ Key: 'herald.dev/multi-cluster', Value: 'true' }]);
    const input = { TargetGroupArn: targetGroup, Targets: [{ Id: 'i-00000000', Port: 30_081 }] };
    await expect(cloud.call('elbv2:RegisterTargets', input)).resolves.toEqual({});
  });

  test('the security group of a foreign machine cannot be opened, that of a node of the cluster can', async () => {
    const { cloud } = new ProviderFixture();
    cloud.policy = iamPolicy('test');
    const payroll = { GroupId: 'sg-00000bbb', GroupName: 'payroll-db', Description: '', VpcId: vpcId, IpPermissions: [], Tags: [] };
    cloud.world.securityGroups.set(payroll.GroupId, payroll);
    const open = (GroupId: string): Promise<unknown> => cloud.call('ec2:AuthorizeSecurityGroupIngress', { GroupId, IpPermissions });
    await expect(open(payroll.GroupId)).rejects.toMatchObject({ code: 'denied' });
    await expect(open(nodeGroup)).resolves.toEqual({});
  });

  test('it fits into one managed policy, whatever the name of the cluster', () => {
    // IAM allows 6,144 characters without white space.
    expect(JSON.stringify(iamPolicy('x'.repeat(100))).length).toBeLessThan(6144);
  });

  test('it grants the actions of the documented policy, which is the same without a cluster', () => {
    const documented: unknown = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../../../docs/reference/aws-iam-policy.json'), 'utf8'),
    );
    expect(iamPolicy()).toEqual(documented);
    const actions = ({ Statement }: { readonly Statement: readonly IamStatement[] }): Set<string> =>
      new Set(Statement.flatMap(({ Action }) => Action));
    expect(actions(iamPolicy('a'))).toEqual(actions(iamPolicy()));
  });
});
