import { describe, expect, test } from 'vitest';
import type { Call } from '../../../aws/fake/cloud.ts';
import { keptAnnotation } from '../../../../providers/aws/model/service-metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { Cluster } from '../support/controller-fixture.ts';
import { awsMember, type AwsServiceLiteral } from '../support/stack-fixture.ts';

const onAws = (name: string, annotations: AwsServiceLiteral['annotations'] = {}, port = 80): Service =>
  awsMember('nlb', { name, ports: [`http:${port}/TCP@${30_000 + port}`], loadBalancerClass: 'herald.dev/aws', annotations }).service;

/** A question about everything that there is. */
function listsTheAccount({ operation, input }: Call): boolean {
  const listing = ['elbv2:DescribeLoadBalancers', 'elbv2:DescribeTargetGroups', 'elb:DescribeLoadBalancers'].includes(operation);
  return listing && Object.keys(input as object).length === 0;
}

const kept = (cluster: Cluster, name: string): string => cluster.service(`default/${name}`)?.metadata.annotations[keptAnnotation] ?? '';
const arns = ({ cloud }: Cluster): string[] => [...cloud.world.loadBalancers.keys()].toSorted();

/** The Service as its owner writes it, with what Herald has written to it. */
function change(cluster: Cluster, service: Service, further: Readonly<Record<string, string>> = {}): void {
  const annotations = { [keptAnnotation]: kept(cluster, service.metadata.name), ...service.metadata.annotations, ...further };
  cluster.apply({ ...service, metadata: { ...service.metadata, annotations } });
}

async function started(...services: readonly Service[]): Promise<Cluster> {
  const cluster = new Cluster(...services);
  await cluster.start();
  await cluster.run(600);
  return cluster;
}

describe('the ARN on the Service', () => {
  test('finds what it has after a restart, without listing the account or changing anything', async () => {
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

  test('is not there on a new Service: then the account is listed, once for all', async () => {
    const cluster = await started(onAws('web'));
    await cluster.start();
    await cluster.run(60);
    const calls = cluster.cloud.calls.length;
    cluster.apply(onAws('api'));
    cluster.apply(onAws('mail'));
    await cluster.run(300);
    expect(cluster.cloud.calls.slice(calls).filter(listsTheAccount).length).toBe(3);
  });

  test('follows the load balancer that serves the Service', async () => {
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

  test('is written later where somebody writes to the Service in between', async () => {
    const cluster = new Cluster(onAws('web'));
    cluster.conflicts = 3;
    await cluster.start();
    await cluster.run(600);
    expect([kept(cluster, 'web')]).toEqual(arns(cluster));
  });

  test('goes where the Service is let go', async () => {
    const cluster = await started(onAws('web'));
    change(cluster, { ...onAws('web'), type: 'ClusterIP' });
    cluster.conflicts = 2;
    await cluster.run(300);
    expect([kept(cluster, 'web'), arns(cluster), cluster.service('default/web')?.metadata.finalizers]).toEqual(['', [], []]);
  });

  test.each([
    ['its own', {}],
    ['a shared one', { 'herald.dev/aws-shared-load-balancer': 'edge' }],
  ])('tells a new process what to delete: %s', async (_, annotations) => {
    const cluster = await started(onAws('web', annotations));
    const calls = cluster.cloud.calls.length;
    cluster.kill();
    cluster.delete('default/web');
    await cluster.start();
    await cluster.run(300);
    const { loadBalancers, targetGroups, listeners } = cluster.cloud.world;
    expect([cluster.service('default/web'), loadBalancers.size, targetGroups.size, listeners.size]).toEqual([undefined, 0, 0, 0]);
    // Once, in the background, before a rule of nodes goes: something else may need it.
    expect(cluster.cloud.calls.slice(calls).filter(listsTheAccount)).toHaveLength(3);
  });

  test.each([
    ['out of a shared one', { 'herald.dev/aws-shared-load-balancer': 'edge' }, {}],
    ['into a shared one', {}, { 'herald.dev/aws-shared-load-balancer': 'edge' }],
  ])('does not keep a Service that moves while no controller runs from leaving what it had: %s', async (_, before, after) => {
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

describe('an ARN that is not true', () => {
  const foreign = async (cluster: Cluster, tags: Readonly<Record<string, string>>): Promise<string> => {
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

  async function forged(text: (cluster: Cluster) => Promise<string> | string, alsoOwn: boolean): Promise<{ cluster: Cluster; id: string }> {
    const cluster = await started(onAws('web'), onAws('other'));
    const id = await text(cluster);
    cluster.kill();
    change(cluster, onAws('web'), { [keptAnnotation]: alsoOwn ? `${kept(cluster, 'web')} ${id}` : id });
    const writes = cluster.cloud.writes.length;
    await cluster.start();
    await cluster.run(1800);
    expect(cluster.cloud.writes.slice(writes)).toEqual([]);
    expect(cluster.ingress('default/web')).toEqual(['k8s']);
    expect(kept(cluster, 'web')).not.toContain(id);
    return { cluster, id };
  }

  test.each([
    ['of nobody', async (cluster: Cluster) => foreign(cluster, { team: 'a' }), 'it has no tag of ours'],
    [
      'of another cluster',
      async (cluster: Cluster) => foreign(cluster, { 'herald.dev/cluster': 'b' }),
      'it belongs to Herald of cluster b',
    ],
    ['of another Service', (cluster: Cluster) => kept(cluster, 'other'), 'it belongs to default/other'],
    ['of another region', () => 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/x/0a', 'that is in region eu-west-1'],
    ['that is none', () => '"; drop', 'that is neither the ARN of an NLB nor the name of a Classic ELB'],
  ])('%s is told once, and what it names is not touched', async (_, text, why) => {
    for (const alsoOwn of [false, true]) {
      const { cluster } = await forged(text, alsoOwn);
      const notes = cluster.events.filter(({ reason }) => reason === 'AwsKeptForeign').map(({ note }) => note);
      expect(notes.length).toBeGreaterThan(0);
      expect(notes.filter((note) => note.includes(why)).length).toBe(1);
    }
  });

  test('of one that is gone is no mistake', async () => {
    const { cluster } = await forged(() => 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/x/0a', true);
    expect(cluster.events.filter(({ reason }) => reason === 'AwsKeptForeign')).toEqual([]);
  });

  test('is not believed when the Service is deleted either', async () => {
    const cluster = await started(onAws('web'), onAws('other'));
    cluster.kill();
    change(cluster, onAws('web'), { [keptAnnotation]: kept(cluster, 'other') });
    cluster.delete('default/web');
    await cluster.start();
    await cluster.run(600);
    expect(cluster.service('default/web')).toBeUndefined();
    expect(arns(cluster)).toEqual([kept(cluster, 'other')]);
  });
});

test(
  'wherever the controller dies while the load balancer is made and replaced, the next one comes to the same end',
  { timeout: 300_000 },
  async () => {
    const found: string[] = [];
    let died = true;
    // Dying after a step is dying before the next one.
    for (let diesAt = 1; died && found.length < 10; diesAt += 2) {
      const cluster = new Cluster(onAws('web'));
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
  },
);
