import { describe, expect, test } from 'vitest';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import { StackFixture, acmCertificate, awsMember, otherCertificate } from '../support/stack-fixture.ts';

const ports = ['http:80/TCP@30080', 'https:443/TCP@30443'];
const before = awsMember('classic', { name: 'web', ports });
const stack = stackOf(before);
const withTls = (annotations: Readonly<Record<string, string>>) =>
  awsMember('classic', { name: 'web', ports, annotations: { 'ssl-cert': acmCertificate, 'ssl-ports': '443', ...annotations } });

async function settled(member = before): Promise<StackFixture> {
  const account = new StackFixture();
  await account.settle(stack, [member]);
  return account;
}

const listenersOf = ({ world }: StackFixture): string[] =>
  [...world.classic.values()].flatMap(({ value }) =>
    value.ListenerDescriptions.map(({ Listener, PolicyNames }) =>
      `${Listener.LoadBalancerPort} ${Listener.Protocol} ${PolicyNames.join(' ')}`.trim(),
    ).toSorted(),
  );

const writesSince = ({ cloud }: StackFixture, start: number): string[] =>
  cloud.writes.slice(start).map(({ operation }) => operation.replace('elb:', ''));

describe('a listener of a Classic ELB', () => {
  test('a listener with a new certificate is kept', async () => {
    const account = await settled(withTls({}));
    const start = account.cloud.writes.length;
    await account.settle(stack, [withTls({ 'ssl-cert': otherCertificate })]);
    expect(writesSince(account, start)).toEqual(['SetLoadBalancerListenerSSLCertificate']);
  });

  test('a listener with a new protocol is tested on a free port, then deleted and created again', async () => {
    const account = await settled();
    const start = account.cloud.writes.length;
    await account.settle(stack, [withTls({})]);
    expect(writesSince(account, start)).toEqual([
      'CreateLoadBalancerListeners',
      'DeleteLoadBalancerListeners',
      'CreateLoadBalancerListeners',
    ]);
    expect(listenersOf(account)).toEqual(['443 SSL', '80 TCP']);
  });

  test('a listener stays when AWS does not know its new certificate; others still change', async () => {
    const account = await settled();
    const member = withTls({ 'ssl-cert': 'arn:aws:acm:us-east-1:123456789012:certificate/gone', 'backend-protocol': 'http' });
    for (let pass = 0; pass < 3; pass++) await account.reconcile(stack, [member]);
    expect(listenersOf(account)).toEqual(['443 TCP', '80 HTTP']);
  });

  test('a refused replacement restores the old listener with its policies, and is retried', async () => {
    const sslPolicy = { 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-1-2-2017-01' };
    const account = await settled(withTls(sslPolicy));
    expect(listenersOf(account)).toEqual(['443 SSL herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
    let creations = 0;
    account.cloud.fault = ({ operation }) =>
      operation === 'elb:CreateLoadBalancerListeners' && ++creations === 2 ? { kind: 'error', code: 'quota' } : undefined;
    const wanted = withTls({ ...sslPolicy, 'backend-protocol': 'https' });
    await account.reconcile(stack, [wanted]);
    expect(creations).toBe(3);
    expect(listenersOf(account)).toEqual(['443 SSL herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
    await account.settle(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['443 HTTPS herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
  });

  test('a new listener does not wait for one that AWS refuses', async () => {
    const account = await settled(awsMember('classic', { name: 'web', ports: ['http:80/TCP@30080'] }));
    const unknown = 'arn:aws:acm:us-east-1:123456789012:certificate/gone';
    await account.reconcile(stack, [
      awsMember('classic', {
        name: 'web',
        ports: [...ports, 'alt:8443/TCP@30843'],
        annotations: { 'ssl-cert': unknown, 'ssl-ports': '8443' },
      }),
    ]);
    expect(listenersOf(account)).toEqual(['443 TCP', '80 TCP']);
  });
});
