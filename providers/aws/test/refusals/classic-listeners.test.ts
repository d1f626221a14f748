import { expect, test } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { stackOf } from '../../desire/stack.ts';
import { refusals } from '../moto/fake/refusals.ts';
import { acmCertificate, awsMember, StackFixture } from '../support/stack-fixture.ts';

const ports = ['http:80/TCP@30080'];
const before = awsMember('classic', { name: 'web', ports });
const after = awsMember('classic', { name: 'web', ports, annotations: { 'ssl-cert': acmCertificate, 'backend-protocol': 'http' } });
const stack = stackOf(before);

const protocols = ({ world }: StackFixture): string[] =>
  [...world.classic.values()].flatMap(({ value }) => value.ListenerDescriptions.map(({ Listener }) => Listener.Protocol));

test.each(refusals.filter(({ operation }) => operation === 'elb:CreateLoadBalancerListeners'))(
  'a listener of a Classic ELB that AWS does not replace ($awsCode) stays, is named, and is replaced when the refusal ends',
  async (refusal) => {
    const account = new StackFixture();
    await account.settle(stack, [before]);
    account.cloud.fault = ({ operation, input }) =>
      operation === refusal.operation && JSON.stringify(input).includes('"LoadBalancerPort":80,') && JSON.stringify(input).includes('HTTPS')
        ? { kind: 'refused', refusal }
        : undefined;
    let texts: string[] = [];
    for (let pass = 0; pass < 12; pass++) {
      texts = [...(await account.reconcile(stack, [after])).errors.values()].flat().map(reasonText);
      expect(protocols(account)).toContain('TCP');
      account.advance(60);
    }
    expect(texts.join()).toContain(refusal.message);
    account.cloud.fault = () => undefined;
    await account.settle(stack, [after]);
    expect(protocols(account)).toEqual(['HTTPS']);
  },
);
