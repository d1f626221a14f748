import { describe, expect, test } from 'vitest';
import { remedyText, stableText } from '../../../../src/model/reasons.ts';
import { reasonOfError } from '../../cloud/error-reason.ts';
import { stackOf } from '../../desire/stack.ts';
import { refusalError, refusals } from '../moto/fake/refusals.ts';
import { awsMember, StackFixture } from '../support/stack-fixture.ts';

const ports = ['http:80/TCP@30080'];
const annotations = { subnets: 'subnet-public-0', 'eip-allocations': 'eipalloc-1' };
const member = awsMember('nlb', { name: 'web', ports, annotations });

describe('an Elastic IP that is in use', () => {
  test('is named with the network interface that has it', async () => {
    const account = new StackFixture();
    account.world.associated.set('eipalloc-1', 'eni-of-a-gateway');
    const { errors } = await account.reconcile(stackOf(member), [member]);
    const texts = [...errors.values()].flat().map((one) => stableText(one) ?? '');
    expect(texts.join()).toMatch(/CreateLoadBalancer waits .*eipalloc-1 is in use by network interface .*eni-of-a-gateway/);
    expect(account.world.loadBalancers.size).toBe(0);
  });

  test('is named with the load balancer that has it', async () => {
    const account = new StackFixture();
    account.world.associated.set('eipalloc-1', 'eni-of-a-load-balancer');
    account.world.podInterfaces.push({
      NetworkInterfaceId: 'eni-of-a-load-balancer',
      Description: 'ELB net/k8s-default-second/0123456789abcdef',
      VpcId: 'vpc-1',
      Groups: [],
      PrivateIpAddresses: [],
      Ipv6Addresses: [],
    });
    const { errors } = await account.reconcile(stackOf(member), [member]);
    const texts = [...errors.values()].flat().map((one) => stableText(one) ?? '');
    expect(texts.join()).toContain('eipalloc-1 is in use by network interface ELB net/k8s-default-second/');
  });
});

test('a load balancer that something else uses is reported with the call, AWS text and the way out', () => {
  const refusal = refusals.find(({ operation, awsCode }) => operation === 'elbv2:DeleteLoadBalancer' && awsCode === 'ResourceInUse');
  if (refusal === undefined) expect.unreachable('no such refusal');
  const problem = reasonOfError(refusalError(refusal));
  expect(stableText(problem)).toBe('elbv2:DeleteLoadBalancer waits for something that is in use: ResourceInUse: It is currently in use');
  expect(remedyText(problem)).toContain('VPC link');
});
