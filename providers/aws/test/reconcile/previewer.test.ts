import { expect, test } from 'vitest';
import { StoppedError } from '../../../../providers/aws/cloud/error.ts';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import { arnAnnotation } from '../../../../providers/aws/model/service-metadata.ts';
import type { Preview } from '../../../../src/controller/provider-parts.ts';
import { serviceKey, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, type AwsServiceLiteral } from '../support/stack-fixture.ts';

const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const annotated = (literal: AwsServiceLiteral): Service => awsMember('nlb', { loadBalancerClass: 'herald.dev/aws', ...literal }).service;
const a = (annotations = {}): Service =>
  annotated({ name: 'a', ports: ['http:80/TCP@30080'], createdAt: '2026-01-01T00:00:00Z', annotations });
const b = (annotations = {}): Service =>
  annotated({ name: 'b', ports: ['http:81/TCP@30081'], createdAt: '2026-01-02T00:00:00Z', annotations });

/** Previews as `herald plan` does: in a process that knows only the cluster and the account. */
async function previewOf(cluster: ControllerFixture, key: ServiceKey): Promise<Preview> {
  const { cloud, settings } = cluster;
  const connect = async () => ({ cloud, settings });
  const one = new AwsProvider({ classless: 'off', connect, clock: cloud.world.clock, random: () => 0, log: silentLog });
  return one.preview(key, cluster.source.snapshot);
}

/** Returns a converged cluster whose controller has stopped, with one Service changed. */
async function changed(before: readonly Service[], after: Service): Promise<ControllerFixture> {
  const cluster = new ControllerFixture(...before);
  await cluster.start();
  await cluster.run(600);
  cluster.kill();
  const kept = cluster.service(serviceKey(after.metadata))?.metadata.annotations[arnAnnotation] ?? '';
  const annotations = { ...after.metadata.annotations, [arnAnnotation]: kept };
  cluster.apply({ ...after, metadata: { ...after.metadata, annotations } });
  return cluster;
}

const operations = ({ actions }: Preview): string[] => [...new Set(actions.map(({ operation }) => operation))];

/** Calls of a new controller that change something. */
async function made(cluster: ControllerFixture): Promise<string[]> {
  const before = cluster.cloud.writes.length;
  await cluster.start();
  await cluster.run(1200);
  return cluster.cloud.writes.slice(before).map(({ operation }) => operation);
}

test('a preview of a disowned Service removes tags and deletes nothing, as the controller does', async () => {
  const cluster = await changed([a()], a({ 'herald.dev/aws-disown': 'true' }));
  const told = operations(await previewOf(cluster, 'default/a'));
  expect(told).toEqual(['elbv2:RemoveTags', 'ec2:DeleteTags']);
  expect(new Set(await made(cluster))).toEqual(new Set(told));
});

test('a preview of a Service that joins a shared load balancer deletes its own', async () => {
  const cluster = await changed([a(shared), b()], b(shared));
  const { actions } = await previewOf(cluster, 'default/b');
  expect(actions.filter(({ operation }) => operation === 'elbv2:CreateListener')).toHaveLength(1);
  const [deletion, ...others] = actions.filter(({ operation }) => operation === 'elbv2:DeleteLoadBalancer');
  expect([deletion?.reason, others]).toEqual([expect.stringContaining('when shared:default/edge serves'), []]);
  expect(await made(cluster)).toContain('elbv2:DeleteLoadBalancer');
});

test('a preview of a Service that leaves a shared load balancer deletes its listener there', async () => {
  const cluster = await changed([a(shared), b(shared)], b());
  const told = operations(await previewOf(cluster, 'default/b'));
  expect(told).toEqual(expect.arrayContaining(['elbv2:CreateLoadBalancer', 'elbv2:DeleteListener']));
  expect(told).not.toContain('elbv2:DeleteLoadBalancer');
});

test('a preview of a Service that is no LoadBalancer any more deletes its own or its shared part', async () => {
  const alone = await changed([a()], { ...a(), type: 'ClusterIP' });
  expect(operations(await previewOf(alone, 'default/a'))).toContain('elbv2:DeleteLoadBalancer');
  const together = await changed([a(shared), b(shared)], { ...b(shared), type: 'ClusterIP' });
  const told = operations(await previewOf(together, 'default/b'));
  expect(told).toContain('elbv2:DeleteListener');
  expect(told).not.toContain('elbv2:DeleteLoadBalancer');
});

