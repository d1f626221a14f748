import { describe, expect, test } from 'vitest';
import type { Call } from '../moto/fake/cloud.ts';
import { arnAnnotation } from '../../../../providers/aws/model/service-metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, type AwsServiceLiteral } from '../support/stack-fixture.ts';

const onAws = (name: string, annotations: AwsServiceLiteral['annotations'] = {}, port = 80): Service =>
  awsMember('nlb', { name, ports: [`http:${port}/TCP@${30_000 + port}`], loadBalancerClass: 'herald.dev/aws', annotations }).service;

/** True for a call that lists the whole account. */
function listsTheAccount({ operation, input }: Call): boolean {
  const listing = ['elbv2:DescribeLoadBalancers', 'elbv2:DescribeTargetGroups', 'elb:DescribeLoadBalancers'].includes(operation);
  return listing && Object.keys(input as object).length === 0;
}

const kept = (cluster: ControllerFixture, name: string): string =>
  cluster.service(`default/${name}`)?.metadata.annotations[arnAnnotation] ?? '';
const arns = ({ cloud }: ControllerFixture): string[] => [...cloud.world.loadBalancers.keys()].toSorted();

/** Applies the Service as its owner writes it, with the annotation that Herald has added. */
function change(cluster: ControllerFixture, service: Service, further: Readonly<Record<string, string>> = {}): void {
  const annotations = { [arnAnnotation]: kept(cluster, service.metadata.name), ...service.metadata.annotations, ...further };
  cluster.apply({ ...service, metadata: { ...service.metadata, annotations } });
}

async function started(...services: readonly Service[]): Promise<ControllerFixture> {
  const cluster = new ControllerFixture(...services);
  await cluster.start();
  await cluster.run(600);
  return cluster;
}

describe('the recorded ARN of a Service', () => {
  test('a restarted controller finds load balancers without listing the account or changing anything', async () => {
    const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
    const classic = awsMember('classic', {
      name: 'old',
      ports: ['http:80/TCP@30090'],
      loadBalancerClass: 'herald.dev/aws-classic',
    }).service;
    const cluster = await started(onAws('web'), onAws('api'), onAws('one', shared, 81), onAws('two', shared, 82), classic);
    expect(kept(cluster, 'old')).toBe([...cluster.cloud.world.classic.keys()].join());
    expect(kept(cluster, 'one')).toBe(kept(cluster, 'two'));
    expect(cluster.cloud.calls.filter(listsTheAccount).length).toBeGreaterThan(0);
    const [calls, writes] = [cluster.cloud.calls.length, cluster.cloud.writes.length];
    await cluster.start();
    await cluster.run(600);
    expect(cluster.cloud.calls.slice(calls).filter(listsTheAccount)).toEqual([]);
    expect(cluster.cloud.writes.slice(writes)).toEqual([]);
    expect(cluster.cloud.calls.length).toBeGreaterThan(calls);
  });

  test('new Services have no ARN, so the account is listed once for all of them', async () => {
    const cluster = await started(onAws('web'));
    await cluster.start();
    await cluster.run(60);
    const calls = cluster.cloud.calls.length;
    cluster.apply(onAws('api'));
    cluster.apply(onAws('mail'));
    await cluster.run(300);
    expect(cluster.cloud.calls.slice(calls).filter(listsTheAccount).length).toBe(3);
  });

  test('the annotation follows the load balancer that serves the Service', async () => {
    const cluster = await started(onAws('web'));
    const [before = ''] = arns(cluster);
    expect(kept(cluster, 'web')).toBe(before);
    change(cluster, onAws('web', { scheme: 'internet-facing' }));
    await cluster.run(20);
    expect(kept(cluster, 'web')).toBe(arns(cluster).join(' '));
    expect(arns(cluster).length).toBe(2);
    await cluster.run(900);
    expect([kept(cluster, 'web')]).toEqual(arns(cluster));
    expect(kept(cluster, 'web')).not.toBe(before);
  });

  test('the annotation is written later when another client writes to the Service in between', async () => {
    const cluster = new ControllerFixture(onAws('web'));
    cluster.conflicts = 3;
    await cluster.start();
    await cluster.run(600);
    expect([kept(cluster, 'web')]).toEqual(arns(cluster));
  });

  test('the annotation is removed when the Service is released', async () => {
    const cluster = await started(onAws('web'));
    change(cluster, { ...onAws('web'), type: 'ClusterIP' });
    cluster.conflicts = 2;
    await cluster.run(300);
    expect([kept(cluster, 'web'), arns(cluster), cluster.service('default/web')?.metadata.finalizers]).toEqual(['', [], []]);
  });

  test.each([
    ['its own', {}],
    ['a shared one', { 'herald.dev/aws-shared-load-balancer': 'edge' }],
  ])('a new process knows from the annotation which load balancer to delete: %s', async (_, annotations) => {
    const cluster = await started(onAws('web', annotations));
    const calls = cluster.cloud.calls.length;
    cluster.kill();
    cluster.delete('default/web');
    await cluster.start();
    await cluster.run(300);
    const { loadBalancers, targetGroups, listeners } = cluster.cloud.world;
    expect([cluster.service('default/web'), loadBalancers.size, targetGroups.size, listeners.size]).toEqual([undefined, 0, 0, 0]);
    // The account is listed once, in the background, before node rules are removed, because another Service may need them.
    expect(cluster.cloud.calls.slice(calls).filter(listsTheAccount)).toHaveLength(3);
  });

  test.each([
    ['it leaves a shared one', { 'herald.dev/aws-shared-load-balancer': 'edge' }, {}],
    ['it joins a shared one', {}, { 'herald.dev/aws-shared-load-balancer': 'edge' }],
  ])('a Service that moves while no controller runs releases its previous load balancer: %s', async (_, before, after) => {
    const cluster = await started(onAws('web', before));
    cluster.kill();
    change(cluster, onAws('web', after));
    await cluster.start();
    await cluster.run(900);
    expect([cluster.cloud.world.loadBalancers.size, cluster.cloud.world.targetGroups.size]).toEqual([1, 1]);
    expect([kept(cluster, 'web')]).toEqual(arns(cluster));
    expect(cluster.events.filter(({ reason }) => reason === 'AwsKeptForeign')).toEqual([]);
  });
});

