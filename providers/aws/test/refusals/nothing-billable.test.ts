import { expect, test } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { stackOf } from '../../desire/stack.ts';
import type { BalancerKind } from '../../annotations/entry.ts';
import { refusals } from '../moto/fake/refusals.ts';
import { awsMember, StackFixture } from '../support/stack-fixture.ts';

const ports = ['http:80/TCP@30080', 'dns:53/UDP@30053'];
const ranges = Array.from({ length: 200 }, (_, at) => `192.0.${at}.0/24`).join();
const calls = [
  ['ec2:CreateSecurityGroup', 'SecurityGroupLimitExceeded'],
  ['ec2:AuthorizeSecurityGroupIngress', 'RulesPerSecurityGroupLimitExceeded'],
] as const;

test.each(calls)('AWS refuses %s (%s): no load balancer is created before the refusal ends', async (operation, awsCode) => {
  const member = awsMember('nlb', { name: 'web', ports });
  const account = new StackFixture();
  const refusal = refusals.find((one) => one.operation === operation && one.awsCode === awsCode) ?? expect.unreachable('no such refusal');
  account.cloud.fault = (call) => (call.operation === operation ? { kind: 'refused', refusal } : undefined);
  for (let pass = 0; pass < 10; pass++) {
    const { errors } = await account.reconcile(stackOf(member), [member]);
    expect([...errors.values()].flat().map(reasonText).join()).toContain(refusal.message);
    account.advance(60);
  }
  expect(account.world.loadBalancers.size).toBe(0);
  account.cloud.fault = () => undefined;
  expect([...(await account.settle(stackOf(member), [member])).errors]).toEqual([]);
  expect(account.world.listeners.size).toBe(2);
});

test.each(['nlb', 'classic'] as const)(
  'more source ranges than a group takes: no load balancer is created (%s)',
  async (kind: BalancerKind) => {
    const annotations = { 'service.beta.kubernetes.io/load-balancer-source-ranges': ranges };
    const member = awsMember(kind, { name: 'web', ports: ports.slice(0, 1), annotations });
    const account = new StackFixture();
    for (let pass = 0; pass < 10; pass++) {
      const { errors } = await account.reconcile(stackOf(member), [member]);
      expect([...errors.values()].flat().map(reasonText).join()).toContain('RulesPerSecurityGroupLimitExceeded');
      account.advance(60);
    }
    expect(account.world.loadBalancers.size + account.world.classic.size).toBe(0);
  },
);
