import { describe, expect, test } from 'vitest';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const first = { name: 'a', ports: ['http:80/TCP@30080'], annotations: shared, createdAt: '2026-01-01T00:00:00Z' };
const second = { name: 'b', ports: ['http:81/TCP@30081'], createdAt: '2026-01-02T00:00:00Z' };
const b = 'default/b';

/** The published host name, and whether that load balancer still has the port. */
function reached({ results, cloud: { world } }: ProviderFixture, port: number): string {
  const hostname = results.get(b)?.ingress[0]?.hostname ?? 'nowhere';
  const [arn] = [...world.loadBalancers].find(([, { value }]) => value.DNSName.toLowerCase() === hostname) ?? [];
  const listens = [...world.listeners.values()].some(({ value }) => value.LoadBalancerArn === arn && value.Port === port);
  return listens ? hostname : `${hostname}, where nothing listens on ${port}`;
}

async function fixture(...services: readonly Parameters<ProviderFixture['apply']>[0][]): Promise<ProviderFixture> {
  const fixture = new ProviderFixture();
  for (const one of services) fixture.apply(one);
  await fixture.run(400);
  return fixture;
}

describe('a Service that joins a shared NLB', () => {
  const joining = { ...second, annotations: shared };
  const mistakes: readonly (readonly [string, Parameters<ProviderFixture['apply']>[0]])[] = [
    ['a Service whose port is taken there', { ...joining, ports: ['http:80/TCP@30081'] }],
    ['a Service with an invalid annotation', { ...joining, annotations: { ...shared, 'healthcheck-interval': 'x' } }],
  ];

  test.each(mistakes)('%s keeps its own NLB and its published name', async (_, asked) => {
    const one = await fixture(first, { ...second, ports: asked.ports ?? [] });
    const port = asked.ports?.[0]?.includes(':80/') === true ? 80 : 81;
    const before = reached(one, port);
    one.apply({ ...asked, ingress: one.results.get(b)?.ingress ?? [] });
    await one.run(200);
    expect([reached(one, port), one.cloud.world.loadBalancers.size]).toEqual([before, 2]);
    expect(before).toMatch(/amazonaws\.com$/);
  });

  test('it keeps its own NLB as long as AWS refuses the listener', async () => {
    const one = await fixture(first, second);
    const before = reached(one, 81);
    one.cloud.fault = ({ operation }) => (operation === 'elbv2:CreateListener' ? { kind: 'error', code: 'denied' } : undefined);
    one.apply({ ...joining, ingress: one.results.get(b)?.ingress ?? [] });
    await one.run(100);
    expect([reached(one, 81), one.cloud.world.loadBalancers.size]).toEqual([before, 2]);
    one.cloud.fault = () => undefined;
    await one.run(1200);
    expect(one.cloud.world.loadBalancers.size).toBe(1);
    expect(reached(one, 81)).toBe(one.results.get('default/a')?.ingress[0]?.hostname);
  });
});

describe('a Service that leaves a shared NLB', () => {
  test('it is served by the shared NLB until its own serves', async () => {
    const one = await fixture(first, { ...second, annotations: shared });
    const before = reached(one, 81);
    one.apply({ ...second, ingress: one.results.get(b)?.ingress ?? [] });
    const ways = new Set<string>();
    for (let look = 0; look < 30; look++) {
      await one.run(10);
      ways.add(reached(one, 81));
    }
    const [, after] = ways;
    expect([...ways]).toEqual([before, after]);
    expect(after).toMatch(/amazonaws\.com$/);
    await one.run(200);
    const ports = [...one.cloud.world.listeners.values()].map(({ value }) => value.Port).toSorted((x, y) => x - y);
    expect([ports, one.cloud.world.loadBalancers.size]).toEqual([[80, 81], 2]);
  });

  test('it can be deleted when the oldest Service of the NLB has an error', async () => {
    const one = await fixture(first, { ...second, annotations: shared });
    one.apply({ ...first, annotations: { ...shared, scheme: 'foo' }, ingress: one.results.get('default/a')?.ingress ?? [] });
    await one.run(60);
    one.delete(b);
    await one.run(300);
    expect(one.services.has(b)).toBe(false);
    expect([...one.cloud.world.listeners.values()].map(({ value }) => value.Port)).toEqual([80]);
  });

  test('its target group is deleted only after the listener that forwards to it', async () => {
    const one = await fixture(first, { ...second, annotations: shared });
    one.apply({ ...first, annotations: { ...shared, scheme: 'foo' }, ingress: one.results.get('default/a')?.ingress ?? [] });
    await one.run(60);
    one.cloud.fault = ({ operation }) => (operation === 'elbv2:DeleteListener' ? { kind: 'error', code: 'denied' } : undefined);
    one.delete(b);
    const before = one.cloud.writes.length;
    await one.run(100);
    expect(new Set(one.cloud.writes.slice(before).map(({ operation }) => operation))).toEqual(new Set(['elbv2:DeleteListener']));
    one.cloud.fault = () => undefined;
    await one.run(600);
    expect([one.services.has(b), one.cloud.world.targetGroups.size]).toEqual([false, 1]);
  });
});

test('an NLB that AWS reports as provisioning for a moment stays published', async () => {
  const one = await fixture({ ...second, annotations: {} });
  const before = reached(one, 81);
  for (const balancer of one.cloud.world.loadBalancers.values()) Object.assign(balancer, { madeAt: one.cloud.world.now() });
  await one.run(10);
  one.apply({ ...second, annotations: { 'healthcheck-interval': '20' }, ingress: one.results.get(b)?.ingress ?? [] });
  await one.run(10);
  expect(reached(one, 81)).toBe(before);
});

test('a Classic ELB that replaces an NLB is published when it serves', async () => {
  const one = new ProviderFixture();
  one.apply({ ...second, annotations: {} });
  await one.run(400);
  const before = one.results.get(b)?.ingress[0]?.hostname;
  one.apply({ ...second, loadBalancerClass: 'herald.dev/aws-classic', annotations: {}, ingress: one.results.get(b)?.ingress ?? [] });
  // It exists, but none of its instances is in service yet.
  await one.run(10);
  expect([one.cloud.world.classic.size, one.results.get(b)?.ingress[0]?.hostname]).toEqual([1, before]);
  await one.run(400);
  expect([one.cloud.world.loadBalancers.size, one.cloud.world.classic.size]).toEqual([0, 1]);
  expect(one.results.get(b)?.ingress[0]?.hostname).not.toBe(before);
});

test('a manifest removed while no controller ran becomes an orphan, although it is on record', async () => {
  const one = await fixture({ ...second, annotations: {} });
  one.services.delete(b);
  const { clock } = one.cloud.world;
  const connect = (): Promise<{ cloud: ProviderFixture['cloud']; settings: ProviderFixture['settings'] }> =>
    Promise.resolve({ cloud: one.cloud, settings: one.settings });
  // As with a directory: Services cannot be written to.
  one.provider = new AwsProvider({ classless: 'off', connect, clock, random: () => 0, log: silentLog });
  one.provider.adopt(one.snapshot, new Map<ServiceKey, unknown>([[b, []]]));
  await one.provider.release(b, one.snapshot);
  await one.run(8000);
  expect(one.cloud.world.loadBalancers.size).toBe(0);
});
