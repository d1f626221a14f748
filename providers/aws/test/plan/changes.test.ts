import { describe, expect, test } from 'vitest';
import type { Member } from '../../../../providers/aws/desire/stack.ts';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import { health } from '../moto/fake/target-groups.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { StackFixture, acmCertificate, awsMember, node, otherCertificate, hostnameOf } from '../support/stack-fixture.ts';

const plain = { name: 'web', ports: ['http:80/TCP@30080'] };
const pods = { ...plain, annotations: { 'nlb-target-type': 'ip' } };
const stack = stackOf(awsMember('nlb', plain));

/** The write operations of one reconcile. */
async function operations(account: StackFixture, member: Member): Promise<string[]> {
  const { plan } = await account.reconcile(stack, [member]);
  return plan.actions.map(({ operation }) => operation.split(':')[1] ?? '');
}

function targetsOf({ world }: StackFixture): string[] {
  return [...world.targetGroups.values()].flatMap(({ targets }) =>
    [...targets.values()].filter(({ drainingSince }) => drainingSince === undefined).map(({ target }) => target.Id),
  );
}

describe('changes of targets', () => {
  const withPods = (account: StackFixture, ...endpoints: string[]): void => {
    account.slices = [slice({ service: 'web', ports: ['http:9376'], endpoints })];
  };

  test('new targets are registered first; old ones leave when the new ones serve', async () => {
    const account = new StackFixture();
    const member = awsMember('nlb', pods);
    withPods(account, '10.0.1.1', '10.0.1.2');
    await account.settle(stack, [member]);
    withPods(account, '10.0.2.1', '10.0.2.2');
    expect(await operations(account, member)).toEqual(['RegisterTargets']);
    account.advance(10);
    expect(await operations(account, member)).toEqual([]);
    expect(targetsOf(account).length).toBe(4);
    account.advance(25);
    expect(await operations(account, member)).toEqual(['DeregisterTargets']);
    expect(targetsOf(account)).toEqual(['10.0.2.1', '10.0.2.2']);
  });

  test('targets of terminating pods leave at once when others serve', async () => {
    const account = new StackFixture();
    const member = awsMember('nlb', pods);
    withPods(account, '10.0.1.1', '10.0.1.2');
    await account.settle(stack, [member]);
    withPods(account, '10.0.1.1', '10.0.1.2 draining', '10.0.1.3');
    expect(await operations(account, member)).toEqual(['RegisterTargets', 'DeregisterTargets']);
  });

  test('old targets leave even if the new ones never become healthy', async () => {
    const account = new StackFixture();
    const member = awsMember('nlb', pods);
    withPods(account, '10.0.1.1');
    await account.settle(stack, [member]);
    account.world.unhealthy.add('10.0.2.1');
    withPods(account, '10.0.2.1');
    await account.settle(stack, [member]);
    expect(targetsOf(account)).toEqual(['10.0.2.1']);
  });

  test('targets are registered two hundred at a time', async () => {
    const account = new StackFixture();
    withPods(account, ...Array.from({ length: 450 }, (_, index) => `10.0.${Math.floor(index / 200)}.${(index % 200) + 1}`));
    const { plan } = await account.reconcile(stack, [awsMember('nlb', pods)]);
    const sizes = plan.actions.flatMap((action) => (action.operation === 'elbv2:RegisterTargets' ? [action.input.Targets.length] : []));
    expect(sizes).toEqual([200, 200, 50]);
  });

  test('old targets make room for new ones, and some serve all the time', async () => {
    const account = new StackFixture();
    const member = awsMember('nlb', pods);
    const many = (net: number): string[] =>
      Array.from({ length: 600 }, (_, index) => `10.0.${net + Math.floor(index / 200)}.${(index % 200) + 1}`);
    withPods(account, ...many(10));
    await account.settle(stack, [member]);
    withPods(account, ...many(20));
    const { plan } = await account.reconcile(stack, [member]);
    const sizes = plan.actions.map((action) => ('Targets' in action.input ? [action.operation, action.input.Targets.length] : []));
    expect(sizes).toEqual([
      ['elbv2:RegisterTargets', 200],
      ['elbv2:RegisterTargets', 200],
    ]);
    expect(plan.waits.map((wait) => wait.for)).toContainEqual(expect.stringContaining('AWS takes 1000 in a target group'));
    let fewest = Infinity;
    account.cloud.fault = ({ operation }) => {
      if (operation !== 'elbv2:DeregisterTargets') return undefined;
      const healthy = [...account.world.targetGroups.values()].flatMap((group) =>
        [...group.targets.values()].filter((target) => health(account.world, group, target).State === 'healthy'),
      );
      fewest = Math.min(fewest, healthy.length);
      return undefined;
    };
    const { errors } = await account.settle(stack, [member]);
    expect([[...errors], targetsOf(account).toSorted()]).toEqual([[], many(20).toSorted()]);
    expect(fewest).toBeGreaterThanOrEqual(400);
  });
});

