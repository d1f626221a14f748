import { describe, expect, test } from 'vitest';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const nodeGroup = 'sg-00000aaa';

describe('the life of a Service', () => {
  test('begins with the finalizer, before anything is made, and ends with it, after everything is gone', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    expect(town.results.get(key)?.ingress).toMatchObject([{ hostname: expect.stringMatching(/^k8s-default-web-/) as string }]);
    expect(town.results.get(key)?.reason).toBeUndefined();
    expect(town.finalizers).toEqual(['+default/web after 0 writes']);
    town.delete(key);
    await town.run(300);
    expect(town.services.has(key)).toBe(false);
    expect([town.cloud.world.loadBalancers.size, town.cloud.world.targetGroups.size]).toEqual([0, 0]);
    // The front-end group, and that of the cluster: there is no other load balancer.
    expect([...town.cloud.world.securityGroups.keys()]).toEqual([nodeGroup]);
    expect(town.finalizers.length).toBe(2);
  });

  test('goes on after a restart without a call that changes anything', async () => {
    const town = new ProviderFixture();
    town.apply(web);
    await town.run(300);
    const writes = town.cloud.writes.length;
    town.restart();
    await town.run(600);
    expect(town.cloud.writes.slice(writes)).toEqual([]);
  });

  test('that ceases to be a load balancer is cleaned up as well, also by a new process', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    town.restart();
    town.apply({ ...web, type: 'ClusterIP' });
    await town.run(300);
    expect(town.cloud.world.loadBalancers.size).toBe(0);
    expect(town.services.get(key)?.metadata.finalizers).toEqual([]);
  });
});

