import { describe, expect, test } from 'vitest';
import { describeDesired, describeObserved } from '../../../../providers/aws/plan/describe.ts';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { StackFixture, awsMember } from '../support/stack-fixture.ts';

const key = 'minimum-load-balancer-capacity';
const ports = ['http:80/TCP@30080'];
const plain = awsMember('nlb', { name: 'web', ports });
const stack = stackOf(plain);
const wanting = (units: number): Member => awsMember('nlb', { name: 'web', ports, annotations: { [key]: `CapacityUnits=${units}` } });

const capacityOf = ({ world }: StackFixture): number[] => [...world.loadBalancers.values()].map(({ capacity }) => capacity.units);
const calls = ({ cloud }: StackFixture): string[] =>
  cloud.calls.flatMap(({ operation }) => (operation.includes('Capacity') ? [operation.split(':')[1] ?? ''] : []));

describe('reserved capacity', () => {
  test('Herald reserves it when the NLB is active, and publishes the host name without waiting for it', async () => {
    const account = new StackFixture();
    await account.reconcile(stack, [wanting(3000)]);
    account.advance(60);
    await account.reconcile(stack, [wanting(3000)]);
    expect(capacityOf(account)).toEqual([0]);
    account.advance(60);
    const active = await account.reconcile(stack, [wanting(3000)]);
    expect([capacityOf(account), active.servingStatus.get('default/web')?.hostname]).toEqual([[3000], expect.any(String)]);
    const later = await account.reconcile(stack, [wanting(3000)]);
    expect(later.plan.waits.map((wait) => wait.for)).toContain('AWS to reserve the capacity of the load balancer');
    const { plan } = await account.settle(stack, [wanting(3000)]);
    expect([plan.actions, plan.problems]).toEqual([[], []]);
  });

  test('another number waits until AWS has finished the last change', async () => {
    const account = new StackFixture();
    await account.settle(stack, [wanting(3000)]);
    await account.reconcile(stack, [wanting(4000)]);
    const { plan } = await account.reconcile(stack, [wanting(5000)]);
    expect([capacityOf(account), plan.actions]).toEqual([[4000], []]);
    await account.settle(stack, [wanting(5000)]);
    expect(capacityOf(account)).toEqual([5000]);
  });

  test('without the annotation the NLB gets its previous reservation back', async () => {
    const account = new StackFixture();
    await account.settle(stack, [plain]);
    for (const one of account.world.loadBalancers.values()) one.capacity = { units: 2000, since: -Infinity };
    await account.settle(stack, [wanting(3000)]);
    expect(capacityOf(account)).toEqual([3000]);
    await account.settle(stack, [plain]);
    expect(capacityOf(account)).toEqual([2000]);
    await account.settle(stack, [wanting(0)]);
    expect(capacityOf(account)).toEqual([0]);
  });

  test('capacity without an annotation is neither read nor changed', async () => {
    const account = new StackFixture();
    await account.settle(stack, [plain]);
    for (const one of account.world.loadBalancers.values()) one.capacity = { units: 2000, since: -Infinity };
    await account.settle(stack, [plain]);
    expect([capacityOf(account), calls(account)]).toEqual([[2000], []]);
  });

  test('a zone without enough capacity is reported', async () => {
    const account = new StackFixture();
    account.world.capacityUnits = 2500;
    const { errors } = await account.settle(stack, [wanting(3000)]);
    expect((errors.get('') ?? []).map(reasonText).join()).toMatch(
      /AWS has not reserved 3000 capacity units for \S+ in us-east-1a: InsufficientCapacity/,
    );
  });

  test('a refused reservation does not hide the host name', async () => {
    const account = new StackFixture();
    account.cloud.fault = ({ operation }) => (operation.includes('ModifyCapacity') ? { kind: 'error', code: 'quota' } : undefined);
    for (let pass = 0; pass < 4; pass++) {
      await account.reconcile(stack, [wanting(3000)]);
      account.advance(60);
    }
    const { errors, servingStatus } = await account.reconcile(stack, [wanting(3000)]);
    expect((errors.get('') ?? []).map(({ code }) => code)).toEqual(['AwsRefused']);
    expect(servingStatus.get('default/web')?.hostname).toEqual(expect.any(String));
  });

  test('an adopted NLB gets its reservation back when the Service is deleted', async () => {
    const account = new StackFixture();
    const { LoadBalancers } = await account.cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'mine',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: [{ SubnetId: 'subnet-private-0' }],
      SecurityGroups: ['sg-00000aaa'],
      Tags: [{ Key: 'herald.dev/cluster', Value: 'test' }],
    });
    const arn = LoadBalancers[0]?.LoadBalancerArn ?? '';
    for (const one of account.world.loadBalancers.values()) one.capacity = { units: 2000, since: -Infinity };
    account.advance(600);
    const annotations = { 'herald.dev/aws-load-balancer': 'mine', [key]: 'CapacityUnits=3000' };
    await account.settle(stack, [awsMember('nlb', { name: 'web', ports, annotations })]);
    expect(capacityOf(account)).toEqual([3000]);
    await account.settle(stack, []);
    expect([capacityOf(account), [...(account.world.tags.get(arn)?.keys() ?? [])]]).toEqual([[2000], ['herald.dev/cluster']]);
  });

  test('herald plan and explain show it', async () => {
    const account = new StackFixture();
    const { desired } = await account.settle(stack, [wanting(3000)]);
    expect(describeDesired(desired)).toContain('3000 capacity units reserved');
    const capacity = { MinimumLoadBalancerCapacity: { CapacityUnits: 3000 }, CapacityReservationState: [] };
    const { LoadBalancers } = await account.cloud.call('elbv2:DescribeLoadBalancers', {});
    const loadBalancers = LoadBalancers.map((loadBalancer) => ({ loadBalancer, tags: {}, attributes: [], listeners: [], capacity }));
    const nothing = { targetGroups: [], classic: [], securityGroups: [] };
    expect(describeObserved({ loadBalancers, ...nothing })).toContain('3000 capacity units reserved');
  });
});
