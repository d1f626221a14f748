import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { StackFixture, awsMember, node, type AwsServiceLiteral } from '../support/stack-fixture.ts';

const web: AwsServiceLiteral = { name: 'web', ports: ['http:80/TCP@30080'] };
const wrong = { 'healthcheck-interval': 'x' };
const pods = (name: string, ...endpoints: string[]) => slice({ service: `default/${name}`, name, ports: ['http:8080'], endpoints });

/** Ids of the registered targets, one string for each target group, ordered by port. */
function targets({ world }: StackFixture): string[] {
  return [...world.targetGroups.values()].map(({ targets }) =>
    [...targets.values()]
      .flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [`${target.Id}:${target.Port}`] : []))
      .toSorted()
      .join(' '),
  );
}

/** Reconciles a few times, with time between. */
async function look(account: StackFixture, members: readonly Member[]): Promise<void> {
  const [stack] = members.map(stackOf);
  expect(stack).toBeDefined();
  if (stack === undefined) return;
  for (let pass = 0; pass < 6; pass++) {
    await account.reconcile(stack, members);
    account.advance(60);
  }
}

const operations = (account: StackFixture, since: number): string[] => account.cloud.writes.slice(since).map(({ operation }) => operation);

async function settled(...members: readonly Member[]): Promise<StackFixture> {
  const account = new StackFixture();
  account.nodes = [0, 1].map((index) => node(index));
  account.slices = [pods('web', '10.0.1.5'), pods('dns', '10.0.2.5')];
  const [first] = members;
  if (first !== undefined) await account.settle(stackOf(first), members);
  return account;
}

describe('a Service with an invalid annotation', () => {
  test('targets follow the nodes, and nothing else changes', async () => {
    const account = await settled(awsMember('nlb', web));
    const before = account.cloud.writes.length;
    account.nodes = [1, 2].map((index) => node(index));
    await look(account, [
      awsMember('nlb', { ...web, annotations: { ...wrong, scheme: 'public', 'cross-zone-load-balancing-enabled': 'true' } }),
    ]);
    expect(targets(account)).toEqual(['i-00000001:30080 i-00000002:30080']);
    expect(operations(account, before)).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
  });

  test('pod targets follow the pods, even after a restart and with another target type requested', async () => {
    const account = await settled(awsMember('nlb', { ...web, annotations: { 'nlb-target-type': 'ip' } }));
    const member = awsMember('nlb', { ...web, annotations: { 'nlb-target-type': 'pod' } });
    await account.restart(stackOf(member));
    const before = account.cloud.writes.length;
    account.slices = [pods('web', '10.0.1.6', '10.0.1.7')];
    await look(account, [member]);
    expect(targets(account)).toEqual(['10.0.1.6:8080 10.0.1.7:8080']);
    expect(operations(account, before)).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
  });

  test('the instances of a Classic ELB follow the nodes', async () => {
    const account = await settled(awsMember('classic', web));
    const before = account.cloud.writes.length;
    account.nodes = [1, 2].map((index) => node(index));
    await look(account, [awsMember('classic', { ...web, annotations: wrong })]);
    const [balancer] = account.world.classic.values();
    expect(balancer?.value.Instances.map(({ InstanceId }) => InstanceId).toSorted()).toEqual(['i-00000001', 'i-00000002']);
    expect(operations(account, before)).toEqual(['elb:RegisterInstancesWithLoadBalancer', 'elb:DeregisterInstancesFromLoadBalancer']);
  });

  test.each(['nlb', 'classic'] as const)('targets stay when the annotation that selects nodes is invalid: %s', async (kind) => {
    const account = await settled(awsMember(kind, { ...web, annotations: { 'target-node-labels': 'role=edge' } }));
    const before = account.cloud.writes.length;
    account.nodes = [1, 2].map((index) => node(index));
    await look(account, [awsMember(kind, { ...web, annotations: { 'target-node-labels': '=' } })]);
    expect(operations(account, before)).toEqual([]);
  });

  test('a port that the Service no longer has keeps its targets', async () => {
    const account = await settled(awsMember('nlb', web));
    const before = account.cloud.writes.length;
    account.nodes = [node(2)];
    await look(account, [awsMember('nlb', { ...web, ports: ['http:81/TCP@30081'], annotations: wrong })]);
    expect([operations(account, before), targets(account)]).toEqual([[], ['i-00000000:30080 i-00000001:30080']]);
  });

  test('all Services of a shared NLB follow their pods, whichever of them has the error', async () => {
    const shared = { 'herald.dev/aws-shared-load-balancer': 'edge', 'nlb-target-type': 'ip' };
    const members = (first: object, second: object): Member[] => [
      awsMember('nlb', { ...web, annotations: { ...shared, ...first } }),
      awsMember('nlb', { name: 'dns', ports: ['http:53/TCP@30053'], annotations: { ...shared, ...second } }),
    ];
    const account = await settled(...members({}, {}));
    for (const [first, second, last] of [
      [wrong, {}, 6],
      [{}, wrong, 7],
      [wrong, wrong, 8],
    ] as const) {
      const before = account.cloud.writes.length;
      account.slices = [pods('web', `10.0.1.${last}`), pods('dns', `10.0.2.${last}`)];
      await look(account, members(first, second));
      expect(targets(account).toSorted()).toEqual([`10.0.1.${last}:8080`, `10.0.2.${last}:8080`]);
      expect(new Set(operations(account, before))).toEqual(new Set(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']));
    }
  });

  test('a foreign target group with our name is not changed', async () => {
    const account = await settled(awsMember('nlb', web));
    for (const arn of account.world.targetGroups.keys()) account.world.tags.get(arn)?.set('herald.dev/cluster', 'other');
    const before = account.cloud.writes.length;
    account.nodes = [node(2)];
    await look(account, [awsMember('nlb', { ...web, annotations: wrong })]);
    expect(operations(account, before)).toEqual([]);
  });
});