describe('a change of the scheme', () => {
  test('the old NLB is deleted after the new one serves and the retirement time has passed', async () => {
    const account = new StackFixture();
    await account.settle(stack, [awsMember('nlb', { ...plain, annotations: { scheme: 'internal' } })]);
    const before = await account.reconcile(stack, [awsMember('nlb', { ...plain, annotations: { scheme: 'internal' } })]);
    const member = awsMember('nlb', { ...plain, annotations: { scheme: 'internet-facing' } });
    const first = await account.reconcile(stack, [member]);
    expect(first.plan.actions.map(({ operation }) => operation)).not.toContain('elbv2:DeleteLoadBalancer');
    expect(hostnameOf(first)).toBe(hostnameOf(before));
    account.advance(60);
    expect(hostnameOf(await account.reconcile(stack, [member]))).toBe(hostnameOf(before));
    account.advance(65);
    // The new NLB is active with healthy targets, so its hostname is returned and the old one is marked as retired.
    const serving = await account.reconcile(stack, [member]);
    expect(hostnameOf(serving)).not.toBe(hostnameOf(before));
    expect(serving.plan.actions.map(({ id }) => id)).toEqual([expect.stringMatching(/: retire$/) as string]);
    account.advance(30);
    expect((await account.reconcile(stack, [member])).plan.actions).toEqual([]);
    expect(account.world.loadBalancers.size).toBe(2);
    account.advance(31);
    await account.settle(stack, [member]);
    expect([...account.world.loadBalancers.values()].map(({ value }) => value.Scheme)).toEqual(['internet-facing']);
    expect(account.world.targetGroups.size).toBe(1);
  });

  test('a change reverted in time keeps the existing NLB', async () => {
    const account = new StackFixture();
    const before = awsMember('nlb', { ...plain, annotations: { scheme: 'internal' } });
    await account.settle(stack, [before]);
    const [arn] = account.world.loadBalancers.keys();
    await account.reconcile(stack, [awsMember('nlb', { ...plain, annotations: { scheme: 'internet-facing' } })]);
    await account.settle(stack, [before]);
    expect([...account.world.loadBalancers.keys()]).toEqual([arn]);
  });

  test('targets of the old NLB stay current until it is deleted', async () => {
    const account = new StackFixture();
    await account.settle(stack, [awsMember('nlb', { ...plain, annotations: { scheme: 'internal' } })]);
    const member = awsMember('nlb', { ...plain, annotations: { scheme: 'internet-facing' } });
    account.nodes = [node(0), node(1)];
    await account.reconcile(stack, [member]);
    const sizes = [...account.world.targetGroups.values()].map(
      ({ targets }) => [...targets.values()].filter(({ drainingSince }) => drainingSince === undefined).length,
    );
    expect(sizes).toEqual([2, 2]);
  });
});

describe('a change of the traffic policy', () => {
  test('a change from Local to Cluster and back only modifies the health check', async () => {
    const account = new StackFixture();
    const local = awsMember('nlb', { ...plain, externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 });
    await account.settle(stack, [local]);
    const check = (): unknown =>
      [...account.world.targetGroups.values()].map(({ value }) => [
        value.HealthCheckProtocol,
        value.HealthCheckPort,
        value.HealthCheckPath,
      ]);
    expect(check()).toEqual([['HTTP', '32000', '/healthz']]);
    expect(await operations(account, awsMember('nlb', plain))).toEqual(['ModifyTargetGroup']);
    expect(check()).toEqual([['TCP', 'traffic-port', undefined]]);
    expect(await operations(account, local)).toEqual(['ModifyTargetGroup']);
    expect(check()).toEqual([['HTTP', '32000', '/healthz']]);
  });
});

