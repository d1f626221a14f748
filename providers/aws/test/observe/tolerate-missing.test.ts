import { describe, expect, test } from 'vitest';
import { KnownResources } from '../../../../providers/aws/observe/known-resources.ts';
import { scanOwned } from '../../../../providers/aws/observe/scan.ts';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import type { Call } from '../moto/fake/cloud.ts';
import { StackFixture, awsMember, settings } from '../support/stack-fixture.ts';

const web = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080', 'alt:81/TCP@30081'] });
/** The same with an attribute: only then are the attributes of its load balancer read. */
const attributed = awsMember('nlb', {
  name: 'web',
  ports: ['http:80/TCP@30080', 'alt:81/TCP@30081'],
  annotations: { attributes: 'load_balancing.cross_zone.enabled=true' },
});
const old = awsMember('classic', { name: 'old', ports: ['http:80/TCP@30090'] });

/** Calls `go` just before the first call of this operation is answered. */
function beforeFirst({ cloud }: StackFixture, operation: Call['operation'], go: () => void): void {
  let gone = false;
  cloud.fault = (call) => {
    if (call.operation === operation && !gone) {
      gone = true;
      go();
    }
    return undefined;
  };
}

/** An account with an NLB and a Classic ELB, and a controller that has just started and found the resources of `member`. */
async function restartedAccount(member = web): Promise<StackFixture> {
  const account = new StackFixture();
  for (const one of [web, old]) {
    await account.settle(stackOf(one), [one]);
    account.known = new KnownResources();
  }
  await account.restart(stackOf(member));
  account.cloud.calls.length = 0;
  return account;
}

describe('a resource deleted after it was listed', () => {
  test('scanOwned leaves it out and finds all others', async () => {
    const account = await restartedAccount();
    const { world } = account;
    // Foreign target groups, so many that their tags take several calls.
    for (let index = 0; index < 50; index++) {
      await account.cloud.call('elbv2:CreateTargetGroup', {
        Name: `theirs-${index}`,
        Protocol: 'TCP',
        Port: 80,
        VpcId: 'vpc-1',
        TargetType: 'instance',
        IpAddressType: 'ipv4',
        Tags: [],
      });
    }
    const theirs = [...world.targetGroups].filter(([, { value }]) => value.TargetGroupName.startsWith('theirs')).map(([arn]) => arn);
    account.cloud.calls.length = 0;
    beforeFirst(account, 'elbv2:DescribeTags', () => world.targetGroups.delete(theirs[30] ?? ''));
    const owned = await scanOwned(account.cloud, settings);
    const groups = [...world.targetGroups].filter(([, { value }]) => value.TargetGroupName.startsWith('k8s')).map(([arn]) => arn);
    expect(groups).toHaveLength(2);
    expect((owned.get('default/web') ?? []).map(({ id }) => id)).toEqual(
      expect.arrayContaining([...world.loadBalancers.keys(), ...groups]),
    );
    expect((owned.get('default/old') ?? []).map(({ id }) => id)).toEqual(expect.arrayContaining([...world.classic.keys()]));
    // 53 resources take three calls. The batch with the missing one is halved five times.
    expect(account.cloud.calls.filter(({ operation }) => operation === 'elbv2:DescribeTags').length).toBeLessThanOrEqual(3 + 2 * 5);
  });

  test('scanOwned leaves out a Classic ELB', async () => {
    const account = await restartedAccount();
    beforeFirst(account, 'elb:DescribeTags', () => account.world.classic.clear());
    expect([...(await scanOwned(account.cloud, settings)).keys()]).toEqual(['default/web', 'default/old']);
  });

  test.each([
    'elbv2:DescribeTags',
    'elbv2:DescribeLoadBalancerAttributes',
    'elbv2:DescribeListeners',
    'elbv2:DescribeTargetGroupAttributes',
    'elbv2:DescribeTargetHealth',
  ] as const)('one reconcile creates an NLB again that disappears before %s', async (operation) => {
    const account = await restartedAccount();
    beforeFirst(account, operation, () => {
      for (const map of [account.world.loadBalancers, account.world.listeners, account.world.targetGroups]) map.clear();
    });
    const { plan } = await account.reconcile(stackOf(web), [attributed]);
    expect(plan.actions.map(({ id }) => id)).toContain('load balancer: create');
    expect(plan.problems.map(({ code }) => code)).toEqual(['AwsProvisioning']);
    expect(account.world.loadBalancers.size).toBe(1);
  });

  test.each(['elb:DescribeTags', 'elb:DescribeLoadBalancerAttributes', 'elb:DescribeInstanceHealth'] as const)(
    'one reconcile creates a Classic ELB again that disappears before %s',
    async (operation) => {
      const account = await restartedAccount(old);
      beforeFirst(account, operation, () => account.world.classic.clear());
      await account.reconcile(stackOf(old), [old]);
      expect(account.world.classic.size).toBe(1);
    },
  );
});
