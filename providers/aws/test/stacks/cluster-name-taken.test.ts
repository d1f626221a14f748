import { describe, expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { iamPolicy } from '../../../../providers/aws/tables/command/iam-policy.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const ports = ['http:80/TCP@30080'];
const first = '11111111-1111-1111-1111-111111111111';
const second = '22222222-2222-2222-2222-222222222222';
const key = 'herald.dev/cluster-uid';

/** A cluster that serves a Service with an NLB, and one with a Classic ELB. */
async function cluster(clusterUid?: string): Promise<ProviderFixture> {
  const one = new ProviderFixture(clusterUid === undefined ? {} : { clusterUid });
  one.apply({ name: 'web', ports });
  one.apply({ name: 'old', ports, loadBalancerClass: 'herald.dev/aws-classic' });
  await one.run(600);
  return one;
}

/** Another cluster with the same name, in the same account. */
const twin = (of: ProviderFixture, clusterUid: string | undefined, takeOver: readonly string[] = []): ProviderFixture => {
  const other = new ProviderFixture({ account: of.cloud.world, ...(clusterUid === undefined ? {} : { clusterUid }) });
  other.settings = { ...other.settings, takeOver };
  return other;
};

const kinds = [
  ['load balancers', /:loadbalancer\//],
  ['target groups', /:targetgroup\//],
  ['Classic ELBs', /^classic\//],
  ['security groups', /^sg-(?!00000aaa)/],
] as const;

/** The UIDs on the resources of each kind. */
function uids({ cloud: { world } }: ProviderFixture): Record<string, readonly (string | undefined)[]> {
  const ids = [
    ...world.loadBalancers.keys(),
    ...world.targetGroups.keys(),
    ...world.securityGroups.keys(),
    ...[...world.classic.keys()].map((name) => `classic/${name}`),
  ];
  return Object.fromEntries(
    kinds.map(([kind, pattern]) => [kind, [...new Set(ids.filter((id) => pattern.test(id)).map((id) => world.tags.get(id)?.get(key)))]]),
  );
}

const all = (uid: string | undefined) => Object.fromEntries(kinds.map(([kind]) => [kind, [uid]]));
const reasonOf = (one: ProviderFixture, service: ServiceKey) => one.results.get(service)?.reason;
const hostname = (one: ProviderFixture) => one.results.get('default/web')?.ingress[0]?.hostname;

describe('resources in AWS', () => {
  test('have the UID of the cluster that made them', async () => {
    expect(uids(await cluster(first))).toEqual(all(first));
  });

  test('have no UID when a directory of manifests made them', async () => {
    expect(uids(await cluster())).toEqual(all(undefined));
  });

  test('that an earlier version made without a UID are adopted and tagged', async () => {
    const one = await cluster();
    const later = twin(one, first);
    later.apply({ name: 'web', ports });
    later.apply({ name: 'old', ports, loadBalancerClass: 'herald.dev/aws-classic' });
    await later.run(60);
    expect([uids(later), hostname(later)]).toEqual([all(first), hostname(one)]);
    expect([...new Set(later.cloud.writes.map(({ operation }) => operation))].toSorted()).toEqual([
      'ec2:CreateTags',
      'elb:AddTags',
      'elbv2:AddTags',
    ]);
  });

  test('cost no request more than without a UID', async () => {
    const [plain, tagged] = [await cluster(), await cluster(first)];
    expect(tagged.cloud.calls.length).toBe(plain.cloud.calls.length);
  });
});

describe('a second cluster with the same name', () => {
  test.each(['web', 'other'])('writes nothing for Service %s, whose condition names both UIDs', async (name) => {
    const one = await cluster(first);
    const other = twin(one, second);
    const service = other.apply({ name, ports });
    await other.run(3600);
    expect(other.cloud.writes).toEqual([]);
    expect(other.results.get(service)).toMatchObject({
      ingress: [],
      reason: { code: 'AwsClusterNameTaken', details: { cluster: 'test', own: second, other: first } },
    });
    expect([uids(one), reasonOf(one, 'default/web')]).toEqual([all(first), undefined]);
    const reason = reasonOf(other, service);
    expect(reason && [reasonText(reason), remedyText(reason)]).toEqual([
      expect.stringContaining(
        `has the name of this cluster (--aws-cluster-name test), but the UID ${first} of another one; this one has ${second}, so nothing`,
      ),
      expect.stringContaining(`--aws-take-over ${first}`),
    ]);
  });

  test('is logged once for each resource, and counted', async () => {
    const other = twin(await cluster(first), second);
    other.apply({ name: 'web', ports });
    await other.run(1800);
    expect(other.logged.length).toBe(new Set(other.logged.map(({ resource }) => resource)).size);
    expect(other.logged[0]).toMatchObject({ cluster: 'test', clusterUid: second, otherUid: first });
    expect([other.counts[0], other.counts.at(-1)]).toEqual([0, other.logged.length]);
  });

  test('stops both where both have made resources', async () => {
    const one = await cluster(first);
    const { world } = one.cloud;
    world.setTags(world.loadBalancers.keys().next().value ?? '', [{ Key: key, Value: second }]);
    const writes = one.cloud.writes.length;
    await one.run(1800);
    one.apply({ name: 'new', ports });
    await one.run(600);
    expect([one.cloud.writes.length, reasonOf(one, 'default/new')?.code]).toEqual([writes, 'AwsClusterNameTaken']);
    expect(one.results.get('default/web')?.ingress).toHaveLength(1);
  });

  test('works after the resources of the first one are gone, and does not delete a Service before', async () => {
    const one = await cluster(first);
    const other = twin(one, second);
    const [service, deleted] = [other.apply({ name: 'web', ports }), other.apply({ name: 'deleted', ports })];
    await other.run(60);
    other.delete(deleted);
    await other.run(60);
    expect([other.services.has(deleted), other.cloud.writes]).toEqual([true, []]);
    for (const gone of one.services.keys().toArray()) one.delete(gone);
    await one.run(1800);
    await other.run(limits.sweepSeconds + limits.permanentRetryMaximumSeconds + 300);
    expect([reasonOf(other, service), uids(other)['load balancers'], other.services.has(deleted)]).toEqual([undefined, [second], false]);
    expect(other.counts.at(-1)).toBe(0);
  });

  test.each([
    ['gets a load balancer', {}],
    [
      'joins a target group',
      { 'herald.dev/aws-target-group': 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/shared/0123456789abcdef' },
    ],
  ])('has a preview without calls for a Service that %s', async (_, annotations) => {
    const other = twin(await cluster(first), second);
    const { actions, waits, reasons } = await other.provider.preview(other.apply({ name: 'new', ports, annotations }), other.snapshot);
    expect({ actions, waits, first: reasons[0]?.code }).toEqual({ actions: [], waits: [], first: 'AwsClusterNameTaken' });
  });

  test('may be a directory of manifests, which has no UID', async () => {
    const other = twin(await cluster(first), undefined);
    const service = other.apply({ name: 'web', ports });
    await other.run(600);
    const reason = reasonOf(other, service);
    expect([other.cloud.writes, reason?.details]).toEqual([[], expect.objectContaining({ own: '', other: first })]);
    expect(reason && reasonText(reason)).toContain('this one is a directory of manifests and has no UID');
  });

  test('is not noticed where the name differs', async () => {
    const other = twin(await cluster(first), second);
    other.settings = { ...other.settings, clusterName: 'other' };
    const service = other.apply({ name: 'web', ports });
    await other.run(600);
    expect(reasonOf(other, service)).toBeUndefined();
  });
});

describe('a take-over', () => {
  test('moves every resource to the new cluster, which keeps the host names, and stops the former one', async () => {
    const one = await cluster(first);
    const other = twin(one, second, [first]);
    other.cloud.policy = iamPolicy('test');
    other.apply({ name: 'web', ports });
    other.apply({ name: 'old', ports, loadBalancerClass: 'herald.dev/aws-classic' });
    await other.run(600);
    expect([uids(one), hostname(other), reasonOf(other, 'default/web')]).toEqual([all(second), hostname(one), undefined]);
    const writes = one.cloud.writes.length;
    one.apply({ name: 'new', ports });
    await one.run(1800);
    expect([one.cloud.writes.length, reasonOf(one, 'default/new')]).toMatchObject([
      writes,
      { code: 'AwsClusterNameTaken', details: { own: first, other: second } },
    ]);
  });

  test('is complete for Services with errors and for orphans, so that the option may be removed', async () => {
    const one = await cluster(first);
    const other = twin(one, second, [first]);
    other.settings = { ...other.settings, orphanSeconds: 100_000 };
    other.apply({ name: 'web', ports, annotations: { 'ip-address-type': 'none' } });
    await other.run(limits.sweepSeconds + 300);
    expect(uids(one)).toEqual({ ...all(second), 'security groups': [second, first] });
    other.apply({ name: 'web', ports });
    await other.run(600);
    expect(uids(one)).toEqual(all(second));
    other.settings = { ...other.settings, takeOver: [] };
    other.restart();
    await other.run(1800);
    expect(reasonOf(other, 'default/web')).toBeUndefined();
  });
});
