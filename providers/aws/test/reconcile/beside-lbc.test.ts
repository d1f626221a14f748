import { describe, expect, test } from 'vitest';
import { decideAwsClaim } from '../../../../providers/aws/desire/claim.ts';
import { defaultConfig } from '../../../../src/model/kinds/default-config.ts';
import { awsConfig } from '../../../../providers/aws/tables/config/config.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { config, service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const theirFinalizer = 'service.k8s.aws/resources';
const web = service({ name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'service.k8s.aws/nlb' });
const ownClasses = config({
  defaultClass: false,
  parts: { aws: { ...awsConfig.of(defaultConfig), classes: ['herald.dev/aws', 'herald.dev/aws-classic'] } },
});

/** Adds the finalizer of the AWS Load Balancer Controller (LBC) to the Service, and keeps those that it has. */
function markAsTheirs(cluster: ControllerFixture): void {
  const known = cluster.service('default/web') ?? expect.unreachable('the Service is gone');
  const finalizers = [...(known.metadata.finalizers ?? []), theirFinalizer];
  cluster.source.put({ ...known, metadata: { ...known.metadata, finalizers } });
}

async function started(...objects: readonly HeraldObject[]): Promise<ControllerFixture> {
  const cluster = new ControllerFixture(...objects);
  cluster.leavesOthers = true;
  await cluster.start();
  return cluster;
}

describe('classes that HeraldConfig leaves to the AWS Load Balancer Controller', () => {
  test('a Service of such a class gets no finalizer, no status and nothing in AWS', async () => {
    const cluster = await started(web, ownClasses);
    await cluster.run(600);
    expect([cluster.condition('default/web'), cluster.service('default/web')?.metadata.finalizers ?? []]).toEqual(['absent', []]);
    expect(cluster.cloud.writes).toEqual([]);
    expect(decideAwsClaim(web, ownClasses, { classless: 'off' })).toMatchObject({ reason: { code: 'AwsClassNotServed' } });
  });

  test('a Service of a class that stays is served', async () => {
    const cluster = await started({ ...web, loadBalancerClass: 'herald.dev/aws' }, ownClasses);
    await cluster.run(600);
    expect(cluster.condition('default/web')).toMatch(/^True /);
  });

  test('a Service that Herald serves keeps its load balancer when its class is left out later', async () => {
    const cluster = await started(web);
    await cluster.run(600);
    const [before, writes] = [cluster.ingress('default/web'), cluster.cloud.writes.length];
    expect(before).toHaveLength(1);
    cluster.source.put(ownClasses);
    await cluster.run(7200);
    expect([cluster.ingress('default/web'), cluster.cloud.writes.length]).toEqual([before, writes]);
  });
});

describe('a Service that both controllers have taken', () => {
  test('Herald changes neither its status nor anything in AWS, and says so', async () => {
    const cluster = await started(web);
    await cluster.run(600);
    markAsTheirs(cluster);
    await cluster.run(60);
    expect(cluster.condition('default/web')).toBe('False AwsOtherController');
    const writes = cluster.cloud.writes.length;
    for (const hostname of ['first.example.com', 'second.example.com']) {
      cluster.source.record('default/web', [{ hostname, ipMode: 'VIP' }]);
      await cluster.run(3600);
      expect(cluster.service('default/web')?.ingress).toMatchObject([{ hostname }]);
    }
    expect(cluster.cloud.writes.length).toBe(writes);
  });

  test('Herald deletes its resources and keeps the other status when HeraldConfig leaves the class out', async () => {
    const cluster = await started(web);
    await cluster.run(600);
    markAsTheirs(cluster);
    cluster.source.record('default/web', [{ hostname: 'theirs.example.com', ipMode: 'VIP' }]);
    await cluster.run(60);
    cluster.source.put(ownClasses);
    await cluster.run(1800);
    const { world } = cluster.cloud;
    expect([world.loadBalancers.size, world.targetGroups.size]).toEqual([0, 0]);
    expect(cluster.service('default/web')).toMatchObject({
      metadata: { finalizers: [theirFinalizer] },
      ingress: [{ hostname: 'theirs.example.com' }],
    });
  });

  test('its deletion deletes what Herald made', async () => {
    const cluster = await started(web);
    await cluster.run(600);
    markAsTheirs(cluster);
    cluster.delete('default/web');
    await cluster.run(1800);
    expect(cluster.cloud.world.loadBalancers.size).toBe(0);
    expect(cluster.service('default/web')?.metadata.finalizers).toEqual([theirFinalizer]);
  });
});

describe('a load balancer with the tags of both controllers', () => {
  async function tagged(): Promise<{ one: ProviderFixture; arn: string; writes: number }> {
    const one = new ProviderFixture();
    one.apply({ name: 'web', ports: ['http:80/TCP@30080'] });
    await one.run(600);
    const [arn = ''] = one.cloud.world.loadBalancers.keys();
    one.cloud.world.setTags(arn, [{ Key: 'elbv2.k8s.aws/cluster', Value: 'theirs' }]);
    await one.run(3600);
    return { one, arn, writes: one.cloud.writes.length };
  }

  test('it is not changed, and the condition names the tag', async () => {
    const { one, arn, writes } = await tagged();
    const key = one.apply({ name: 'web', ports: ['http:80/TCP@30081', 'https:443/TCP@30443'] });
    await one.run(1800);
    expect(one.cloud.writes.length).toBe(writes);
    const reason = { code: 'AwsForeignLoadBalancer', details: { why: 'it carries the tag elbv2.k8s.aws/cluster' } };
    expect(one.results.get(key)).toMatchObject({ reason, ingress: [{ hostname: expect.any(String) }] });
    one.cloud.world.tags.get(arn)?.delete('elbv2.k8s.aws/cluster');
    await one.run(1800);
    expect(one.results.get(key)?.reason).toBeUndefined();
  });

  test('it stays when the Service is deleted, until the tag is gone', async () => {
    const { one, arn, writes } = await tagged();
    one.delete('default/web');
    await one.run(1800);
    expect([one.cloud.writes.length, one.cloud.world.loadBalancers.has(arn), one.services.has('default/web')]).toEqual([
      writes,
      true,
      true,
    ]);
    one.cloud.world.tags.get(arn)?.delete('elbv2.k8s.aws/cluster');
    await one.run(1800);
    expect([one.cloud.world.loadBalancers.size, one.services.has('default/web')]).toEqual([0, false]);
  });

  test('a tag of this name that the Service asks for does not count', async () => {
    const one = new ProviderFixture();
    const key = one.apply({
      name: 'web',
      ports: ['http:80/TCP@30080'],
      annotations: { 'additional-resource-tags': 'elbv2.k8s.aws/cluster=mine' },
    });
    await one.run(3600);
    expect(one.results.get(key)).toMatchObject({ ingress: [{ hostname: expect.any(String) }] });
    expect(one.results.get(key)?.reason).toBeUndefined();
  });
});
