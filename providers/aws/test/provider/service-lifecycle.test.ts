import { describe, expect, test } from 'vitest';
import { reason } from '../../../../src/model/reasons.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const nodeGroup = 'sg-00000aaa';

describe('the life of a Service', () => {
  test('the finalizer is added before anything is created and removed after everything is deleted', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    expect(fixture.results.get(key)?.ingress).toMatchObject([{ hostname: expect.stringMatching(/^k8s-default-web-/) as string }]);
    expect(fixture.results.get(key)?.reason).toBeUndefined();
    expect(fixture.finalizers).toEqual(['+default/web after 0 writes']);
    fixture.delete(key);
    await fixture.run(300);
    expect(fixture.services.has(key)).toBe(false);
    expect([fixture.cloud.world.loadBalancers.size, fixture.cloud.world.targetGroups.size]).toEqual([0, 0]);
    // The front-end and the shared group are gone: there is no other load balancer.
    expect([...fixture.cloud.world.securityGroups.keys()]).toEqual([nodeGroup]);
    expect(fixture.finalizers.length).toBe(2);
  });

  test('a restart causes no write', async () => {
    const fixture = new ProviderFixture();
    fixture.apply(web);
    await fixture.run(300);
    const writes = fixture.cloud.writes.length;
    fixture.restart();
    await fixture.run(600);
    expect(fixture.cloud.writes.slice(writes)).toEqual([]);
  });

  test('the load balancer of a Service that is no LoadBalancer any more is deleted, even after a restart', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    fixture.restart();
    fixture.apply({ ...web, type: 'ClusterIP' });
    await fixture.run(300);
    expect(fixture.cloud.world.loadBalancers.size).toBe(0);
    expect(fixture.services.get(key)?.metadata.finalizers).toEqual([]);
  });
});

