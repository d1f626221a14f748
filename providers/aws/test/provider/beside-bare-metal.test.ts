import { describe, expect, test } from 'vitest';
import { limits as awsLimits } from '../../../../providers/aws/model/limits.ts';
import { limits } from '../../../../src/controller/limits.ts';
import { config, pool, service, slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, node } from '../support/stack-fixture.ts';

const onAws = (name: string, annotations = {}) =>
  awsMember('nlb', { name, ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws', annotations }).service;
const onBareMetal = (name: string) => service({ name, loadBalancerClass: 'herald.dev/herald' });

describe('Services of a pool beside Services of AWS', () => {
  test('a thousand Services get addresses at once while AWS answers nothing, including later ones', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `local-${index}`);
    const cluster = new ControllerFixture(
      pool({ name: 'large', addresses: ['198.51.100.0/22'] }),
      ...Array.from({ length: 100 }, (_, index) => onAws(`web-${index}`)),
      ...names.map(onBareMetal),
    );
    cluster.awsHangs = true;
    await cluster.start();
    for (let turn = 0; turn < 500; turn++) await cluster.turn();
    expect(names.filter((name) => cluster.ingress(`default/${name}`).length === 0)).toEqual([]);
    cluster.apply(onBareMetal('late'));
    await cluster.turn();
    expect(cluster.ingress('default/late').length).toBe(1);
    // No Service of AWS has a result yet, and only a limited number of reconciles has started.
    expect(cluster.condition('default/web-0')).toBe('absent');
    const begun = cluster.service('default/web-0')?.metadata.finalizers;
    const finalizers = [...cluster.source.snapshot.services.values()].filter(({ metadata }) => (metadata.finalizers ?? []).length > 0);
    expect([begun?.length, finalizers.length]).toEqual([1, limits.remoteKeysAtWork]);
  });
});

describe('calls to AWS', () => {
  test('status writes, metadata writes and agent reports cause no call to AWS', async () => {
    const cluster = new ControllerFixture(onAws('web'));
    await cluster.start();
    await cluster.run(600);
    const calls = cluster.cloud.calls.length;
    const given = cluster.service('default/web');
    cluster.source.put({ ...onAws('web'), metadata: { ...onAws('web').metadata, labels: { team: 'a' }, finalizers: ['herald.dev/aws'] } });
    await cluster.turn();
    expect(cluster.ingress('default/web')).toEqual(['k8s']);
    cluster.source.record('default/web', given?.ingress ?? []);
    await cluster.turn();
    expect(cluster.cloud.calls.length).toBe(calls);
  });

  test('pod changes cause calls only for pod targets, not for instance targets', async () => {
    const pods = (...endpoints: string[]) => slice({ service: 'default/web', ports: ['http:8080'], endpoints });
    const cluster = new ControllerFixture(onAws('web'), pods('10.0.1.5'));
    await cluster.start();
    await cluster.run(600);
    const calls = cluster.cloud.calls.length;
    cluster.source.put(pods('10.0.1.5', '10.0.1.6'));
    cluster.source.put(pods('10.0.1.6'));
    await cluster.turn();
    expect(cluster.cloud.calls.length).toBe(calls);

    cluster.apply(onAws('web', { 'nlb-target-type': 'ip' }));
    await cluster.run(600);
    expect([cluster.ingress('default/web'), cluster.condition('default/web')]).toEqual([['k8s'], 'True Assigned']);
    const writes = cluster.cloud.writes.length;
    cluster.source.put(pods('10.0.1.6', '10.0.1.7'));
    await cluster.turn();
    expect(cluster.cloud.writes.slice(writes).map(({ operation }) => operation)).toEqual(['elbv2:RegisterTargets']);
  });
});

