import { expect, test } from 'vitest';
import type { AwsPolicy } from '../../../../providers/aws/tables/config/config.ts';
import { metadata } from '../../../../test/unit/decisions/fixtures.ts';
import { configWith, policy } from '../support/policies.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { acmCertificate, otherCertificate } from '../support/stack-fixture.ts';

const ports = ['https:443/TCP@30443'];
const annotations = { scheme: 'internet-facing', 'ssl-cert': acmCertificate };
const openPolicy = policy({ schemes: ['internet-facing'], certificates: ['*'] });

/** Changes HeraldConfig, as the controller does. Returns the Services that it reconciles then. */
function configure(one: ProviderFixture, ...policies: readonly AwsPolicy[]): string[] {
  one.snapshot.upsert(configWith(...policies));
  return [...one.provider.affected([{ kind: 'HeraldConfig', key: 'default' }], one.snapshot)];
}

/** Changes the labels of a Namespace. Returns the Services that the controller reconciles then. */
function label(one: ProviderFixture, name: string, labels: Readonly<Record<string, string>>): string[] {
  one.snapshot.upsert({ kind: 'Namespace', metadata: metadata(name, '', labels) });
  return [...one.provider.affected([{ kind: 'Namespace', key: name }], one.snapshot)];
}

const zones = ({ cloud }: ProviderFixture): number[] =>
  [...cloud.world.loadBalancers.values()].map(({ value }) => value.AvailabilityZones.length);
const certificates = ({ cloud }: ProviderFixture): string[] =>
  [...cloud.world.listeners.values()].flatMap(({ value }) => (value.Certificates ?? []).map(({ CertificateArn }) => CertificateArn));
const targets = ({ cloud }: ProviderFixture): number =>
  [...cloud.world.targetGroups.values()].flatMap((group) => [...group.targets.values()]).length;

test('nothing is created for a new Service that asks for more than a policy allows', async () => {
  const one = new ProviderFixture();
  configure(one, policy());
  const key = one.apply({ name: 'web', ports, annotations });
  await one.run(600);
  expect(one.cloud.writes).toEqual([]);
  expect(one.results.get(key)).toMatchObject({ ingress: [], reason: { code: 'AwsSeveral' } });
});

test('a tightened policy keeps zones, listeners and status, and targets still follow the nodes', async () => {
  const one = new ProviderFixture();
  const key = one.apply({ name: 'web', ports, annotations });
  await one.run(600);
  const before = one.results.get(key);
  expect([zones(one), certificates(one), targets(one), before?.reason]).toEqual([[3], [acmCertificate], 3, undefined]);
  const writes = one.cloud.writes.length;
  expect(configure(one, policy({ subnets: ['subnet-public-0'] }))).toEqual([key]);
  await one.run(1800);
  expect(one.cloud.writes.slice(writes)).toEqual([]);
  expect(one.results.get(key)).toMatchObject({ ingress: before?.ingress, reason: { code: 'AwsSeveral' } });
  one.snapshot.remove('Node', 'node-2');
  one.provider.affected([{ kind: 'Node', key: 'node-2' }], one.snapshot);
  await one.run(600);
  expect([zones(one), certificates(one), targets(one)]).toEqual([[3], [acmCertificate], 2]);
  expect(configure(one, openPolicy)).toEqual([key]);
  await one.run(600);
  expect(one.results.get(key)?.reason).toBeUndefined();
});

test('an edit that a policy refuses keeps what serves, and takes effect when the policy allows it', async () => {
  const one = new ProviderFixture();
  configure(one, policy({ schemes: ['internet-facing'], certificates: [acmCertificate] }));
  const key = one.apply({ name: 'web', ports, annotations });
  await one.run(600);
  one.apply({ name: 'web', ports, annotations: { ...annotations, 'ssl-cert': otherCertificate } });
  await one.run(600);
  expect([certificates(one), one.results.get(key)?.reason]).toMatchObject([[acmCertificate], { code: 'AwsNotAllowed' }]);
  configure(one, policy({ schemes: ['internet-facing'], certificates: [otherCertificate] }));
  await one.run(600);
  expect([certificates(one), one.results.get(key)?.reason]).toEqual([[otherCertificate], undefined]);
});

