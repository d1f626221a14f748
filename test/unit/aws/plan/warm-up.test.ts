import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { slice } from '../../decisions/fixtures.ts';
import { Account, acmCertificate, awsMember, otherCertificate } from '../support/stack-fixture.ts';

const web = (annotations: Readonly<Record<string, string>> = {}, ports = ['http:80/TCP@30080']): Member =>
  awsMember('nlb', { name: 'web', ports, annotations });
const stack = stackOf(web());

async function settled(member: Member): Promise<Account> {
  const account = new Account();
  account.slices = [slice({ service: 'web', ports: ['http:8080'], endpoints: ['10.0.1.5', '10.0.1.6'] })];
  await account.settle(stack, [member]);
  return account;
}

/** Port and type of targets of each listener. */
const listenersOf = ({ world }: Account): string[] =>
  [...world.listeners.values()]
    .map(({ value }) => {
      const group = world.targetGroups.get(value.DefaultActions[0]?.TargetGroupArn ?? '')?.value;
      return `${value.Port} ${value.Protocol} ${group?.TargetType} ${value.Certificates?.[0]?.CertificateArn === otherCertificate ? 'other' : ''}`.trim();
    })
    .toSorted();

describe('a port whose targets become others', () => {
  test('keeps the old ones while a listener on a free port lets AWS check the new ones', async () => {
    const account = await settled(web());
    const wanted = web({ 'nlb-target-type': 'ip' });
    await account.pass(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['65535 TCP ip', '80 TCP instance']);
    account.advance(20);
    const { plan } = await account.pass(stack, [wanted]);
    expect(plan.actions).toEqual([]);
    account.advance(15);
    await account.pass(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['80 TCP ip']);
    await account.settle(stack, [wanted]);
    expect(account.world.targetGroups.size).toBe(1);
  });

  test('gets the new ones also where they never become healthy', async () => {
    const account = await settled(web());
    for (const ip of ['10.0.1.5', '10.0.1.6']) account.world.unhealthy.add(ip);
    await account.settle(stack, [web({ 'nlb-target-type': 'ip' })]);
    expect(listenersOf(account)).toEqual(['80 TCP ip']);
  });

  test('gets them at once where the old ones serve nobody, there are none, or the load balancer has room for no more listeners', async () => {
    const down = await settled(web());
    for (const index of [0, 1, 2]) down.world.unhealthy.add(`i-0000000${index}`);
    const empty = await settled(web());
    empty.slices = [];
    const ports = Array.from({ length: 50 }, (_, index) => `http:${8000 + index}/TCP@${30_000 + index}`);
    const full = await settled(web({}, ports));
    for (const [account, of] of [
      [down, ['http:80/TCP@30080']],
      [empty, ['http:80/TCP@30080']],
      [full, ports],
    ] as const) {
      await account.pass(stack, [web({ 'nlb-target-type': 'ip' }, [...of])]);
      expect(new Set(listenersOf(account).map((text) => text.split(' ')[2]))).toEqual(new Set(['ip']));
    }
  });

  test('takes another certificate meanwhile', async () => {
    const account = await settled(web({ 'ssl-cert': acmCertificate }));
    await account.pass(stack, [web({ 'ssl-cert': otherCertificate, 'nlb-target-type': 'ip' })]);
    expect(listenersOf(account)).toEqual(['65535 TLS ip other', '80 TLS instance other']);
  });

  test('stays as it was where somebody changes his mind meanwhile', async () => {
    const account = await settled(web());
    await account.pass(stack, [web({ 'nlb-target-type': 'ip' })]);
    await account.settle(stack, [web()]);
    expect(listenersOf(account)).toEqual(['80 TCP instance']);
    expect(account.world.targetGroups.size).toBe(1);
  });
});