describe('node rules', () => {
  test('one per protocol spans the lowest to the highest port and shrinks with the load balancers', async () => {
    const fixture = new ProviderFixture();
    const rules = (): unknown =>
      fixture.cloud.world.securityGroups
        .get(nodeGroup)
        ?.IpPermissions.map(({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`);
    fixture.apply(web);
    const other = fixture.apply({ name: 'other', ports: ['a:443/TCP@30443', 'b:53/UDP@30053'] });
    await fixture.run(300);
    expect(rules()).toEqual(['tcp 30053-30443', 'udp 30053-30053']);
    fixture.delete(other);
    await fixture.run(300);
    expect(rules()).toEqual(['tcp 30080-30080']);
  });

  test('rules of others are not changed', async () => {
    const fixture = new ProviderFixture();
    const group = fixture.cloud.world.securityGroups.get(nodeGroup);
    const foreign = { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '10.0.0.0/8' }] };
    if (group !== undefined) group.IpPermissions = [foreign];
    const key = fixture.apply(web);
    await fixture.run(300);
    fixture.delete(key);
    await fixture.run(300);
    expect(group?.IpPermissions).toEqual([foreign]);
  });

  test('a new process narrows no rule before it has reconciled every Service', async () => {
    const fixture = new ProviderFixture();
    fixture.apply(web);
    fixture.apply({ name: 'other', ports: ['a:443/TCP@30443'] });
    await fixture.run(300);
    fixture.restart();
    const writes = fixture.cloud.writes.length;
    await fixture.run(60);
    expect(fixture.cloud.writes.slice(writes)).toEqual([]);
  });
});

describe('refused node rules', () => {
  test('they are reported on the Service, retried less and less often, and made once AWS allows it', async () => {
    const fixture = new ProviderFixture();
    const attempts = (): number => fixture.cloud.calls.filter(isRuleOfNodes).length;
    const isRuleOfNodes = ({ operation, input }: { readonly operation: string; readonly input: unknown }): boolean =>
      operation === 'ec2:AuthorizeSecurityGroupIngress' && JSON.stringify(input).includes('UserIdGroupPairs');
    fixture.cloud.fault = (call) => (isRuleOfNodes(call) ? { kind: 'error', code: 'denied' } : undefined);
    const key = fixture.apply(web);
    await fixture.run(600);
    const refused = { code: 'AwsRefused', details: { operation: 'ec2:AuthorizeSecurityGroupIngress', kind: 'denied' } };
    expect(fixture.results.get(key)).toMatchObject({ ingress: [{}], warnings: [refused] });
    const before = attempts();
    await fixture.run(3600);
    // Twice the longest wait for each, because up to half of it is random.
    expect([attempts() - before <= 12, attempts() - before > 0]).toEqual([true, true]);
    fixture.cloud.fault = () => undefined;
    await fixture.run(900);
    expect(fixture.cloud.world.securityGroups.get(nodeGroup)?.IpPermissions).toMatchObject([{ IpProtocol: 'tcp', FromPort: 30080 }]);
    expect(fixture.results.get(key)?.warnings).toEqual([]);
  });
});

describe('reported repairs', () => {
  test("a change that the Service's owner made and took back is no repair", async () => {
    const fixture = new ProviderFixture();
    const ask = (value: string): unknown =>
      fixture.apply({ ...web, annotations: { attributes: `load_balancing.cross_zone.enabled=${value}` } });
    ask('false');
    await fixture.run(600);
    ask('true');
    await fixture.run(0);
    ask('false');
    await fixture.run(60);
    expect(fixture.repairs).toEqual([]);
  });

  test('a repair is reported once, however often the Service is reconciled', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(600);
    for (const id of fixture.cloud.world.listeners.keys()) fixture.cloud.world.listeners.delete(id);
    const before = fixture.cloud.writes.length;
    while (fixture.cloud.writes.length === before) await fixture.run(10);
    expect(fixture.repairs.length).toBeGreaterThan(0);
    const told = fixture.repairs.length;
    const service = fixture.services.get(key);
    if (service !== undefined) expect((await fixture.provider.reconcile(service, fixture.snapshot)).repaired ?? []).toEqual([]);
    await fixture.run(0);
    expect(fixture.repairs.length).toBe(told);
  });
});

describe('a node without a clear security group', () => {
  test('it is reported in each result of the Services that send to it', async () => {
    const fixture = new ProviderFixture();
    const { world } = fixture.cloud;
    world.securityGroups.set('sg-00000bbb', {
      GroupId: 'sg-00000bbb',
      GroupName: 'other',
      Description: '',
      VpcId: 'vpc-1',
      IpPermissions: [],
      Tags: [],
    });
    world.tags.get(nodeGroup)?.delete('kubernetes.io/cluster/test');
    // Without the tag, rules need a policy without the name of the cluster.
    fixture.connected = fixture.cloud;
    fixture.restart();
    const instance = world.instances.get('i-00000000');
    const SecurityGroups = [{ GroupId: nodeGroup }, { GroupId: 'sg-00000bbb' }];
    if (instance !== undefined) world.instances.set('i-00000000', { ...instance, SecurityGroups });
    const key = fixture.apply(web);
    const apart = fixture.apply({ name: 'apart', ports: ['a:443/TCP@30443'], annotations: { 'target-node-labels': 'apart=yes' } });
    await fixture.run(300);
    const unreachable = { code: 'AwsNodesUnreachable', details: { instance: 'i-00000000', groups: 2 } };
    expect(fixture.results.get(key)?.warnings).toMatchObject([unreachable]);
    expect(fixture.results.get(apart)?.warnings).toEqual([
      reason('AwsNoTargets', {
        of: 'node',
        all: true,
        labels: 'apart=yes',
        key: 'service.beta.kubernetes.io/aws-load-balancer-target-node-labels',
      }),
    ]);
    await fixture.run(20);
    expect(fixture.results.get(key)?.warnings).toMatchObject([unreachable]);
  });
});

describe('a shared NLB', () => {
  const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
  const first = { ...web, annotations: shared, createdAt: '2026-01-01T00:00:00Z' };
  const second = { name: 'dns', ports: ['dns:53/UDP@30053'], annotations: shared, createdAt: '2026-01-02T00:00:00Z' };

  test('it has the listeners of all its Services, and each Service removes only its own', async () => {
    const fixture = new ProviderFixture();
    const keys = [fixture.apply(first), fixture.apply(second)];
    await fixture.run(300);
    const hostnames = keys.map((key) => fixture.results.get(key)?.ingress[0]?.hostname);
    expect(new Set(hostnames).size).toBe(1);
    expect([...fixture.cloud.world.listeners.values()].map(({ value }) => value.Port).toSorted((a, b) => a - b)).toEqual([53, 80]);
    fixture.delete('default/web');
    await fixture.run(300);
    expect(fixture.services.has('default/web')).toBe(false);
    expect([...fixture.cloud.world.listeners.values()].map(({ value }) => value.Port)).toEqual([53]);
    expect(fixture.cloud.world.loadBalancers.size).toBe(1);
    expect(fixture.results.get('default/dns')?.ingress[0]?.hostname).toBe(hostnames[0]);
    fixture.delete('default/dns');
    await fixture.run(300);
    expect([fixture.services.size, fixture.cloud.world.loadBalancers.size, fixture.cloud.world.targetGroups.size]).toEqual([0, 0, 0]);
  });

  test('a port of an older Service is refused to a newer one, and the older one is not affected', async () => {
    const fixture = new ProviderFixture();
    fixture.apply(first);
    const key = fixture.apply({ ...second, ports: ['http:80/TCP@30081'] });
    await fixture.run(300);
    expect(fixture.results.get(key)?.reason).toMatchObject({ code: 'AwsSharedPortTaken', details: { port: 80, other: 'default/web' } });
    expect(fixture.results.get('default/web')?.reason).toBeUndefined();
  });

  test('it replaces the load balancer that a Service had, which is deleted afterwards', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    const before = fixture.results.get(key)?.ingress[0]?.hostname;
    fixture.apply(first);
    await fixture.run(20);
    expect(fixture.cloud.world.loadBalancers.size).toBe(2);
    await fixture.run(400);
    expect(fixture.cloud.world.loadBalancers.size).toBe(1);
    expect(fixture.results.get(key)?.ingress[0]?.hostname).not.toBe(before);
  });
});

describe('changes by others', () => {
  test('they are repaired and reported', async () => {
    const fixture = new ProviderFixture();
    fixture.apply(web);
    await fixture.run(600);
    fixture.cloud.world.listeners.clear();
    await fixture.run(600);
    expect(fixture.repairs).toEqual(['listener 80: create: nothing listens on port 80']);
    expect(fixture.cloud.world.listeners.size).toBe(1);
  });
});

test('a drift check costs 7 reads, and two per target group, when the Service names no attributes', async () => {
  const fixture = new ProviderFixture();
  fixture.apply({ name: 'web', ports: ['http:80/TCP@30080', 'alt:81/TCP@30081', 'dns:53/UDP@30053'] });
  // The first sweep for orphans is over, and the next comes later.
  await fixture.run(600);
  const before = fixture.cloud.calls.length;
  await fixture.run(300);
  const ofAll = new Set<string>(['ec2:DescribeVpcs', 'ec2:DescribeSubnets', 'ec2:DescribeRouteTables', 'ec2:DescribeInstances']);
  const calls = fixture.cloud.calls
    .slice(before)
    .filter(({ operation, input }) => !ofAll.has(operation) && !isOfAllGroups(operation, input));
  expect(calls.length).toBe(7 + 2 * 3);
});

/** Facts and node rules are read for all load balancers together. */
function isOfAllGroups(operation: string, input: unknown): boolean {
  return operation === 'ec2:DescribeSecurityGroups' && !JSON.stringify(input).includes('tag:');
}

describe('a preview', () => {
  test('it shows the calls that a reconcile would make, and makes none', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    const { observed, desired, actions, waits } = await fixture.provider.preview(key, fixture.snapshot);
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
    expect(fixture.cloud.writes).toEqual([]);
    await fixture.run(300);
    const settled = await fixture.provider.preview(key, fixture.snapshot);
    expect(settled.actions).toEqual([]);
    expect(settled.observed[0]).toMatch(/^NLB \S+, internal, ipv4, active, \S+\.amazonaws\.com$/);
    expect(settled.observed).toContainEqual('listener TCP 80');
    expect(settled.observed).toContainEqual(expect.stringMatching(/^target group \S+, TCP 30080, instance: 3 healthy$/));
  });

  test('it shows the deletion when the Service is gone, and the errors when it has some', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    fixture.apply({ ...web, annotations: { scheme: 'public' } });
    expect(await fixture.provider.preview(key, fixture.snapshot)).toMatchObject({
      actions: [],
      reasons: [{ code: 'AwsAnnotationInvalid' }],
    });
    fixture.services.delete(key);
    const { actions } = await fixture.provider.preview(key, fixture.snapshot);
    expect(actions.map(({ operation }) => operation)).toEqual([
      'elbv2:DeleteLoadBalancer',
      'elbv2:DeleteTargetGroup',
      'ec2:DeleteSecurityGroup',
      // Of nodes; then the shared group by which nodes admit the load balancers.
      'ec2:RevokeSecurityGroupIngress',
      'ec2:DeleteSecurityGroup',
    ]);
  });

  test('it narrows node rules to what other Services need, unless that is unknown', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    const other = { ...web, name: 'other', ports: ['http:81/TCP@30081'] };
    fixture.apply(other);
    await fixture.run(300);
    fixture.delete(key);
    const ranges = (calls: readonly { readonly operation: string; readonly input: unknown }[]): string[] =>
      calls.flatMap(({ operation, input }) => {
        if (!operation.endsWith('SecurityGroupIngress')) return [];
        const { GroupId, IpPermissions } = input as { GroupId: string; IpPermissions: readonly { FromPort: number; ToPort: number }[] };
        return IpPermissions.map(({ FromPort, ToPort }) => `${operation} ${GroupId} ${FromPort}-${ToPort}`);
      });
    const rules = async (): Promise<string[]> => ranges((await fixture.provider.preview(key, fixture.snapshot)).actions);
    const told = await rules();
    fixture.apply({ ...other, annotations: { scheme: 'public' } });
    expect(await rules()).toEqual([]);
    fixture.apply(other);
    const before = fixture.cloud.writes.length;
    await fixture.run(600);
    const made = ranges(fixture.cloud.writes.slice(before));
    expect(told.length).toBe(2);
    expect(told).toEqual(made);
  });
});

describe('disowning', () => {
  test('it removes our tags and nothing else', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    const before = fixture.cloud.writes.length;
    fixture.apply({ ...web, annotations: { 'herald.dev/aws-disown': 'true' } });
    await fixture.run(600);
    expect(new Set(fixture.cloud.writes.slice(before).map(({ operation }) => operation))).toEqual(
      new Set(['elbv2:RemoveTags', 'ec2:DeleteTags']),
    );
    fixture.delete(key);
    await fixture.run(8000);
    expect([fixture.services.size, fixture.cloud.world.loadBalancers.size, fixture.cloud.world.listeners.size]).toEqual([0, 1, 1]);
  });
});

describe('disowning that AWS refuses', () => {
  test('it is retried with the finalizer on, so that the load balancer is not deleted with its Service', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    fixture.cloud.fault = ({ operation }) =>
      operation.endsWith('Tags') && !operation.includes('Describe') ? { kind: 'error', code: 'denied' } : undefined;
    fixture.apply({ ...web, annotations: { 'herald.dev/aws-disown': 'true' } });
    await fixture.run(60);
    expect(fixture.finalizers.some((one) => one.startsWith(`-${key}`))).toBe(false);
    fixture.cloud.fault = () => undefined;
    await fixture.run(600);
    expect(fixture.finalizers.some((one) => one.startsWith(`-${key}`))).toBe(true);
    fixture.delete(key);
    await fixture.run(8000);
    expect(fixture.cloud.world.loadBalancers.size).toBe(1);
  });
});

describe('orphans', () => {
  test('they are marked, and deleted only after a while', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    // Gone without a deletion that Herald saw, as without finalizers.
    fixture.services.delete(key);
    fixture.restart();
    await fixture.run(1800);
    const [arn = ''] = fixture.cloud.world.loadBalancers.keys();
    expect(fixture.cloud.world.tags.get(arn)?.get('herald.dev/orphaned-at')).toMatch(/^2026-/);
    expect(fixture.cloud.world.loadBalancers.size).toBe(1);
    await fixture.run(5400);
    expect([fixture.cloud.world.loadBalancers.size, fixture.cloud.world.targetGroups.size]).toEqual([0, 0]);
  });

  test('their mark is removed when their Service is back', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply(web);
    await fixture.run(300);
    const arn = [...fixture.cloud.world.loadBalancers.keys()];
    fixture.services.delete(key);
    fixture.restart();
    await fixture.run(1800);
    fixture.apply(web);
    await fixture.run(7200);
    expect([...fixture.cloud.world.loadBalancers.keys()]).toEqual(arn);
    expect(fixture.cloud.world.tags.get(arn[0] ?? '')?.has('herald.dev/orphaned-at')).toBe(false);
  });
});

test("a Service with another controller's finalizer is not changed", async () => {
  const fixture = new ProviderFixture();
  const key = fixture.apply({ ...web, loadBalancerClass: 'service.k8s.aws/nlb' });
  const known = fixture.services.get(key);
  if (known !== undefined)
    fixture.services.set(key, { ...known, metadata: { ...known.metadata, finalizers: ['service.k8s.aws/resources'] } });
  await fixture.run(60);
  expect(fixture.results.get(key)?.reason).toMatchObject({ code: 'AwsOtherController' });
  expect(fixture.cloud.writes).toEqual([]);
});

test('a Service with several errors changes nothing in AWS and reports all of them', async () => {
  const fixture = new ProviderFixture();
  const key = fixture.apply(web);
  await fixture.run(300);
  const { ingress } = fixture.results.get(key) ?? {};
  const writes = fixture.cloud.writes.length;
  fixture.apply({ ...web, annotations: { scheme: 'public', 'ssl-cert': 'mine', 'healthcheck-interval': 'x' }, ingress: ingress ?? [] });
  await fixture.run(600);
  expect(fixture.cloud.writes.length).toBe(writes);
  expect(fixture.results.get(key)).toMatchObject({
    ingress,
    reason: { code: 'AwsSeveral', details: { problems: { length: 3 } } },
  });
  // No pools: metrics count refusals of pools by these details.
  expect(fixture.results.get(key)?.details).toBeUndefined();
});

test('a failed call is reported and retried', async () => {
  const fixture = new ProviderFixture();
  fixture.cloud.fault = () => ({ kind: 'error', code: 'denied' });
  const key = fixture.apply(web);
  await fixture.run(60);
  expect(fixture.results.get(key)?.reason).toMatchObject({ code: 'AwsRefused', details: { operation: 'elbv2:DescribeLoadBalancers' } });
  fixture.cloud.fault = () => undefined;
  await fixture.run(600);
  expect(fixture.results.get(key)?.reason).toBeUndefined();
});
