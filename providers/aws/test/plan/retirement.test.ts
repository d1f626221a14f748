import { describe, expect, test } from 'vitest';
import { stackOf } from '../../../../providers/aws/desire/stack.ts';
import type { StackResult } from '../../../../providers/aws/stacks/stack-result.ts';
import { StackFixture, awsMember } from '../support/stack-fixture.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const ports = ['http:80/TCP@30080'];
const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };

const hostnameOf = ({ servingStatus: standings }: StackResult): string => [...standings.values()][0]?.hostname ?? '';

const balancers = ({ cloud }: { readonly cloud: StackFixture['cloud'] }): number => cloud.world.loadBalancers.size;

describe('retirement of the previous load balancer', () => {
  test('the old NLB is deleted some time after the status names its successor, not before', async () => {
    const account = new StackFixture();
    const literal = { name: 'web', ports, annotations: {} };
    const stack = stackOf(awsMember('nlb', literal));
    const hostname = hostnameOf(await account.settle(stack, [awsMember('nlb', literal)]));
    const wanted = (named: string) =>
      awsMember('nlb', { name: 'web', ports, annotations: { scheme: 'internal' }, ingress: [{ hostname: named, ipMode: 'VIP' }] });
    for (let pass = 0; pass < 60; pass++) {
      await account.reconcile(stack, [wanted(hostname)]);
      account.advance(60);
    }
    expect(balancers(account)).toBe(2);
    const next = hostnameOf(await account.reconcile(stack, [wanted(hostname)]));
    expect(next).not.toBe(hostname);
    await account.reconcile(stack, [wanted(next)]);
    account.advance(50);
    await account.reconcile(stack, [wanted(next)]);
    expect(balancers(account)).toBe(2);
    account.advance(15);
    await account.reconcile(stack, [wanted(next)]);
    expect(balancers(account)).toBe(1);
  });

  test('a Service that joins a shared NLB retires its own in time despite controller restarts', async () => {
    const town = new ProviderFixture();
    town.settings = { ...town.settings, retireSeconds: 300 };
    const key = town.apply({ name: 'web', ports });
    await town.run(400);
    const before = town.services.get(key)?.ingress[0]?.hostname;
    town.apply({ name: 'web', ports, annotations: shared });
    let published = 0;
    for (let minute = 0; minute < 30 && balancers(town) < 2; minute++) await town.run(10);
    for (; published < 60 && town.services.get(key)?.ingress[0]?.hostname === before; published++) await town.run(10);
    let gone = 0;
    for (; gone < 60 && balancers(town) === 2; gone++) {
      town.restart();
      await town.run(20);
    }
    // 300 seconds after the status named the successor, within two reconciles.
    expect(gone).toBeGreaterThanOrEqual(14);
    expect(gone).toBeLessThanOrEqual(18);
  });

  test('the mark is removed when the Service returns to the old load balancer', async () => {
    const town = new ProviderFixture();
    town.settings = { ...town.settings, retireSeconds: 3000 };
    town.apply({ name: 'web', ports });
    await town.run(400);
    town.apply({ name: 'web', ports, annotations: shared });
    await town.run(600);
    const marked = (): number => [...town.cloud.world.tags].filter(([, tags]) => tags.has('herald.dev/retired-at')).length;
    expect(marked()).toBe(1);
    town.apply({ name: 'web', ports });
    await town.run(200);
    // Now the shared load balancer is the retired one.
    expect(
      [...town.cloud.world.tags].filter(([, tags]) => tags.has('herald.dev/retired-at')).map(([, tags]) => tags.get('herald.dev/stack')),
    ).toEqual(['shared:default/edge']);
  });
});