test('a Service that is refused can be deleted', async () => {
  const one = new ProviderFixture();
  const key = one.apply({ name: 'web', ports, annotations });
  await one.run(600);
  configure(one, policy());
  await one.run(60);
  one.delete(key);
  await one.run(600);
  expect([one.services.has(key), one.cloud.world.loadBalancers.size]).toEqual([false, 0]);
});

test('the labels of a Namespace decide, and only its Services are reconciled when they change', async () => {
  const one = new ProviderFixture();
  configure(one, policy({ labels: { tenant: 'yes' } }), policy({ name: 'open', labels: { open: 'yes' }, schemes: ['internet-facing'] }));
  label(one, 'shop', { tenant: 'yes' });
  label(one, 'other', {});
  const shop = one.apply({ name: 'shop/web', ports, annotations: { scheme: 'internet-facing' } });
  const other = one.apply({ name: 'other/web', ports, annotations: { scheme: 'internet-facing' } });
  await one.run(300);
  expect([one.results.get(shop)?.reason?.code, one.results.get(other)?.reason]).toEqual(['AwsNotAllowed', undefined]);
  expect(label(one, 'shop', { tenant: 'yes', open: 'yes', of: 'no policy' })).toEqual([shop]);
  expect(label(one, 'shop', { tenant: 'yes', open: 'yes' })).toEqual([]);
  await one.run(300);
  expect(one.results.get(shop)?.reason).toBeUndefined();
});

test('a Service that shares an NLB and names a certificate that is not allowed leaves the others alone', async () => {
  const one = new ProviderFixture();
  configure(one, policy({ certificates: [acmCertificate] }));
  const shared = { 'herald.dev/aws-shared-load-balancer': 'front' };
  const first = one.apply({
    name: 'first',
    ports,
    createdAt: '2026-01-01T00:00:00Z',
    annotations: { ...shared, 'ssl-cert': acmCertificate },
  });
  const second = one.apply({
    name: 'second',
    ports: ['https:8443/TCP@30444'],
    createdAt: '2026-01-02T00:00:00Z',
    annotations: { ...shared, 'ssl-cert': otherCertificate },
  });
  await one.run(600);
  expect(certificates(one)).toEqual([acmCertificate]);
  expect([one.results.get(first)?.reason, one.results.get(second)?.reason?.code]).toEqual([undefined, 'AwsNotAllowed']);
});

test('a preview shows what is not allowed, and no call', async () => {
  const one = new ProviderFixture();
  configure(one, policy());
  const key = one.apply({ name: 'web', ports, annotations: { scheme: 'internet-facing' } });
  const { actions, desired, reasons } = await one.provider.preview(key, one.snapshot);
  expect({ actions, desired, codes: reasons.map(({ code }) => code) }).toEqual({
    actions: [],
    desired: ['unknown because of errors'],
    codes: ['AwsNotAllowed'],
  });
});

test('a Service that shares an NLB of another namespace needs a policy that allows its scheme', async () => {
  const one = new ProviderFixture();
  label(one, 'shop', {});
  label(one, 'payments', { tenant: 'yes' });
  const tenants = { labels: { tenant: 'yes' } };
  configure(one, policy(tenants));
  const name = 'herald.dev/aws-shared-load-balancer';
  const host = { [name]: 'edge', [`${name}-namespaces`]: '*', scheme: 'internet-facing' };
  one.apply({ name: 'shop/web', ports, annotations: host });
  const guest = one.apply({ name: 'payments/api', ports: ['api:8443/TCP@30843'], annotations: { [name]: 'shop/edge' } });
  await one.run(600);
  expect(one.results.get(guest)?.reason).toMatchObject({
    code: 'AwsNotAllowed',
    details: { field: 'schemes', key: name, refused: 'internet-facing', allowed: '' },
  });
  expect(one.cloud.world.listeners.size).toBe(1);
  expect(configure(one, policy({ ...tenants, schemes: ['internet-facing'] }))).toEqual([guest]);
  await one.run(600);
  expect([one.results.get(guest)?.reason, one.cloud.world.listeners.size]).toEqual([undefined, 2]);
});