describe('a change of the certificate', () => {
  test('a Classic ELB keeps its listener', async () => {
    const account = new StackFixture();
    const using = (certificate: string): Member =>
      awsMember('classic', { name: 'web', ports: ['https:443/TCP@30443'], annotations: { 'ssl-cert': certificate } });
    await account.settle(stack, [using(acmCertificate)]);
    expect(await operations(account, using(otherCertificate))).toEqual(['SetLoadBalancerListenerSSLCertificate']);
  });

  test('an NLB listener is modified in place, with only the changed field', async () => {
    const account = new StackFixture();
    const using = (certificate: string): Member =>
      awsMember('nlb', { name: 'web', ports: ['https:443/TCP@30443'], annotations: { 'ssl-cert': certificate } });
    await account.settle(stack, [using(acmCertificate)]);
    const { plan } = await account.reconcile(stack, [using(otherCertificate)]);
    expect(plan.actions.map(({ operation, input }) => [operation, Object.keys(input)])).toEqual([
      ['elbv2:ModifyListener', ['ListenerArn', 'Certificates']],
    ]);
  });
});

describe('a change of subnets', () => {
  const annotated = (subnets: string): Member => awsMember('nlb', { ...plain, annotations: { scheme: 'internal', subnets } });

  test('another subnet of a zone is used after the load balancer has left that zone', async () => {
    const account = new StackFixture();
    const other = account.world.subnets.get('subnet-private-0');
    if (other !== undefined) account.world.subnets.set('subnet-private-9', { ...other, SubnetId: 'subnet-private-9' });
    await account.settle(stack, [annotated('subnet-private-0,subnet-private-1')]);
    await account.settle(stack, [annotated('subnet-private-9,subnet-private-1')]);
    const [balancer] = account.world.loadBalancers.values();
    expect(balancer?.value.AvailabilityZones.map(({ SubnetId }) => SubnetId).toSorted()).toEqual(['subnet-private-1', 'subnet-private-9']);
  });

  test('another subnet of the only zone is reported as impossible', async () => {
    const account = new StackFixture();
    const other = account.world.subnets.get('subnet-private-0');
    if (other !== undefined) account.world.subnets.set('subnet-private-9', { ...other, SubnetId: 'subnet-private-9' });
    await account.settle(stack, [annotated('subnet-private-0')]);
    const { errors, plan } = await account.reconcile(stack, [annotated('subnet-private-9')]);
    expect(plan.actions).toEqual([]);
    expect(errors.get('')).toMatchObject([{ code: 'AwsSubnetUnusable', details: { subnet: 'subnet-private-9' } }]);
  });
});

test('an NLB whose creation got no answer is found by name, even with changed settings', async () => {
  const account = new StackFixture();
  account.cloud.fault = ({ operation }) => (operation === 'elbv2:CreateLoadBalancer' ? { kind: 'lost' } : undefined);
  await account.reconcile(stack, [awsMember('nlb', plain)]);
  account.cloud.fault = () => undefined;
  const result = await account.settle(stack, [awsMember('nlb', { ...plain, annotations: { 'additional-resource-tags': 'team=a' } })]);
  expect(hostnameOf(result)).toBeDefined();
  expect(account.world.loadBalancers.size).toBe(1);
});

test('deletion protection is respected and reported', async () => {
  const account = new StackFixture();
  await account.settle(stack, [awsMember('nlb', { ...plain, annotations: { attributes: 'deletion_protection.enabled=true' } })]);
  const { plan, errors, gone } = await account.reconcile(stack, []);
  expect([plan.actions, gone]).toEqual([[], false]);
  expect(errors.get('')?.map(({ code }) => code)).toEqual(['AwsDeletionProtected']);
  for (const { attributes } of account.world.loadBalancers.values()) attributes.set('deletion_protection.enabled', 'false');
  expect((await account.settle(stack, [])).gone).toBe(true);
});