describe('a forged ARN annotation', () => {
  const foreign = async (cluster: ControllerFixture, tags: Readonly<Record<string, string>>): Promise<string> => {
    const { LoadBalancers } = await cluster.cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'foreign',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: [{ SubnetId: 'subnet-private-0' }],
      Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
    });
    return LoadBalancers[0]?.LoadBalancerArn ?? '';
  };

  async function forged(
    text: (cluster: ControllerFixture) => Promise<string> | string,
    alsoOwn: boolean,
  ): Promise<{ cluster: ControllerFixture; id: string }> {
    const cluster = await started(onAws('web'), onAws('other'));
    const id = await text(cluster);
    cluster.kill();
    change(cluster, onAws('web'), { [arnAnnotation]: alsoOwn ? `${kept(cluster, 'web')} ${id}` : id });
    const writes = cluster.cloud.writes.length;
    await cluster.start();
    await cluster.run(1800);
    expect(cluster.cloud.writes.slice(writes)).toEqual([]);
    expect(cluster.ingress('default/web')).toEqual(['k8s']);
    expect(kept(cluster, 'web')).not.toContain(id);
    return { cluster, id };
  }

  test.each([
    [
      'for a load balancer without our tags',
      async (cluster: ControllerFixture) => foreign(cluster, { team: 'a' }),
      'it has no tag of ours',
    ],
    [
      'for another cluster',
      async (cluster: ControllerFixture) => foreign(cluster, { 'herald.dev/cluster': 'b' }),
      'it belongs to Herald of cluster b',
    ],
    ['for another Service', (cluster: ControllerFixture) => kept(cluster, 'other'), 'it belongs to default/other'],
    [
      'for another region',
      () => 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/x/0a',
      'that is in region eu-west-1',
    ],
    ['that is no ARN', () => '"; drop', 'that is neither the ARN of an NLB nor the name of a Classic ELB'],
  ])('an entry %s is reported once, and its resource is not touched', async (_, text, why) => {
    for (const alsoOwn of [false, true]) {
      const { cluster } = await forged(text, alsoOwn);
      const notes = cluster.events.filter(({ reason }) => reason === 'AwsKeptForeign').map(({ note }) => note);
      expect(notes.length).toBeGreaterThan(0);
      expect(notes.filter((note) => note.includes(why)).length).toBe(1);
    }
  });

  test('an entry of a deleted load balancer is not reported', async () => {
    const { cluster } = await forged(() => 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/x/0a', true);
    expect(cluster.events.filter(({ reason }) => reason === 'AwsKeptForeign')).toEqual([]);
  });

  test('deletion of the Service does not delete the load balancer of another Service', async () => {
    const cluster = await started(onAws('web'), onAws('other'));
    cluster.kill();
    change(cluster, onAws('web'), { [arnAnnotation]: kept(cluster, 'other') });
    cluster.delete('default/web');
    await cluster.start();
    await cluster.run(600);
    expect(cluster.service('default/web')).toBeUndefined();
    expect(arns(cluster)).toEqual([kept(cluster, 'other')]);
  });
});

test('a controller that dies at any step of creation and replacement leaves a consistent state', { timeout: 300_000 }, async () => {
  const found: string[] = [];
  let died = true;
  // Dying after one step equals dying before the next one.
  for (let diesAt = 1; died && found.length < 10; diesAt += 2) {
    const cluster = new ControllerFixture(onAws('web'));
    cluster.diesAt = diesAt;
    await cluster.start();
    await cluster.run(400);
    if (!cluster.hasDied) change(cluster, onAws('web', { scheme: 'internet-facing', 'backend-protocol': 'tcp' }));
    await cluster.run(400);
    died = cluster.hasDied;
    cluster.diesAt = undefined;
    change(cluster, onAws('web', { scheme: 'internet-facing', 'backend-protocol': 'tcp' }));
    await cluster.start();
    await cluster.run(1200);
    const { loadBalancers, targetGroups, listeners } = cluster.cloud.world;
    const counts = [loadBalancers.size, targetGroups.size, listeners.size].join();
    if (counts !== '1,1,1' || kept(cluster, 'web') !== arns(cluster).join())
      found.push(`dies at ${diesAt}: ${counts} ${kept(cluster, 'web')}`);
    cluster.kill();
  }
  expect(found).toEqual([]);
});
