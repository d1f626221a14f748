import { describe, expect, test } from 'vitest';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const name = 'herald.dev/aws-shared-load-balancer';
const admitted = 'herald.dev/aws-shared-load-balancer-namespaces';

function host(fixture: ProviderFixture, namespaces?: string): ServiceKey {
  const annotations = { [name]: 'edge', ...(namespaces === undefined ? {} : { [admitted]: namespaces }) };
  return fixture.apply({ name: 'shop/web', ports: ['http:80/TCP@30080'], annotations, createdAt: '2026-01-02T00:00:00Z' });
}

/** Older than the Service that decides. */
function guest(fixture: ProviderFixture, port = 'api:8443/TCP@30843'): ServiceKey {
  const annotations = { [name]: 'shop/edge' };
  return fixture.apply({ name: 'payments/api', ports: [port], annotations, createdAt: '2026-01-01T00:00:00Z' });
}

const listeners = ({ cloud }: ProviderFixture): string[] =>
  [...cloud.world.listeners].map(([arn, { value }]) => `${value.Port} ${cloud.world.tags.get(arn)?.get('herald.dev/service')}`).toSorted();
const sizes = ({ cloud: { world } }: ProviderFixture): number[] => [
  world.loadBalancers.size,
  world.listeners.size,
  world.targetGroups.size,
];
const hostnames = (fixture: ProviderFixture): (string | undefined)[] =>
  (['shop/web', 'payments/api'] as const).map((key) => fixture.results.get(key)?.ingress[0]?.hostname);
const codeOf = (fixture: ProviderFixture, key: ServiceKey): string | undefined => fixture.results.get(key)?.reason?.code;

describe('an NLB that Services of two namespaces share', () => {
  test.each(['payments', 'others, payments', '*'])('it serves both when its namespace admits %s', async (namespaces) => {
    const fixture = new ProviderFixture();
    host(fixture, namespaces);
    guest(fixture);
    await fixture.run(300);
    expect(listeners(fixture)).toEqual(['80 shop/web', '8443 payments/api']);
    const [a, b] = hostnames(fixture);
    expect([a === b, typeof a, sizes(fixture)[0]]).toEqual([true, 'string', 1]);
  });

  test.each([[undefined], ['others']])('without the consent of its namespace (%s) the other Service gets nothing', async (namespaces) => {
    const fixture = new ProviderFixture();
    host(fixture, namespaces);
    const key = guest(fixture);
    await fixture.run(300);
    expect(listeners(fixture)).toEqual(['80 shop/web']);
    expect([...hostnames(fixture).slice(1), codeOf(fixture, 'shop/web')]).toEqual([undefined, undefined]);
    expect(fixture.results.get(key)?.reason).toMatchObject({
      code: 'AwsSharedNotAdmitted',
      details: { host: 'shop/web', guest: 'payments' },
    });
  });

  test('the name without the namespace means an NLB of the own namespace', async () => {
    const fixture = new ProviderFixture();
    host(fixture, '*');
    fixture.apply({ name: 'payments/api', ports: ['api:8443/TCP@30843'], annotations: { [name]: 'edge' } });
    await fixture.run(300);
    expect(sizes(fixture)[0]).toBe(2);
  });

  test('the other Service is served as soon as the one that decides exists and admits it', async () => {
    const fixture = new ProviderFixture();
    const key = guest(fixture);
    await fixture.run(60);
    expect([fixture.results.get(key)?.reason, sizes(fixture)]).toMatchObject([
      { code: 'AwsSharedNotAdmitted', details: { host: '' } },
      [0, 0, 0],
    ]);
    const change = { kind: 'Service', key: host(fixture, 'payments') } as never;
    expect([...fixture.provider.affected([change], fixture.snapshot)]).toContain('payments/api');
    await fixture.run(300);
    expect(listeners(fixture)).toEqual(['80 shop/web', '8443 payments/api']);
  });

  test('a part that exists stays when the consent is withdrawn, and the condition says so', async () => {
    const fixture = new ProviderFixture();
    host(fixture, 'payments');
    guest(fixture);
    await fixture.run(300);
    host(fixture);
    await fixture.run(300);
    expect([listeners(fixture), codeOf(fixture, 'payments/api'), codeOf(fixture, 'shop/web')]).toEqual([
      ['80 shop/web', '8443 payments/api'],
      'AwsSharedNotAdmitted',
      undefined,
    ]);
  });

  test('a port of both Services belongs to the namespace of the NLB, even if its Service is younger', async () => {
    const fixture = new ProviderFixture();
    guest(fixture, 'http:80/TCP@30081');
    host(fixture, 'payments');
    await fixture.run(300);
    expect([listeners(fixture), codeOf(fixture, 'payments/api')]).toEqual([['80 shop/web'], 'AwsSharedPortTaken']);
  });

  test('each Service deletes its own part only, and the last one the NLB', async () => {
    const fixture = new ProviderFixture();
    const keys = [host(fixture, 'payments'), guest(fixture)];
    await fixture.run(300);
    fixture.delete(keys[0] ?? 'shop/web');
    await fixture.run(300);
    expect([fixture.services.has('shop/web'), listeners(fixture), codeOf(fixture, 'payments/api')]).toEqual([
      false,
      ['8443 payments/api'],
      'AwsSharedNotAdmitted',
    ]);
    fixture.delete('payments/api');
    await fixture.run(300);
    expect([fixture.services.size, sizes(fixture)]).toEqual([0, [0, 0, 0]]);
  });

  test('a Service that leaves keeps its part until its own NLB serves', async () => {
    const fixture = new ProviderFixture();
    host(fixture, 'payments');
    guest(fixture);
    await fixture.run(300);
    fixture.apply({ name: 'payments/api', ports: ['api:8443/TCP@30843'], createdAt: '2026-01-01T00:00:00Z' });
    await fixture.run(20);
    expect(listeners(fixture)).toContain('8443 payments/api');
    await fixture.run(600);
    expect([listeners(fixture), sizes(fixture), fixture.results.get('payments/api')?.warnings]).toEqual([
      ['80 shop/web', '8443 payments/api'],
      [2, 2, 2],
      [],
    ]);
  });
});