describe('a refusal of AWS', () => {
  const created = (cluster: ControllerFixture): number =>
    cluster.cloud.calls.filter(({ operation }) => operation === 'elbv2:CreateLoadBalancer').length;

  async function refusing(code: 'denied' | 'throttled' | 'unreachable'): Promise<ControllerFixture> {
    const cluster = new ControllerFixture(onAws('web'));
    cluster.cloud.fault = ({ operation }) => (operation === 'elbv2:CreateLoadBalancer' ? { kind: 'error', code } : undefined);
    await cluster.start();
    return cluster;
  }

  test.each([
    ['denied', 'AwsRefused', awsLimits.permanentRetryMaximumSeconds],
    ['throttled', 'AwsThrottled', awsLimits.throttledRetryMaximumSeconds],
    ['unreachable', 'AwsCallFailed', awsLimits.transientRetryMaximumSeconds],
  ] as const)('a refused call (%s) is reported once and retried less and less often', async (code, reason, longest) => {
    const cluster = await refusing(code);
    await cluster.run(1800);
    const before = created(cluster);
    await cluster.run(3600);
    // Up to half of the wait is random, and the clock of the controller ticks every ten seconds.
    const [most, least] = [Math.ceil(3600 / (longest / 2)) + 1, Math.floor(3600 / (longest + 10))];
    expect(created(cluster) - before).toBeLessThanOrEqual(most);
    expect(created(cluster) - before).toBeGreaterThanOrEqual(least);
    expect(cluster.condition('default/web')).toBe(`False ${reason}`);
    expect(cluster.events.filter((event) => event.reason === reason).length).toBe(1);
    cluster.cloud.fault = () => undefined;
    await cluster.run(longest + 300);
    expect(cluster.ingress('default/web')).toEqual(['k8s']);
  });

  test('a refused call is retried at once when the Service or its nodes change', async () => {
    const cluster = await refusing('denied');
    await cluster.run(3600);
    const before = created(cluster);
    cluster.apply(onAws('web', { 'cross-zone-load-balancing-enabled': 'true' }));
    await cluster.turn();
    expect(created(cluster)).toBe(before + 1);
    cluster.source.put(node(2));
    await cluster.turn();
    expect(created(cluster)).toBe(before + 2);
  });

  test('a failed read is retried at once when there are other nodes', async () => {
    const cluster = new ControllerFixture(onAws('web'));
    cluster.cloud.fault = () => ({ kind: 'error', code: 'denied' });
    await cluster.start();
    await cluster.run(3600);
    const calls = cluster.cloud.calls.length;
    cluster.source.put(node(2));
    await cluster.turn();
    expect(cluster.cloud.calls.length).toBeGreaterThan(calls);
  });
});

test('a Service is taken over at once when another controller removes its finalizer', async () => {
  const theirs = onAws('web');
  const cluster = new ControllerFixture({ ...theirs, metadata: { ...theirs.metadata, finalizers: ['service.k8s.aws/resources'] } });
  await cluster.start();
  await cluster.run(600);
  expect([cluster.condition('default/web'), cluster.cloud.writes.length]).toEqual(['False AwsOtherController', 0]);
  cluster.source.put(theirs);
  await cluster.turn();
  expect(cluster.cloud.writes.length).toBeGreaterThan(0);
});

describe('a Service that is gone', () => {
  const things = ({ cloud: { world } }: ControllerFixture): number[] => [
    world.loadBalancers.size,
    world.targetGroups.size,
    world.listeners.size,
  ];

  async function served(): Promise<ControllerFixture> {
    const cluster = new ControllerFixture(onAws('web'));
    await cluster.start();
    await cluster.run(600);
    expect(things(cluster)).toEqual([1, 1, 1]);
    return cluster;
  }

  test('its load balancer is deleted at once when Herald saw the deletion', async () => {
    const cluster = await served();
    cluster.delete('default/web');
    await cluster.run(120);
    expect([cluster.service('default/web'), things(cluster)]).toEqual([undefined, [0, 0, 0]]);
  });

  test('its load balancer is deleted at once when the finalizer is removed during the deletion', async () => {
    const cluster = await served();
    cluster.cloud.fault = ({ operation }) => (operation.includes(':Delete') ? { kind: 'error', code: 'throttled' } : undefined);
    cluster.delete('default/web');
    await cluster.run(60);
    cluster.vanish('default/web');
    cluster.cloud.fault = () => undefined;
    await cluster.run(400);
    expect(things(cluster)).toEqual([0, 0, 0]);
  });

  test.each([
    ['while the controller looks on', true],
    ['while no controller runs', false],
  ])('its load balancer is marked and deleted an hour later when Herald saw no deletion: %s', async (_, runs) => {
    const cluster = await served();
    if (!runs) cluster.kill();
    cluster.vanish('default/web');
    if (!runs) await cluster.start();
    await cluster.run(1200);
    expect(things(cluster)).toEqual([1, 1, 1]);
    const [arn = ''] = cluster.cloud.world.loadBalancers.keys();
    expect(cluster.cloud.world.tags.get(arn)?.has('herald.dev/orphaned-at')).toBe(true);
    await cluster.run(5400);
    expect(things(cluster)).toEqual([0, 0, 0]);
  });

  test('a Service restored in time gets its load balancer back', async () => {
    const cluster = await served();
    const names = [...cluster.cloud.world.loadBalancers.keys()];
    cluster.vanish('default/web');
    await cluster.run(1200);
    cluster.apply(onAws('web'));
    await cluster.run(7200);
    expect([...cluster.cloud.world.loadBalancers.keys()]).toEqual(names);
    expect(cluster.cloud.world.tags.get(names[0] ?? '')?.has('herald.dev/orphaned-at')).toBe(false);
  });

  test.each([
    ['while the controller looks on', true],
    ['while no controller runs', false],
  ])('its part of a shared NLB stays for a while, and nothing else changes: %s', async (_, runs) => {
    const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
    const [first, second] = [
      onAws('web', shared),
      awsMember('nlb', { name: 'dns', ports: ['dns:53/UDP@30053'], loadBalancerClass: 'herald.dev/aws', annotations: shared }).service,
    ];
    const cluster = new ControllerFixture(first, second);
    await cluster.start();
    await cluster.run(600);
    expect(things(cluster)).toEqual([1, 2, 2]);
    if (!runs) cluster.kill();
    cluster.vanish('default/web');
    if (!runs) await cluster.start();
    await cluster.run(1200);
    expect(things(cluster)).toEqual([1, 2, 2]);
    const marked = [...cluster.cloud.world.tags].filter(([, tags]) => tags.has('herald.dev/orphaned-at')).map(([id]) => id);
    expect(marked).toMatchObject([expect.stringContaining(':targetgroup/')]);
    if (!runs) {
      cluster.apply(first);
      await cluster.run(7200);
      expect(things(cluster)).toEqual([1, 2, 2]);
      expect([...cluster.cloud.world.tags.values()].some((tags) => tags.has('herald.dev/orphaned-at'))).toBe(false);
      cluster.vanish('default/web');
      await cluster.run(1200);
    }
    await cluster.run(5400);
    expect([...cluster.cloud.world.listeners.values()].map(({ value }) => value.Port)).toEqual([53]);
    expect(things(cluster)).toEqual([1, 1, 1]);
  });

  test('a Service removed from a directory loses its part of a shared NLB at once', async () => {
    const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
    const cluster = new ControllerFixture(
      onAws('web', shared),
      awsMember('nlb', { name: 'dns', ports: ['dns:53/UDP@30053'], loadBalancerClass: 'herald.dev/aws', annotations: shared }).service,
    );
    cluster.hasMetadata = false;
    await cluster.start();
    await cluster.run(600);
    cluster.vanish('default/web');
    await cluster.run(120);
    expect([...cluster.cloud.world.listeners.values()].map(({ value }) => value.Port)).toEqual([53]);
  });

  test('a Service removed from a directory loses its load balancer at once, because removal is its deletion', async () => {
    const cluster = new ControllerFixture(onAws('web'));
    cluster.hasMetadata = false;
    await cluster.start();
    await cluster.run(600);
    cluster.vanish('default/web');
    await cluster.run(120);
    expect(things(cluster)).toEqual([0, 0, 0]);
  });
});

