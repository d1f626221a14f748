import { describe, expect, test } from 'vitest';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import { Account, acmCertificate, awsMember, otherCertificate } from '../support/stack-fixture.ts';

const ports = ['http:80/TCP@30080', 'https:443/TCP@30443'];
const before = awsMember('classic', { name: 'web', ports });
const stack = stackOf(before);
const withTls = (annotations: Readonly<Record<string, string>>) =>
  awsMember('classic', { name: 'web', ports, annotations: { 'ssl-cert': acmCertificate, 'ssl-ports': '443', ...annotations } });

async function settled(member = before): Promise<Account> {
  const account = new Account();
  await account.settle(stack, [member]);
  return account;
}

const listenersOf = ({ world }: Account): string[] =>
  [...world.classic.values()].flatMap(({ value }) =>
    value.ListenerDescriptions.map(({ Listener, PolicyNames }) =>
      `${Listener.LoadBalancerPort} ${Listener.Protocol} ${PolicyNames.join(' ')}`.trim(),
    ).toSorted(),
  );

const writesSince = ({ cloud }: Account, start: number): string[] =>
  cloud.writes.slice(start).map(({ operation }) => operation.replace('elb:', ''));

describe('a listener of a Classic ELB', () => {
  test('with another certificate stays', async () => {
    const account = await settled(withTls({}));
    const start = account.cloud.writes.length;
    await account.settle(stack, [withTls({ 'ssl-cert': otherCertificate })]);
    expect(writesSince(account, start)).toEqual(['SetLoadBalancerListenerSSLCertificate']);
  });

  test('with another protocol is deleted and made by two calls, one after the other, once AWS has taken it on another port', async () => {
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

  test('stays as it is where AWS does not know the certificate of what shall replace it; others change all the same', async () => {
    const account = await settled();
    const member = withTls({ 'ssl-cert': 'arn:aws:acm:us-east-1:123456789012:certificate/gone', 'backend-protocol': 'http' });
    for (let pass = 0; pass < 3; pass++) await account.pass(stack, [member]);
    expect(listenersOf(account)).toEqual(['443 TCP', '80 HTTP']);
  });

  test('is put back with its policies where AWS refuses what shall replace it, and replaced when it does not any more', async () => {
    const sslPolicy = { 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-1-2-2017-01' };
    const account = await settled(withTls(sslPolicy));
    expect(listenersOf(account)).toEqual(['443 SSL herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
    let creations = 0;
    account.cloud.fault = ({ operation }) =>
      operation === 'elb:CreateLoadBalancerListeners' && ++creations === 2 ? { kind: 'error', code: 'quota' } : undefined;
    const wanted = withTls({ ...sslPolicy, 'backend-protocol': 'https' });
    await account.pass(stack, [wanted]);
    expect(creations).toBe(3);
    expect(listenersOf(account)).toEqual(['443 SSL herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
    await account.settle(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['443 HTTPS herald-ssl-ELBSecurityPolicy-TLS-1-2-2017-01', '80 TCP']);
  });

  test('of a port more does not wait for one that AWS refuses', async () => {
    const account = await settled(awsMember('classic', { name: 'web', ports: ['http:80/TCP@30080'] }));
    const unknown = 'arn:aws:acm:us-east-1:123456789012:certificate/gone';
    await account.pass(stack, [
      awsMember('classic', {
        name: 'web',
        ports: [...ports, 'alt:8443/TCP@30843'],
        annotations: { 'ssl-cert': unknown, 'ssl-ports': '8443' },
      }),
    ]);
    expect(listenersOf(account)).toEqual(['443 TCP', '80 TCP']);
  });
});
