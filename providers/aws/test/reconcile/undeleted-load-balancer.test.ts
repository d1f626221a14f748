import { beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../../../src/model/objects/service.ts';
import { config, service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember } from '../support/stack-fixture.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const onAws = (further: object = {}): Service => awsMember('nlb', { ...web, loadBalancerClass: 'herald.dev/aws', ...further }).service;
const noBalancer = service({ ...web, type: 'ClusterIP' });
const protects = 'has deletion protection, which Herald respects. Set deletion_protection.enabled=false';

function protect(cluster: ControllerFixture | ProviderFixture, value: boolean): void {
  for (const { attributes } of cluster.cloud.world.loadBalancers.values()) attributes.set('deletion_protection.enabled', `${value}`);
}

describe('a load balancer with deletion protection', () => {
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

  test('gives a former LoadBalancer Service one Event, and a condition until it is deleted', async () => {
    cluster.apply(noBalancer);
    await cluster.run(1800);
    expect(warnings()).toEqual([expect.stringMatching(`^AwsDeletionProtected: Load balancer k8s-default-web-\\w+ ${protects}`)]);
    expect(condition()).toMatchObject({ type: 'herald.dev/AddressAssigned', status: 'False', reason: 'AwsDeletionProtected' });
    // A user who deletes the Service then sees why it stays.
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

  test('it is reported after a restart, until it is deleted', async () => {
    cluster.apply(noBalancer);
    await cluster.run(60);
    await cluster.start();
    await cluster.run(900);
    expect(condition()).toMatchObject({ reason: 'AwsDeletionProtected' });
    protect(cluster, false);
    await cluster.run(900);
    expect([cluster.statuses.has('default/web'), cluster.service('default/web')?.metadata.finalizers]).toEqual([false, []]);
  });

  test('it is reported on a Service that moved to a pool, whose condition shows its new address', async () => {
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

  test('it is reported on a Service that joined a shared one, without polling AWS every few seconds', async () => {
    cluster.apply(onAws({ annotations: { 'herald.dev/aws-shared-load-balancer': 'edge' } }));
    await cluster.run(600);
    expect(warnings().filter((text) => text.startsWith('AwsDel'))).toEqual([expect.stringContaining(protects)]);
    expect(condition()).toMatchObject({ status: 'True' });
    const calls = cluster.cloud.calls.length;
    await cluster.run(1200);
    // A check for drift every five minutes, and a retry at least every ten: about twenty reads each.
    expect(cluster.cloud.calls.length - calls).toBeLessThan(400);
    protect(cluster, false);
    await cluster.run(900);
    expect(cluster.cloud.world.loadBalancers.size).toBe(1);
  });
});

test('a protected load balancer without a Service is reported in the log', async () => {
  const fixture = new ProviderFixture();
  const key = fixture.apply(web);
  await fixture.run(300);
  protect(fixture, true);
  // The finalizer was removed by hand.
  fixture.services.delete(key);
  await fixture.provider.release(key, fixture.snapshot);
  await fixture.run(3600 * 3);
  expect(fixture.warnings).toContainEqual(
    expect.objectContaining({ message: 'an orphan is not deleted yet', code: 'AwsDeletionProtected', stack: key }),
  );
  expect(fixture.cloud.world.loadBalancers.size).toBe(1);
});

test("a Service that another controller serves by now is released, and keeps the other's address", async () => {
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