describe('an adopted NLB', () => {
  async function given(account: StackFixture): Promise<string> {
    const { LoadBalancers } = await account.cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'mine',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: [{ SubnetId: 'subnet-private-1' }],
      SecurityGroups: ['sg-00000aaa'],
      Tags: [
        { Key: 'made-by', Value: 'terraform' },
        { Key: 'herald.dev/cluster', Value: 'test' },
      ],
    });
    return LoadBalancers[0]?.LoadBalancerArn ?? '';
  }

  test('an adopted NLB gets listeners and a status, and is restored when the Service goes', async () => {
    const account = new StackFixture();
    const arn = await given(account);
    const member = awsMember('nlb', { ...plain, annotations: { 'herald.dev/aws-load-balancer': 'mine' } });
    const result = await account.settle(stack, [member]);
    expect(hostnameOf(result)).toMatch(/^mine-/);
    expect([...account.world.listeners.values()].map(({ value }) => [value.LoadBalancerArn, value.Port])).toEqual([[arn, 80]]);
    await account.settle(stack, []);
    expect([account.world.loadBalancers.size, account.world.listeners.size, account.world.targetGroups.size]).toEqual([1, 0, 0]);
    expect([...(account.world.tags.get(arn) ?? [])]).toEqual([
      ['made-by', 'terraform'],
      ['herald.dev/cluster', 'test'],
    ]);
    expect(account.world.loadBalancers.get(arn)?.value.SecurityGroups).toEqual(['sg-00000aaa']);
  });

  test('foreign listeners stay, and their ports are refused', async () => {
    const account = new StackFixture();
    const arn = await given(account);
    const { TargetGroups } = await account.cloud.call('elbv2:CreateTargetGroup', {
      Name: 'theirs',
      Protocol: 'TCP',
      Port: 80,
      VpcId: 'vpc-1',
      TargetType: 'instance',
      IpAddressType: 'ipv4',
      Tags: [],
    });
    const TargetGroupArn = TargetGroups[0]?.TargetGroupArn ?? '';
    await account.cloud.call('elbv2:CreateListener', {
      LoadBalancerArn: arn,
      Port: 80,
      Protocol: 'TCP',
      DefaultActions: [{ Type: 'forward', TargetGroupArn }],
      Tags: [],
    });
    const { errors } = await account.reconcile(stack, [
      awsMember('nlb', { ...plain, annotations: { 'herald.dev/aws-load-balancer': arn } }),
    ]);
    expect(errors.get('')).toMatchObject([{ code: 'AwsListenerForeign', details: { port: 80 } }]);
    expect([...account.world.listeners.values()].map(({ value }) => value.DefaultActions[0]?.TargetGroupArn)).toEqual([TargetGroupArn]);
    const beside = awsMember('nlb', { name: 'web', ports: ['http:81/TCP@30081'], annotations: { 'herald.dev/aws-load-balancer': arn } });
    await account.settle(stack, [beside]);
    await account.settle(stack, []);
    expect([...account.world.listeners.values()].map(({ value }) => value.Port)).toEqual([80]);
  });

  test('an NLB of another controller or a missing NLB is refused', async () => {
    const account = new StackFixture();
    const arn = await given(account);
    account.world.setTags(arn, [{ Key: 'elbv2.k8s.aws/cluster', Value: 'x' }]);
    const member = awsMember('nlb', { ...plain, annotations: { 'herald.dev/aws-load-balancer': 'mine' } });
    expect((await account.reconcile(stack, [member])).errors.get('')?.map(({ code }) => code)).toEqual(['AwsForeignLoadBalancer']);
    const nowhere = awsMember('nlb', { ...plain, annotations: { 'herald.dev/aws-load-balancer': 'nowhere' } });
    expect((await account.reconcile(stack, [nowhere])).errors.get('default/web')?.map(({ code }) => code)).toEqual(['AwsAdoptedNotFound']);
  });
});

test('a refused call only blocks the actions that need it', async () => {
  const account = new StackFixture();
  const member = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080', 'alt:81/TCP@30081'] });
  account.cloud.fault = ({ operation, input }) => {
    const isFirst = operation === 'elbv2:CreateTargetGroup' && (input as { Port: number }).Port === 30_080;
    return isFirst ? { kind: 'error', code: 'quota' } : undefined;
  };
  const { errors, execution } = await account.reconcile(stack, [member]);
  expect(errors.get('')?.map(({ code }) => code)).toEqual(['AwsRefused']);
  expect(execution.outcomes.filter(({ result }) => result === 'skipped').map(({ action }) => action.id)).toEqual([
    'targets default/web:80/TCP: register 1',
    'listener 80: create',
  ]);
  expect([...account.world.listeners.values()].map(({ value }) => value.Port)).toEqual([81]);
});

test('every action has a reason', async () => {
  const account = new StackFixture();
  const { plan } = await account.reconcile(stack, [awsMember('nlb', { ...plain, annotations: { 'ssl-cert': acmCertificate } })]);
  expect(plan.actions.map(({ id, reason }) => `${id} | ${reason}`)).toEqual([
    'security group: create | the load balancer has no security group of its own',
    'security group: authorize | 1 rules are missing',
    'backend security group: create | the cluster has no security group for its load balancers yet',
    'target group default/web:80/TCP: create | there is no TCP target group for default/web:80/TCP with targets of type instance',
    'targets default/web:80/TCP: register 1 | 3 targets are not registered',
    'load balancer: create | there is no internet-facing NLB for default/web',
    'listener 80: create | nothing listens on port 80',
  ]);
});
