import { describe, expect, test } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { awsMember, node, StackFixture } from '../support/stack-fixture.ts';
import { stackOf, type Member } from '../../desire/stack.ts';
import type { StackResult } from '../../stacks/stack-result.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const wrong = { annotations: { 'target-node-labels': 'role=edgee' } };
const kinds = ['nlb', 'classic'] as const;

/** Ids of the targets that AWS sends to or checks. */
function registered({ world }: StackFixture): string[] {
  const groups = [...world.targetGroups.values()].flatMap(({ targets }) =>
    [...targets.values()].flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [target.Id] : [])),
  );
  return [...groups, ...[...world.classic.values()].flatMap(({ value }) => value.Instances.map(({ InstanceId }) => InstanceId))].toSorted();
}

const all = ['i-00000000', 'i-00000001', 'i-00000002'];
const warningsOf = ({ warnings }: StackResult): string => [...warnings.values()].flat().map(reasonText).join('; ');

/** Reconciles as long as the clock shows less than so many seconds more. */
async function run(account: StackFixture, member: Member, seconds: number): Promise<StackResult> {
  let result = await account.reconcile(stackOf(member), [member]);
  for (let passed = 0; passed < seconds; passed += 60) {
    account.advance(60);
    result = await account.reconcile(stackOf(member), [member]);
  }
  return result;
}

describe.each(kinds)('the last targets of a Service (%s)', (kind) => {
  const right = awsMember(kind, web);
  const stack = stackOf(right);

  test('stay for a time when a label matches no Node, which is said with the annotation and its value', async () => {
    const account = new StackFixture();
    await account.settle(stack, [right]);
    const mistake = awsMember(kind, { ...web, ...wrong });
    const held = await run(account, mistake, 3000);
    expect(registered(account)).toEqual(all);
    expect(warningsOf(held)).toMatch(/loses its last targets at .*Z, because no Node has role=edgee of annotation .*target-node-labels$/);
    const after = await run(account, mistake, 900);
    expect(registered(account)).toEqual([]);
    expect(warningsOf(after)).toContain('has no target: no Node has role=edgee');
  });

  test('stay when all Nodes are gone, and when none may be a target', async () => {
    for (const nodes of [[], [node(0, { toBeDeleted: true })], [node(0, { providerID: 'other://1' })]]) {
      const account = new StackFixture();
      await account.settle(stack, [right]);
      account.nodes = nodes;
      const held = await run(account, right, 600);
      expect(registered(account)).toEqual(all);
      expect(warningsOf(held)).toMatch(/loses its last targets at .*Z, because no node can be registered$/);
    }
  });

  test('leave at the same time when the controller is restarted in between', async () => {
    const account = new StackFixture();
    await account.settle(stack, [right]);
    account.nodes = [];
    const before = warningsOf(await run(account, right, 1800));
    await account.restart(stack);
    expect(warningsOf(await run(account, right, 1500))).toBe(before);
    expect(registered(account)).toEqual(all);
    await account.restart(stack);
    await run(account, right, 600);
    expect(registered(account)).toEqual([]);
  });

  test('stay when the mistake ends, and the next one has the whole time again', async () => {
    const account = new StackFixture();
    await account.settle(stack, [right]);
    const mistake = awsMember(kind, { ...web, ...wrong });
    await run(account, mistake, 3000);
    await account.settle(stack, [right]);
    expect(JSON.stringify([...account.world.tags.values()].map((tags) => [...tags.keys()]))).not.toContain('last-targets-since');
    await run(account, mistake, 3000);
    expect(registered(account)).toEqual(all);
  });

  test('stay while an error of the Service keeps the rest as it is', async () => {
    const account = new StackFixture();
    await account.settle(stack, [right]);
    account.nodes = [];
    const broken = awsMember(kind, { ...web, annotations: { scheme: 'nowhere' } });
    await run(account, broken, 3000);
    expect(registered(account)).toEqual(all);
    await run(account, broken, 900);
    expect(registered(account)).toEqual([]);
  });

  test('leave at once when the configured time is 0', async () => {
    const account = new StackFixture();
    account.settings = { ...account.settings, lastTargetSeconds: 0 };
    await account.settle(stack, [right]);
    account.nodes = [];
    await run(account, right, 0);
    expect(registered(account)).toEqual([]);
  });

  test('are none in a new load balancer, which is said', async () => {
    const account = new StackFixture();
    const { warnings } = await account.settle(stack, [awsMember(kind, { ...web, ...wrong })]);
    expect([...warnings.values()].flat()).toMatchObject([{ code: 'AwsNoTargets', details: { all: true, labels: 'role=edgee' } }]);
  });
});

test.each([
  ['a=1,b=2', 'b=2'],
  ['a=1,c=3', 'a=1,c=3'],
  ['a=1,b', 'b'],
])('labels %s that select no Node: %s are named', async (labels, named) => {
  const account = new StackFixture();
  const labelled = (index: number, own: Readonly<Record<string, string>>) => {
    const plain = node(index);
    return { ...plain, metadata: { ...plain.metadata, labels: own } };
  };
  account.nodes = [labelled(0, { a: '1' }), labelled(1, { c: '3' })];
  const member = awsMember('nlb', { ...web, annotations: { 'target-node-labels': labels } });
  const { warnings } = await account.settle(stackOf(member), [member]);
  expect([...warnings.values()].flat()).toMatchObject([{ code: 'AwsNoTargets', details: { labels: named } }]);
});
