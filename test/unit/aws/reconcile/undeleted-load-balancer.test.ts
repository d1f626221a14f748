import { beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../../../src/model/objects/service.ts';
import { config, service } from '../../decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember } from '../support/stack-fixture.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const onAws = (further: object = {}): Service => awsMember('nlb', { ...web, loadBalancerClass: 'herald.dev/aws', ...further }).service;
const noBalancer = service({ ...web, type: 'ClusterIP' });
const protects = 'has deletion protection, which Herald respects; set deletion_protection.enabled=false';

function protect(cluster: ControllerFixture | ProviderFixture, value: boolean): void {
  for (const { attributes } of cluster.cloud.world.loadBalancers.values()) attributes.set('deletion_protection.enabled', `${value}`);
}

describe('a load balancer whose deletion protection is on', () => {
  let cluster: ControllerFixture;

  async function start(subject: Service, ...further: Parameters<typeof config>): Promise<void> {
    cluster = new ControllerFixture(subject, config({ defaultClass: false, ...further[0] }));
    await cluster.start();
    await cluster.run(400);
    protect(cluster, true);
    cluster.events.length = 0;
  }

  const warnings = (): string[] => cluster.events.filter(({ type }) => type === 'Warning').map(({ reason, note }) => `${reason}: ${note}`);
  const condition = () => cluster.statuses.get('default/web')?.conditions[0];

  beforeEach(() => start(onAws()));

  test('is told to the Service that is no LoadBalancer any more, once, and as a condition until it is gone', async () => {
    cluster.apply(noBalancer);
    await cluster.run(1800);
    expect(warnings()).toEqual([expect.stringMatching(`^AwsDeletionProtected: load balancer k8s-default-web-\\w+ ${protects}`)]);
    expect(condition()).toMatchObject({ type: 'herald.dev/AddressAssigned', status: 'False', reason: 'AwsDeletionProtected' });
    // Who deletes it then sees why it stays.
    cluster.delete('default/web');
    await cluster.run(900);
    expect(condition()).toMatchObject({ reason: 'AwsDeletionProtected' });
    protect(cluster, false);
    await cluster.run(900);
    expect([cluster.service('default/web'), cluster.statuses.has('default/web'), cluster.cloud.world.loadBalancers.size]).toEqual([
      undefined,
      false,
      0,
    ]);
  });

  test('is told by a controller that starts meanwhile, and the condition goes with it', async () => {
    cluster.apply(noBalancer);
    await cluster.run(60);
    await cluster.start();
    await cluster.run(900);
    expect(condition()).toMatchObject({ reason: 'AwsDeletionProtected' });
    protect(cluster, false);
    await cluster.run(900);
    expect([cluster.statuses.has('default/web'), cluster.service('default/web')?.metadata.finalizers]).toEqual([false, []]);
  });

  test('is told to the Service that the pools serve by now, whose condition is of its new address', async () => {
    const classless = awsMember('nlb', { ...web, annotations: { type: 'nlb' } }).service;
    await start(classless);
    cluster.source.put(config({ defaultClass: true }));
    await cluster.run(1800);
    expect(cluster.ingress('default/web')).toEqual(['192.0.2.1']);
    expect(warnings().filter((text) => text.startsWith('Aws'))).toEqual([expect.stringContaining(protects)]);
    expect(condition()).toMatchObject({ status: 'True' });
    protect(cluster, false);
    await cluster.run(900);
    expect([cluster.cloud.world.loadBalancers.size, cluster.service('default/web')?.metadata.finalizers]).toEqual([0, []]);
  });

  test('is told to the Service that has joined a shared one, and AWS is not asked about it every few seconds', async () => {
    cluster.apply(onAws({ annotations: { 'herald.dev/aws-shared-load-balancer': 'edge' } }));
    await cluster.run(600);
    expect(warnings().filter((text) => text.startsWith('AwsDel'))).toEqual([expect.stringContaining(protects)]);
    expect(condition()).toMatchObject({ status: 'True' });
    const calls = cluster.cloud.calls.length;
    await cluster.run(1200);
    // Every five minutes for drift, and at most every ten for what is protected: about twenty reads each.
    expect(cluster.cloud.calls.length - calls).toBeLessThan(400);
    protect(cluster, false);
    await cluster.run(900);
    expect(cluster.cloud.world.loadBalancers.size).toBe(1);
  });
});

test('a protected load balancer that has no Service any more is told in the log', async () => {
  const town = new ProviderFixture();
  const key = town.apply(web);
  await town.run(300);
  protect(town, true);
  // Somebody took the finalizer away.
  town.services.delete(key);
  await town.provider.release(key, town.snapshot);
  await town.run(3600 * 3);
  expect(town.warnings).toContainEqual(
    expect.objectContaining({ message: 'an orphan is not deleted yet', code: 'AwsDeletionProtected', stack: key }),
  );
  expect(town.cloud.world.loadBalancers.size).toBe(1);
});

test('a Service that comes back as a LoadBalancer of another controller is let go of, also where that has given it an address', async () => {
  const cluster = new ControllerFixture(onAws());
  cluster.leavesOthers = true;
  await cluster.start();
  await cluster.run(400);
  protect(cluster, true);
  cluster.apply(noBalancer);
  await cluster.run(60);
  cluster.apply(service({ ...web, loadBalancerClass: 'example.com/other' }));
  cluster.source.record('default/web', [{ hostname: 'theirs.example.com', ipMode: 'VIP' }]);
  await cluster.run(60);
  protect(cluster, false);
  await cluster.run(900);
  expect([cluster.cloud.world.loadBalancers.size, cluster.service('default/web')?.metadata.finalizers]).toEqual([0, []]);
  expect(cluster.service('default/web')?.ingress).toMatchObject([{ hostname: 'theirs.example.com' }]);
});