describe('a Service that changes its provider', () => {
  const plain = service({ name: 'web', ports: ['http:80/TCP@30080'] });

  test('a Service that moves to AWS no longer waits for an address of a pool', async () => {
    const small = pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'] });
    const cluster = new ControllerFixture(onBareMetal('first'), config({ defaultClass: true }), small);
    await cluster.start();
    cluster.apply(plain);
    await cluster.turn();
    cluster.apply(onBareMetal('third'));
    await cluster.turn();
    expect(cluster.condition('default/web')).toBe('False PoolFull');
    cluster.source.put(config({ defaultClass: false }));
    await cluster.turn();
    cluster.delete('default/first');
    await cluster.turn();
    expect(cluster.ingress('default/third')).toEqual(['192.0.2.1']);
  });

  test('a Service that moves from AWS to a pool gets its address before its load balancer is deleted', async () => {
    const cluster = new ControllerFixture(plain);
    await cluster.start();
    await cluster.run(600);
    expect(cluster.cloud.world.classic.size).toBe(1);
    cluster.cloud.fault = ({ operation }) => (operation.startsWith('elb:Delete') ? { kind: 'error', code: 'unreachable' } : undefined);
    cluster.source.put(config({ defaultClass: true }));
    await cluster.turn();
    expect([cluster.ingress('default/web'), cluster.cloud.world.classic.size]).toEqual([['192.0.2.1'], 1]);
    expect(cluster.service('default/web')?.metadata.finalizers).toEqual(['herald.dev/aws']);
    cluster.cloud.fault = () => undefined;
    await cluster.run(600);
    expect(cluster.cloud.world.classic.size).toBe(0);
    expect([cluster.ingress('default/web'), cluster.service('default/web')?.metadata.finalizers]).toEqual([['192.0.2.1'], []]);
  });

  test('a Service that moves to AWS keeps its address until the load balancer serves', async () => {
    const nlb = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations: { type: 'nlb' } }).service;
    const cluster = new ControllerFixture(nlb, config({ defaultClass: true }), pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'] }));
    await cluster.start();
    expect(cluster.ingress('default/web')).toEqual(['192.0.2.1']);
    cluster.awsHangs = true;
    cluster.source.put(config({ defaultClass: false }));
    cluster.apply(onBareMetal('other'));
    await cluster.run(60);
    expect([cluster.ingress('default/web'), cluster.ingress('default/other')]).toEqual([['192.0.2.1'], []]);
    cluster.awsHangs = false;
    await cluster.start();
    // AWS is creating the load balancer.
    await cluster.run(60);
    expect([cluster.ingress('default/web'), cluster.ingress('default/other')]).toEqual([['192.0.2.1'], []]);
    await cluster.run(600);
    expect([cluster.ingress('default/web'), cluster.ingress('default/other')]).toEqual([['k8s'], ['192.0.2.1']]);
  });
});
