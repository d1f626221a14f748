import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { StackFixture, acmCertificate, awsMember, otherCertificate } from '../support/stack-fixture.ts';

const web = (annotations: Readonly<Record<string, string>> = {}, ports = ['http:80/TCP@30080']): Member =>
  awsMember('nlb', { name: 'web', ports, annotations });
const stack = stackOf(web());

async function settled(member: Member): Promise<StackFixture> {
  const account = new StackFixture();
  account.slices = [slice({ service: 'web', ports: ['http:8080'], endpoints: ['10.0.1.5', '10.0.1.6'] })];
  await account.settle(stack, [member]);
  return account;
}

/** Port, protocol and target type of each listener. */
const listenersOf = ({ world }: StackFixture): string[] =>
  [...world.listeners.values()]
    .map(({ value }) => {
      const group = world.targetGroups.get(value.DefaultActions[0]?.TargetGroupArn ?? '')?.value;
      return `${value.Port} ${value.Protocol} ${group?.TargetType} ${value.Certificates?.[0]?.CertificateArn === otherCertificate ? 'other' : ''}`.trim();
    })
    .toSorted();

describe('a port that changes to new targets', () => {
  test('the port keeps its old targets while a temporary listener lets AWS check the new ones', async () => {
    const account = await settled(web());
    const wanted = web({ 'nlb-target-type': 'ip' });
    await account.reconcile(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['65535 TCP ip', '80 TCP instance']);
    account.advance(20);
    const { plan } = await account.reconcile(stack, [wanted]);
    expect(plan.actions).toEqual([]);
    account.advance(15);
    await account.reconcile(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['80 TCP ip']);
    await account.settle(stack, [wanted]);
    expect(account.world.targetGroups.size).toBe(1);
  });

  test('the port switches to the new targets even if they never become healthy', async () => {
    const account = await settled(web());
    for (const ip of ['10.0.1.5', '10.0.1.6']) account.world.unhealthy.add(ip);
    await account.settle(stack, [web({ 'nlb-target-type': 'ip' })]);
    expect(listenersOf(account)).toEqual(['80 TCP ip']);
  });

  test('the port keeps its old targets while all new ones are in zones that the NLB does not serve', async () => {
    const inOneZone = { scheme: 'internal', subnets: 'subnet-private-0' };
    const account = await settled(web(inOneZone));
    account.slices = [slice({ service: 'web', ports: ['http:8080'], endpoints: ['10.0.101.5'] })];
    const wanted = web({ ...inOneZone, 'nlb-target-type': 'ip' });
    await account.reconcile(stack, [wanted]);
    account.advance(3600);
    await account.reconcile(stack, [wanted]);
    expect(listenersOf(account)).toEqual(['65535 TCP ip', '80 TCP instance']);
  });

  test('the port switches at once when a temporary listener has no use or no room', async () => {
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
      await account.reconcile(stack, [web({ 'nlb-target-type': 'ip' }, [...of])]);
      expect(new Set(listenersOf(account).map((text) => text.split(' ')[2]))).toEqual(new Set(['ip']));
    }
  });

  test('the port takes a new certificate during the change', async () => {
    const account = await settled(web({ 'ssl-cert': acmCertificate }));
    await account.reconcile(stack, [web({ 'ssl-cert': otherCertificate, 'nlb-target-type': 'ip' })]);
    expect(listenersOf(account)).toEqual(['65535 TLS ip other', '80 TLS instance other']);
  });

  test('the port keeps its old targets when the change is reverted', async () => {
    const account = await settled(web());
    await account.reconcile(stack, [web({ 'nlb-target-type': 'ip' })]);
    await account.settle(stack, [web()]);
    expect(listenersOf(account)).toEqual(['80 TCP instance']);
    expect(account.world.targetGroups.size).toBe(1);
  });
});