describe('rules of nodes', () => {
  test('are one for each protocol, from the lowest port of all load balancers to the highest, and shrink with them', async () => {
    const town = new ProviderFixture();
    const rules = (): unknown =>
      town.cloud.world.securityGroups
        .get(nodeGroup)
        ?.IpPermissions.map(({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`);
    town.apply(web);
    const other = town.apply({ name: 'other', ports: ['a:443/TCP@30443', 'b:53/UDP@30053'] });
    await town.run(300);
    expect(rules()).toEqual(['tcp 30053-30443', 'udp 30053-30053']);
    town.delete(other);
    await town.run(300);
    expect(rules()).toEqual(['tcp 30080-30080']);
  });

  test('leave rules of others alone', async () => {
    const town = new ProviderFixture();
    const group = town.cloud.world.securityGroups.get(nodeGroup);
    const foreign = { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '10.0.0.0/8' }] };
    if (group !== undefined) group.IpPermissions = [foreign];
    const key = town.apply(web);
    await town.run(300);
    town.delete(key);
    await town.run(300);
    expect(group?.IpPermissions).toEqual([foreign]);
  });

  test('are not narrowed by a new process before it has looked at every Service', async () => {
    const town = new ProviderFixture();
    town.apply(web);
    town.apply({ name: 'other', ports: ['a:443/TCP@30443'] });
    await town.run(300);
    town.restart();
    const writes = town.cloud.writes.length;
    await town.run(60);
    expect(town.cloud.writes.slice(writes)).toEqual([]);
  });
});

describe('rules of nodes that AWS refuses', () => {
  test('are told to the Service, tried less and less often, and made when AWS lets them', async () => {
    const town = new ProviderFixture();
    const attempts = (): number => town.cloud.calls.filter(isRuleOfNodes).length;
    const isRuleOfNodes = ({ operation, input }: { readonly operation: string; readonly input: unknown }): boolean =>
      operation === 'ec2:AuthorizeSecurityGroupIngress' && JSON.stringify(input).includes('UserIdGroupPairs');
    town.cloud.fault = (call) => (isRuleOfNodes(call) ? { kind: 'error', code: 'denied' } : undefined);
    const key = town.apply(web);
    await town.run(600);
    const refused = { code: 'AwsRefused', details: { operation: 'ec2:AuthorizeSecurityGroupIngress', kind: 'denied' } };
    expect(town.results.get(key)).toMatchObject({ ingress: [{}], warnings: [refused] });
    const before = attempts();
    await town.run(3600);
    // Twice the longest wait for each, as up to half of it is left to chance.
    expect([attempts() - before <= 12, attempts() - before > 0]).toEqual([true, true]);
    town.cloud.fault = () => undefined;
    await town.run(900);
    expect(town.cloud.world.securityGroups.get(nodeGroup)?.IpPermissions).toMatchObject([{ IpProtocol: 'tcp', FromPort: 30080 }]);
    expect(town.results.get(key)?.warnings).toEqual([]);
  });
});

describe('what is told to be repaired', () => {
  test('is not what the owner of the Service has changed to and fro', async () => {
    const town = new ProviderFixture();
    const ask = (value: string): unknown =>
      town.apply({ ...web, annotations: { attributes: `load_balancing.cross_zone.enabled=${value}` } });
    ask('false');
    await town.run(600);
    ask('true');
    await town.run(0);
    ask('false');
    await town.run(60);
    expect(town.repairs).toEqual([]);
  });

  test('is told once, however often the same is asked', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(600);
    for (const id of town.cloud.world.listeners.keys()) town.cloud.world.listeners.delete(id);
    const before = town.cloud.writes.length;
    while (town.cloud.writes.length === before) await town.run(10);
    expect(town.repairs.length).toBeGreaterThan(0);
    const told = town.repairs.length;
    const service = town.services.get(key);
    if (service !== undefined) expect((await town.provider.reconcile(service, town.snapshot)).repaired ?? []).toEqual([]);
    await town.run(0);
    expect(town.repairs.length).toBe(told);
  });
});

describe('a node whose security group cannot be told', () => {
  test('is said to those that send to it, at every look', async () => {
    const town = new ProviderFixture();
    const { world } = town.cloud;
    world.securityGroups.set('sg-00000bbb', {
      GroupId: 'sg-00000bbb',
      GroupName: 'other',
      Description: '',
      VpcId: 'vpc-1',
      IpPermissions: [],
      Tags: [],
    });
    world.tags.get(nodeGroup)?.delete('kubernetes.io/cluster/test');
    const instance = world.instances.get('i-00000000');
    const SecurityGroups = [{ GroupId: nodeGroup }, { GroupId: 'sg-00000bbb' }];
    if (instance !== undefined) world.instances.set('i-00000000', { ...instance, SecurityGroups });
    const key = town.apply(web);
    const apart = town.apply({ name: 'apart', ports: ['a:443/TCP@30443'], annotations: { 'target-node-labels': 'apart=yes' } });
    await town.run(300);
    const unreachable = { code: 'AwsNodesUnreachable', details: { instance: 'i-00000000', groups: 2 } };
    expect(town.results.get(key)?.warnings).toMatchObject([unreachable]);
    expect(town.results.get(apart)?.warnings).toMatchObject([{ code: 'AwsNoTargets' }]);
    await town.run(20);
    expect(town.results.get(key)?.warnings).toMatchObject([unreachable]);
  });
});

describe('an NLB that is shared', () => {
  const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
  const first = { ...web, annotations: shared, createdAt: '2026-01-01T00:00:00Z' };
  const second = { name: 'dns', ports: ['dns:53/UDP@30053'], annotations: shared, createdAt: '2026-01-02T00:00:00Z' };

  test('has the listeners of all, and each Service takes only its own away', async () => {
    const town = new ProviderFixture();
    const keys = [town.apply(first), town.apply(second)];
    await town.run(300);
    const hostnames = keys.map((key) => town.results.get(key)?.ingress[0]?.hostname);
    expect(new Set(hostnames).size).toBe(1);
    expect([...town.cloud.world.listeners.values()].map(({ value }) => value.Port).toSorted((a, b) => a - b)).toEqual([53, 80]);
    town.delete('default/web');
    await town.run(300);
    expect(town.services.has('default/web')).toBe(false);
    expect([...town.cloud.world.listeners.values()].map(({ value }) => value.Port)).toEqual([53]);
    expect(town.cloud.world.loadBalancers.size).toBe(1);
    expect(town.results.get('default/dns')?.ingress[0]?.hostname).toBe(hostnames[0]);
    town.delete('default/dns');
    await town.run(300);
    expect([town.services.size, town.cloud.world.loadBalancers.size, town.cloud.world.targetGroups.size]).toEqual([0, 0, 0]);
  });

  test('refuses a port that an older Service has, and leaves that alone', async () => {
    const town = new ProviderFixture();
    town.apply(first);
    const key = town.apply({ ...second, ports: ['http:80/TCP@30081'] });
    await town.run(300);
    expect(town.results.get(key)?.reason).toMatchObject({ code: 'AwsSharedPortTaken', details: { port: 80, other: 'default/web' } });
    expect(town.results.get('default/web')?.reason).toBeUndefined();
  });

  test('takes over from the load balancer that the Service had, which goes afterwards', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    const before = town.results.get(key)?.ingress[0]?.hostname;
    town.apply(first);
    await town.run(20);
    expect(town.cloud.world.loadBalancers.size).toBe(2);
    await town.run(400);
    expect(town.cloud.world.loadBalancers.size).toBe(1);
    expect(town.results.get(key)?.ingress[0]?.hostname).not.toBe(before);
  });
});

describe('what others have changed', () => {
  test('is put right, and said', async () => {
    const town = new ProviderFixture();
    town.apply(web);
    await town.run(600);
    town.cloud.world.listeners.clear();
    await town.run(600);
    expect(town.repairs).toEqual(['listener 80: create: nothing listens on port 80']);
    expect(town.cloud.world.listeners.size).toBe(1);
  });
});

test('a look at a load balancer with which nothing is wrong costs 8 reads, one for each listener and two for each target group', async () => {
  const town = new ProviderFixture();
  town.apply({ name: 'web', ports: ['http:80/TCP@30080', 'alt:81/TCP@30081', 'dns:53/UDP@30053'] });
  // Orphans were looked for at the beginning, and are again in a while.
  await town.run(600);
  const before = town.cloud.calls.length;
  await town.run(300);
  const ofAll = new Set<string>(['ec2:DescribeVpcs', 'ec2:DescribeSubnets', 'ec2:DescribeRouteTables', 'ec2:DescribeInstances']);
  const calls = town.cloud.calls.slice(before).filter(({ operation, input }) => !ofAll.has(operation) && !isOfAllGroups(operation, input));
  expect(calls.length).toBe(8 + 3 + 2 * 3);
});

/** Facts, and the rules of nodes, are read for all load balancers together. */
function isOfAllGroups(operation: string, input: unknown): boolean {
  return operation === 'ec2:DescribeSecurityGroups' && !JSON.stringify(input).includes('tag:');
}

describe('a preview', () => {
  test('has the calls that a pass would make, and makes none', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    const { observed, desired, actions, waits } = await town.provider.preview(key, town.snapshot);
    expect(observed).toEqual(['nothing']);
    expect(desired[0]).toMatch(/^NLB \S+, internal, ipv4, in subnet-/);
    expect(desired[1]).toMatch(/^listener TCP 80: TCP to \d+ targets of type instance$/);
    expect(actions.map(({ operation }) => operation)).toEqual([
      'ec2:CreateSecurityGroup',
      'ec2:AuthorizeSecurityGroupIngress',
      'ec2:CreateSecurityGroup',
      'elbv2:CreateTargetGroup',
      'elbv2:RegisterTargets',
      'elbv2:CreateLoadBalancer',
      'elbv2:CreateListener',
      'ec2:AuthorizeSecurityGroupIngress',
    ]);
    expect(actions.at(-1)).toMatchObject({ id: `${nodeGroup}: authorize`, input: { GroupId: nodeGroup } });
    expect(waits).toEqual(['the load balancer to become active']);
    expect(town.cloud.writes).toEqual([]);
    await town.run(300);
    const settled = await town.provider.preview(key, town.snapshot);
    expect(settled.actions).toEqual([]);
    expect(settled.observed[0]).toMatch(/^NLB \S+, internal, ipv4, active, \S+\.amazonaws\.com$/);
    expect(settled.observed).toContainEqual('listener TCP 80');
    expect(settled.observed).toContainEqual(expect.stringMatching(/^target group \S+, TCP 30080, instance: 3 healthy$/));
  });

  test('of a Service that is gone is its deletion; of one that is wrong, what is wrong', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    town.apply({ ...web, annotations: { scheme: 'public' } });
    expect(await town.provider.preview(key, town.snapshot)).toMatchObject({ actions: [], reasons: [{ code: 'AwsAnnotationInvalid' }] });
    town.services.delete(key);
    const { actions } = await town.provider.preview(key, town.snapshot);
    expect(actions.map(({ operation }) => operation)).toEqual([
      'elbv2:DeleteLoadBalancer',
      'elbv2:DeleteTargetGroup',
      'ec2:DeleteSecurityGroup',
      // Of nodes, and then the group by which they know load balancers.
      'ec2:RevokeSecurityGroupIngress',
      'ec2:DeleteSecurityGroup',
    ]);
  });

  test('of a Service that is gone narrows the rules of nodes to what others need, unless it is not known what that is', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    const other = { ...web, name: 'other', ports: ['http:81/TCP@30081'] };
    town.apply(other);
    await town.run(300);
    town.delete(key);
    const ranges = (calls: readonly { readonly operation: string; readonly input: unknown }[]): string[] =>
      calls.flatMap(({ operation, input }) => {
        if (!operation.endsWith('SecurityGroupIngress')) return [];
        const { GroupId, IpPermissions } = input as { GroupId: string; IpPermissions: readonly { FromPort: number; ToPort: number }[] };
        return IpPermissions.map(({ FromPort, ToPort }) => `${operation} ${GroupId} ${FromPort}-${ToPort}`);
      });
    const rules = async (): Promise<string[]> => ranges((await town.provider.preview(key, town.snapshot)).actions);
    const told = await rules();
    town.apply({ ...other, annotations: { scheme: 'public' } });
    expect(await rules()).toEqual([]);
    town.apply(other);
    const before = town.cloud.writes.length;
    await town.run(600);
    const made = ranges(town.cloud.writes.slice(before));
    expect(told.length).toBe(2);
    expect(told).toEqual(made);
  });
});

describe('letting go', () => {
  test('removes our tags and nothing else', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    const before = town.cloud.writes.length;
    town.apply({ ...web, annotations: { 'herald.dev/aws-disown': 'true' } });
    await town.run(600);
    expect(new Set(town.cloud.writes.slice(before).map(({ operation }) => operation))).toEqual(
      new Set(['elbv2:RemoveTags', 'ec2:DeleteTags']),
    );
    town.delete(key);
    await town.run(8000);
    expect([town.services.size, town.cloud.world.loadBalancers.size, town.cloud.world.listeners.size]).toEqual([0, 1, 1]);
  });
});

describe('letting go of what AWS does not let us', () => {
  test('goes on until it is done, with the finalizer on: the load balancer must not go with its Service', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    town.cloud.fault = ({ operation }) =>
      operation.endsWith('Tags') && !operation.includes('Describe') ? { kind: 'error', code: 'denied' } : undefined;
    town.apply({ ...web, annotations: { 'herald.dev/aws-disown': 'true' } });
    await town.run(60);
    expect(town.finalizers.some((one) => one.startsWith(`-${key}`))).toBe(false);
    town.cloud.fault = () => undefined;
    await town.run(600);
    expect(town.finalizers.some((one) => one.startsWith(`-${key}`))).toBe(true);
    town.delete(key);
    await town.run(8000);
    expect(town.cloud.world.loadBalancers.size).toBe(1);
  });
});

describe('orphans', () => {
  test('are marked, and deleted only after a while', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    // Gone while nobody looked, as where there are no finalizers.
    town.services.delete(key);
    town.restart();
    await town.run(1800);
    const [arn = ''] = town.cloud.world.loadBalancers.keys();
    expect(town.cloud.world.tags.get(arn)?.get('herald.dev/orphaned-at')).toMatch(/^2026-/);
    expect(town.cloud.world.loadBalancers.size).toBe(1);
    await town.run(5400);
    expect([town.cloud.world.loadBalancers.size, town.cloud.world.targetGroups.size]).toEqual([0, 0]);
  });

  test('are none any more when their Service is back', async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    const arn = [...town.cloud.world.loadBalancers.keys()];
    town.services.delete(key);
    town.restart();
    await town.run(1800);
    town.apply(web);
    await town.run(7200);
    expect([...town.cloud.world.loadBalancers.keys()]).toEqual(arn);
    expect(town.cloud.world.tags.get(arn[0] ?? '')?.has('herald.dev/orphaned-at')).toBe(false);
  });
});

test('a Service that another controller holds is not touched', async () => {
  const town = new ProviderFixture();
  const key = town.apply({ ...web, loadBalancerClass: 'service.k8s.aws/nlb' });
  const known = town.services.get(key);
  if (known !== undefined) town.services.set(key, { ...known, metadata: { ...known.metadata, finalizers: ['service.k8s.aws/resources'] } });
  await town.run(60);
  expect(town.results.get(key)?.reason).toMatchObject({ code: 'AwsOtherController' });
  expect(town.cloud.writes).toEqual([]);
});

test('a mistake changes nothing of what is there, and all of it is told', async () => {
  const town = new ProviderFixture();
  const key = town.apply(web);
  await town.run(300);
  const { ingress } = town.results.get(key) ?? {};
  const writes = town.cloud.writes.length;
  town.apply({ ...web, annotations: { scheme: 'public', 'ssl-cert': 'mine', 'healthcheck-interval': 'x' }, ingress: ingress ?? [] });
  await town.run(600);
  expect(town.cloud.writes.length).toBe(writes);
  expect(town.results.get(key)).toMatchObject({
    ingress,
    reason: { code: 'AwsSeveral', details: { problems: { length: 3 } } },
  });
  // They are no pools, of which the metrics count the refusals.
  expect(town.results.get(key)?.details).toBeUndefined();
});

test('AWS that does not answer is said, and tried again', async () => {
  const town = new ProviderFixture();
  town.cloud.fault = () => ({ kind: 'error', code: 'denied' });
  const key = town.apply(web);
  await town.run(60);
  expect(town.results.get(key)?.reason).toMatchObject({ code: 'AwsRefused', details: { operation: 'elbv2:DescribeLoadBalancers' } });
  town.cloud.fault = () => undefined;
  await town.run(600);
  expect(town.results.get(key)?.reason).toBeUndefined();
});
