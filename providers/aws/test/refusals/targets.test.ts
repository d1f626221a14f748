import { describe, expect, test } from 'vitest';
import { reasonText, stableText } from '../../../../src/model/reasons.ts';
import type { Instance } from '../../../../providers/aws/cloud/ec2.ts';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import { awsMember, node, StackFixture } from '../support/stack-fixture.ts';

const zone = (index: number): string => `us-east-1${'abc'[index % 3]}`;
const idOf = (index: number): string => `i-${index.toString(16).padStart(8, '0')}`;

/** Adds instances `from` to `to`, and makes them the nodes of the cluster. */
function useNodes(account: StackFixture, from: number, to: number): void {
  account.nodes = [];
  for (let index = from; index < to; index++) {
    const [template] = account.world.instances.values();
    const placement = { InstanceId: idOf(index), Placement: { AvailabilityZone: zone(index) } };
    account.world.instances.set(idOf(index), { ...(template as Instance), ...placement });
    account.nodes.push(node(index, { providerID: `aws:///${zone(index)}/${idOf(index)}` }));
  }
}

const nlb = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080', 'dns:53/UDP@30053'] });
const classic = awsMember('classic', { name: 'web', ports: ['http:80/TCP@30080'] });
const members = [
  ['NLB', nlb],
  ['Classic ELB', classic],
] as const;

/** The instances of each target group and Classic ELB that are not draining. */
function registered({ world }: StackFixture): string[][] {
  const groups = [...world.targetGroups.values()].map(({ targets }) =>
    [...targets.values()].flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [target.Id] : [])),
  );
  const balancers = [...world.classic.values()].map(({ value }) => value.Instances.map(({ InstanceId }) => InstanceId));
  return [...groups, ...balancers].map((ids) => ids.toSorted());
}

const range = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => idOf(from + at));

describe.each(members)('an %s', (_, member) => {
  const stack = stackOf(member);

  test.each([[[5]], [[0, 100, 249]], [[10, 11, 12, 13, 14, 15]]])(
    'gets all nodes but %j, which AWS refuses and the condition names',
    async (bad) => {
      const account = new StackFixture();
      useNodes(account, 0, 250);
      for (const index of bad) account.world.unsupported.add(idOf(index));
      const { errors } = await account.settle(stack, [member]);
      const accepted = range(0, 250).filter((id) => !bad.map(idOf).includes(id));
      for (const ids of registered(account)) expect(ids).toEqual(accepted);
      const [problem] = [...errors.values()].flat();
      expect(problem?.code).toBe('AwsTargetsRefused');
      if (problem === undefined) return;
      for (const index of bad.slice(0, 5)) expect(stableText(problem) ?? '').toContain(idOf(index));
      expect(reasonText(problem)).toMatch(/InvalidTarget|InvalidInstance/);
      for (const index of bad) account.world.unsupported.delete(idOf(index));
      account.advance(600);
      expect([...(await account.settle(stack, [member])).errors]).toEqual([]);
      for (const ids of registered(account)) expect(ids).toEqual(range(0, 250));
    },
  );

  test.each([true, false])('loses its old nodes when a pool replaces them and AWS refuses a new one; dead: %s', async (isDead) => {
    const account = new StackFixture();
    useNodes(account, 0, 3);
    await account.settle(stack, [member]);
    useNodes(account, 3, 7);
    if (isDead) for (const id of range(0, 3)) account.world.unhealthy.add(id);
    account.world.unsupported.add(idOf(4));
    await account.settle(stack, [member]);
    for (const ids of registered(account)) expect(ids).toEqual([idOf(3), idOf(5), idOf(6)]);
  });

  test('learns after a restart which node AWS refuses', async () => {
    const account = new StackFixture();
    useNodes(account, 0, 6);
    account.world.unsupported.add(idOf(2));
    await account.settle(stack, [member]);
    await account.restart(stack);
    const { errors } = await account.settle(stack, [member]);
    expect([...errors.values()].flat().map(({ code }) => code)).toEqual(['AwsTargetsRefused']);
  });

  test('tries refused nodes ever less often', async () => {
    const account = new StackFixture();
    useNodes(account, 0, 6);
    account.world.unsupported.add(idOf(2));
    await account.settle(stack, [member]);
    const writes = account.cloud.writes.length;
    for (let minute = 0; minute < 60; minute++) {
      await account.reconcile(stack, [member]);
      account.advance(60);
    }
    expect(account.cloud.writes.length - writes).toBeLessThan(40);
  });

  test('keeps its dead nodes when AWS refuses every new one for another reason than a quota', async () => {
    const account = new StackFixture();
    useNodes(account, 0, 3);
    await account.settle(stack, [member]);
    for (const id of range(0, 3)) account.world.unhealthy.add(id);
    useNodes(account, 3, 6);
    account.cloud.fault = ({ operation }) => (/:Register/.test(operation) ? { kind: 'error', code: 'denied' } : undefined);
    for (let pass = 0; pass < 20; pass++) {
      await account.reconcile(stack, [member]);
      account.advance(30);
    }
    // An NLB without a healthy target sends to all of them, a Classic ELB to none.
    const left = member === nlb ? range(0, 3) : [];
    expect(registered(account).every((ids) => ids.join() === left.join())).toBe(true);
  });
});

describe('a quota of targets', () => {
  const four = awsMember('nlb', { name: 'web', ports: ['a:80/TCP@30080', 'b:81/TCP@30081', 'c:82/TCP@30082', 'd:53/UDP@30053'] });
  const stack = stackOf(four);

  test('is divided over ports and zones, and the condition says how many are missing', async () => {
    const account = new StackFixture();
    account.world.quotas.targetsPerZone = 200;
    useNodes(account, 0, 240);
    const { errors } = await account.settle(stack, [four]);
    const counts = registered(account).map((ids) => ids.length);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(120);
    expect(account.world.listeners.size).toBe(4);
    const texts = [...errors.values()].flat().map(reasonText);
    expect(texts.join()).toMatch(/AWS refuses .* and \d+ more: TooManyTargets/);
  });

  test.each([true, false])('that is full does not keep old nodes when all nodes are replaced; dead: %s', async (isDead) => {
    const account = new StackFixture();
    account.world.quotas.targetsPerZone = 160;
    useNodes(account, 0, 120);
    await account.settle(stack, [four]);
    expect(registered(account).map((ids) => ids.length)).toEqual([120, 120, 120, 120]);
    useNodes(account, 120, 240);
    if (isDead) for (const id of range(0, 120)) account.world.unhealthy.add(id);
    for (let pass = 0; pass < 200; pass++) {
      await account.reconcile(stack, [four]);
      account.advance(30);
    }
    expect(registered(account)).toEqual([1, 2, 3, 4].map(() => range(120, 240)));
  });
});
