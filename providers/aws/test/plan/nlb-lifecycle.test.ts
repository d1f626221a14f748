import { describe, expect, test } from 'vitest';
import { StackFixture, acmCertificate, awsMember, single, hostnameOf } from '../support/stack-fixture.ts';

const web = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30061'] });

describe('the life cycle of an NLB', () => {
  test('an NLB is created once, becomes usable and then causes no further action', async () => {
    const account = new StackFixture();
    const { stack, members } = single(web);
    const first = await account.reconcile(stack, members);
    expect(hostnameOf(first)).toBeUndefined();
    expect(first.errors.get('')?.map(({ code }) => code)).toEqual(['AwsProvisioning']);
    const last = await account.settle(stack, members);
    expect(hostnameOf(last)).toMatch(/^k8s-default-web-.*\.elb\.us-east-1\.amazonaws\.com$/);
    expect([...last.errors]).toEqual([]);
    expect(account.world.loadBalancers.size).toBe(1);
    const [group] = account.world.targetGroups.values();
    expect(group?.targets.size).toBe(3);
    const writes = account.cloud.writes.length;
    account.advance(300);
    await account.reconcile(stack, members);
    expect(account.cloud.writes.length).toBe(writes);
  });

  test('a TLS listener has its certificate', async () => {
    const account = new StackFixture();
    const member = awsMember('nlb', { name: 'web', ports: ['https:443/TCP@30443'], annotations: { 'ssl-cert': acmCertificate } });
    const { stack, members } = single(member);
    await account.settle(stack, members);
    const [listener] = account.world.listeners.values();
    expect(listener?.value).toMatchObject({ Port: 443, Protocol: 'TLS', Certificates: [{ CertificateArn: acmCertificate }] });
  });

  test('a deleted Service leaves no resources', async () => {
    const account = new StackFixture();
    const { stack, members } = single(web);
    await account.settle(stack, members);
    const { gone } = await account.settle(stack, []);
    expect(gone).toBe(true);
    // The shared security group stays for other load balancers.
    expect(account.owned().map((id) => account.world.tags.get(id)?.get('herald.dev/resource'))).toEqual(['backend-security-group']);
  });
});
