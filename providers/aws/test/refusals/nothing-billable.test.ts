import { expect, test } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { stackOf } from '../../desire/stack.ts';
import type { BalancerKind } from '../../annotations/entry.ts';
import { refusals } from '../moto/fake/refusals.ts';
import { acmCertificate, awsMember, StackFixture } from '../support/stack-fixture.ts';

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

const mistakes: readonly (readonly [BalancerKind, Readonly<Record<string, string>>, string])[] = [
  [
    'nlb',
    { 'ssl-cert': acmCertificate, 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-9' },
    'names security policy ELBSecurityPolicy-TLS-9',
  ],
  [
    'classic',
    { 'ssl-cert': acmCertificate, 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS13-1-2-2021-06' },
    'does not have for a Classic ELB',
  ],
  ['nlb', { attributes: 'deletion_protection.enable=true' }, 'did you mean deletion_protection.enabled?'],
  ['nlb', { 'target-group-attributes': 'preserve_client_ips.enabled=true' }, 'did you mean preserve_client_ip.enabled?'],
  ['nlb', { 'target-group-attributes.80': 'stickines.enabled=true' }, 'did you mean stickiness.enabled?'],
  ['nlb', { 'listener-attributes.TCP-80': 'tcp.idle_timeout.second=400' }, 'did you mean tcp.idle_timeout.seconds?'],
];

test.each(mistakes)('%s with %j: nothing is created, and the condition says so', async (kind, annotations, text) => {
  const account = new StackFixture();
  const member = awsMember(kind, { name: 'web', ports: ports.slice(0, 1), annotations });
  const { errors } = await account.reconcile(stackOf(member), [member]);
  expect([...errors.values()].flat().map(reasonText).join()).toContain(text);
  expect(account.cloud.writes).toEqual([]);
});

test('an existing load balancer is asked for an attribute that Herald does not know', async () => {
  const account = new StackFixture();
  const plain = { name: 'web', ports: ports.slice(0, 1) };
  await account.settle(stackOf(awsMember('nlb', plain)), [awsMember('nlb', plain)]);
  const member = awsMember('nlb', { ...plain, annotations: { attributes: 'zonal_shift.next.enabled=true' } });
  await account.reconcile(stackOf(member), [member]);
  const asked = account.cloud.writes.filter(({ operation }) => operation === 'elbv2:ModifyLoadBalancerAttributes');
  expect(JSON.stringify(asked)).toContain('zonal_shift.next.enabled');
});

test('a new load balancer waits until AWS has accepted an attribute of its target group that Herald does not know', async () => {
  const account = new StackFixture();
  const annotations = { 'target-group-attributes': 'future=true' };
  const member = awsMember('nlb', { name: 'web', ports: ports.slice(0, 1), annotations });
  const { warnings } = await account.reconcile(stackOf(member), [member]);
  expect([...warnings.values()].flat()).toMatchObject([{ code: 'AwsAttributeUnknown' }]);
  expect(account.world.loadBalancers.size).toBe(0);
  // AWS has it now.
  for (const { attributes } of account.world.targetGroups.values()) attributes.set('future', 'false');
  account.advance(600);
  await account.settle(stackOf(member), [member]);
  expect(account.world.loadBalancers.size).toBe(1);
});

test('without the right to read security policies a load balancer is created', async () => {
  const account = new StackFixture();
  account.cloud.fault = ({ operation }) => (operation === 'elbv2:DescribeSSLPolicies' ? { kind: 'error', code: 'denied' } : undefined);
  const annotations = { 'ssl-cert': acmCertificate, 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS13-1-2-2021-06' };
  const member = awsMember('nlb', { name: 'web', ports: ports.slice(0, 1), annotations });
  expect([...(await account.settle(stackOf(member), [member])).errors]).toEqual([]);
  expect(account.world.listeners.size).toBe(1);
});
