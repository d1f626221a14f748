import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import { resourceName } from '../../../../providers/aws/model/resource-names.ts';
import type { World } from '../moto/fake/world.ts';
import { anyMember } from '../support/arbitrary-services.ts';
import { StackFixture, awsMember } from '../support/stack-fixture.ts';
import { runs } from '../../../../test/support/property.ts';

const stack = stackOf(awsMember('nlb', { name: 'web' }));

/** Tags of foreign resources: none, those of other controllers, those of another cluster, and tags that only resemble ours. */
const foreignTags: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'elbv2.k8s.aws/cluster': 'test', 'service.k8s.aws/stack': 'default/web' },
  { 'kubernetes.io/cluster/test': 'owned', 'kubernetes.io/service-name': 'default/web' },
  { 'herald.dev/cluster': 'other', 'herald.dev/stack': 'default/web', 'herald.dev/resource': 'load-balancer' },
  { 'herald.dev/stack': 'default/web', 'herald.dev/resource': 'load-balancer' },
  { 'herald.dev/cluster': 'test', 'herald.dev/stack': 'default/other', 'herald.dev/resource': 'load-balancer' },
];

interface Foreign {
  readonly tags: Readonly<Record<string, string>>;
  /** True if the resource has the name that ours would get. */
  readonly sameName: boolean;
}

async function addForeign(account: StackFixture, { tags, sameName }: Foreign): Promise<void> {
  const { cloud } = account;
  const name = (kind: string, scheme: string): string =>
    sameName ? resourceName('default', 'web', 'test', 'default/web', kind, scheme) : 'somebody-elses';
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const { LoadBalancers } = await cloud.call('elbv2:CreateLoadBalancer', {
    Name: name('nlb', 'internet-facing'),
    Type: 'network',
    Scheme: 'internet-facing',
    IpAddressType: 'ipv4',
    SubnetMappings: [{ SubnetId: 'subnet-public-0' }],
    SecurityGroups: ['sg-00000aaa'],
    Tags,
  });
  const { TargetGroups } = await cloud.call('elbv2:CreateTargetGroup', {
    Name: 'somebody-elses',
    Protocol: 'TCP',
    Port: 80,
    VpcId: 'vpc-1',
    TargetType: 'instance',
    IpAddressType: 'ipv4',
    Tags,
  });
  const [group] = TargetGroups;
  const [balancer] = LoadBalancers;
  await cloud.call('elbv2:CreateListener', {
    LoadBalancerArn: balancer?.LoadBalancerArn ?? '',
    Port: 80,
    Protocol: 'TCP',
    DefaultActions: [{ Type: 'forward', TargetGroupArn: group?.TargetGroupArn ?? '' }],
    Tags,
  });
  await cloud.call('elbv2:RegisterTargets', { TargetGroupArn: group?.TargetGroupArn ?? '', Targets: [{ Id: 'i-00000000', Port: 80 }] });
  await cloud.call('elb:CreateLoadBalancer', {
    LoadBalancerName: name('classic', 'internet-facing'),
    Listeners: [{ Protocol: 'TCP', LoadBalancerPort: 80, InstanceProtocol: 'TCP', InstancePort: 80 }],
    Subnets: ['subnet-public-0'],
    SecurityGroups: [],
    Tags,
  });
  await cloud.call('ec2:CreateSecurityGroup', {
    GroupName: 'somebody-elses',
    Description: 'x',
    VpcId: 'vpc-1',
    TagSpecifications: [{ ResourceType: 'security-group', Tags }],
  });
}

/** All resources with their tags as text, by id. */
function resourceTexts(world: World): Map<string, string> {
  const entries: [string, unknown][] = [
    ...world.loadBalancers,
    ...world.targetGroups,
    ...world.listeners,
    ...world.securityGroups,
    ...world.classic,
  ];
  const text = (_: string, value: unknown): unknown => (value instanceof Map || value instanceof Set ? [...value] : value);
  return new Map(
    entries.map(([id, value]) => [id, JSON.stringify([value, [...(world.tags.get(id) ?? world.tags.get(`classic/${id}`) ?? [])]], text)]),
  );
}

describe('foreign resources', () => {
  test('foreign resources stay unchanged by any change or deletion of a Service', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyMember,
        anyMember,
        fc.constantFrom(...foreignTags),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        async (before, after, tags, sameName, passes) => {
          const account = new StackFixture();
          await addForeign(account, { tags, sameName });
          const known = resourceTexts(account.world);
          // Lets the fake settle. Apart from deregistered targets and provisioning states, foreign resources do not change by themselves.
          await account.restart(stack);
          for (const members of [[before], [after], []]) {
            for (let pass = 0; pass < (members.length === 0 ? 12 : passes); pass++) {
              const { requeueSeconds } = await account.reconcile(stack, members);
              account.advance(requeueSeconds);
            }
          }
          const now = resourceTexts(account.world);
          for (const [id, text] of known) expect([id, now.get(id)]).toEqual([id, text]);
        },
      ),
      { numRuns: runs(40), seed: 11 },
    );
  });

  test('a foreign load balancer with our desired name is reported', async () => {
    const account = new StackFixture();
    await addForeign(account, { tags: { 'elbv2.k8s.aws/cluster': 'test' }, sameName: true });
    const members = [awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'] })];
    await account.reconcile(stack, members);
    account.advance(5);
    const { errors } = await account.reconcile(stack, members);
    expect(errors.get('')).toMatchObject([
      { code: 'AwsForeignLoadBalancer', details: { why: 'it carries the tag elbv2.k8s.aws/cluster' } },
    ]);
    const writes = account.cloud.writes.length;
    for (let pass = 0; pass < 4; pass++) await account.reconcile(stack, members);
    expect(account.cloud.writes.length).toBe(writes);
  });
});

describe('a listener that Herald did not make, on its own NLB', () => {
  const web = { name: 'web', ports: ['http:80/TCP@30080'] };
  const removing = awsMember('nlb', { ...web, annotations: { 'herald.dev/aws-foreign-listeners': 'remove' } });

  async function withForeignListener(): Promise<StackFixture> {
    const account = new StackFixture();
    await account.settle(stack, [awsMember('nlb', web)]);
    const [arn = ''] = account.world.loadBalancers.keys();
    const [group = ''] = account.world.targetGroups.keys();
    const action = { Type: 'forward', TargetGroupArn: group } as const;
    await account.cloud.call('elbv2:CreateListener', {
      LoadBalancerArn: arn,
      Port: 8443,
      Protocol: 'TCP',
      DefaultActions: [action],
      Tags: [],
    });
    return account;
  }

  const portsOf = ({ world }: StackFixture): number[] =>
    [...world.listeners.values()].map(({ value }) => value.Port).toSorted((a, b) => a - b);

  test('stays and is reported by default', async () => {
    const account = await withForeignListener();
    const { warnings, errors } = await account.settle(stack, [awsMember('nlb', web)]);
    expect([...errors]).toEqual([]);
    expect([...warnings.values()].flat()).toMatchObject([{ code: 'AwsListenersUnknown', details: { ports: '8443', removed: false } }]);
    expect(portsOf(account)).toEqual([80, 8443]);
  });

  test('is deleted and reported when the Service says so', async () => {
    const account = await withForeignListener();
    const { warnings } = await account.reconcile(stack, [removing]);
    expect([...warnings.values()].flat()).toMatchObject([{ code: 'AwsListenersUnknown', details: { ports: '8443', removed: true } }]);
    expect(portsOf(account)).toEqual([80]);
    const { warnings: later } = await account.settle(stack, [removing]);
    expect([...later.values()].flat()).toEqual([]);
  });
});