describe("another namespace's NLB", () => {
  /** The Service that decides is gone without a deletion, so its NLB is kept for a while. */
  async function orphaned(): Promise<ProviderFixture> {
    const fixture = new ProviderFixture();
    const key = host(fixture);
    await fixture.run(300);
    fixture.services.delete(key);
    await fixture.run(20);
    expect(sizes(fixture)).toEqual([1, 1, 1]);
    return fixture;
  }

  test('a Service that only names it does not delete it', async () => {
    const fixture = await orphaned();
    const key = guest(fixture);
    await fixture.run(60);
    fixture.delete(key);
    await fixture.run(60);
    expect([sizes(fixture), fixture.services.has(key)]).toEqual([[1, 1, 1], false]);
  });

  test('a Service that only names it does not disown it', async () => {
    const fixture = await orphaned();
    const key = guest(fixture);
    await fixture.run(60);
    const known = fixture.services.get(key);
    const annotations = { [name]: 'shop/edge', 'herald.dev/aws-disown': 'true' };
    if (known !== undefined) fixture.snapshot.upsert({ ...known, metadata: { ...known.metadata, annotations } });
    await fixture.run(60);
    const [arn = ''] = fixture.cloud.world.loadBalancers.keys();
    expect(fixture.cloud.world.tags.get(arn)?.get('herald.dev/stack')).toBe('shared:shop/edge');
  });
});

test('a Service of a shared NLB disowns only its part, also right after a restart', async () => {
  const fixture = new ProviderFixture();
  host(fixture);
  const second = { name: 'shop/dns', ports: ['dns:53/UDP@30053'], annotations: { [name]: 'edge' }, createdAt: '2026-01-03T00:00:00Z' };
  const key = fixture.apply(second);
  await fixture.run(300);
  fixture.restart();
  fixture.apply({ ...second, annotations: { ...second.annotations, 'herald.dev/aws-disown': 'true' } });
  const disowning = fixture.services.get(key);
  if (disowning !== undefined) await fixture.provider.reconcile(disowning, fixture.snapshot);
  const [arn = ''] = fixture.cloud.world.loadBalancers.keys();
  expect(fixture.cloud.world.tags.get(arn)?.get('herald.dev/stack')).toBe('shared:shop/edge');
});