test('a preview of a deletion says that it waits for AWS to delete what depends on the load balancer', async () => {
  const cluster = await changed([a()], { ...a(), type: 'ClusterIP' });
  expect((await previewOf(cluster, 'default/a')).waits).toContain('AWS to delete the remaining resources');
});

test('a preview of a Service that leaves a shared load balancer names the other one that leaves it', async () => {
  const cluster = await changed([a(shared), b(shared)], b());
  const kept = cluster.service('default/a')?.metadata.annotations[arnAnnotation] ?? '';
  cluster.apply(a({ [arnAnnotation]: kept }));
  for (const [key, other] of [
    ['default/a', 'default/b'],
    ['default/b', 'default/a'],
  ] as const) {
    const told = await previewOf(cluster, key);
    const deleted = told.actions.filter(({ operation }) => operation.includes(':Delete'));
    expect(deleted.map(({ operation, reason }) => [operation, reason])).toEqual([
      ['elbv2:DeleteListener', `${key} no longer uses it, when ${key} serves`],
      ['elbv2:DeleteTargetGroup', `${key} no longer uses it, when ${key} serves`],
    ]);
    expect(told.waits).toContain(`${other} to leave shared:default/edge as well: its shared resources are deleted with the last of them`);
  }
  expect((await made(cluster)).filter((operation) => operation === 'elbv2:DeleteLoadBalancer')).toHaveLength(1);
});

test('a preview of a Service that leaves Services with errors deletes only its own part', async () => {
  const wrong = { ...shared, 'healthcheck-interval': 'x' };
  const cluster = await changed([a(shared), b(shared)], a(wrong));
  const kept = cluster.service('default/b')?.metadata.annotations[arnAnnotation] ?? '';
  cluster.apply(b({ [arnAnnotation]: kept }));
  const told = await previewOf(cluster, 'default/b');
  expect(operations(told).filter((operation) => operation.includes(':Delete'))).toEqual([
    'elbv2:DeleteListener',
    'elbv2:DeleteTargetGroup',
  ]);
});

test('a preview that its user stops is reported as failed', async () => {
  const cluster = new ControllerFixture(a());
  cluster.cloud.call = () => Promise.reject(new StoppedError('Herald is stopping'));
  const { failed } = await previewOf(cluster, serviceKey(a().metadata));
  expect(failed).toMatchObject({ code: 'AwsCallFailed', details: { message: 'Herald is stopping' } });
});

test('a preview has the resources that connections pass, and why one serves less than it should', async () => {
  const cluster = await changed([a()], a());
  const resources = async () => (await previewOf(cluster, 'default/a')).resources ?? [];
  const ids = new Map((await resources()).map((one) => [one.id, one]));
  const [balancer] = ids.values();
  const way = [balancer];
  for (let at = balancer; at?.to[0] !== undefined; way.push(at)) at = ids.get(at.to[0]);
  expect(way.map((one) => [one?.kind, one?.health])).toEqual(
    ['loadBalancer', 'listener', 'targetGroup', 'target'].map((kind) => [kind, 'good']),
  );
  const targets = (await resources()).filter(({ kind }) => kind === 'target');
  const broken = (count: number): void => {
    for (const { name } of targets.slice(0, count)) cluster.cloud.world.unhealthy.add(name.split(' ')[0] ?? '');
  };
  broken(1);
  expect((await resources()).filter(({ health }) => health === 'bad').map(({ name, kind, why }) => [name, kind, why])).toEqual([
    [targets[0]?.name, 'target', expect.stringMatching(/^unhealthy: /)],
  ]);
  expect((await resources()).filter(({ health }) => health === 'doubtful').map(({ kind, why }) => [kind, why])).toEqual([
    ['loadBalancer', 'its listener has a problem'],
    ['listener', 'its target group has a problem'],
    ['targetGroup', `1 of its ${targets.length} targets has a problem`],
  ]);
  broken(targets.length);
  expect(new Set((await resources()).map(({ health }) => health))).toEqual(new Set(['bad']));
});
