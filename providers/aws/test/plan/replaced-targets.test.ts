import { expect, test } from 'vitest';
import type { Operation } from '../../../../providers/aws/cloud/operations.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, node } from '../support/stack-fixture.ts';
import { unreachableReason } from '../support/reachability.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const nlb = (annotations: object = {}) => awsMember('nlb', { ...web, annotations: { type: 'nlb', ...annotations } }).service;
const classic = (annotations: object = {}) => awsMember('classic', { ...web, annotations: { ...annotations } }).service;

/** The targets of each target group and Classic ELB, sorted. */
function registered({ cloud: { world } }: ControllerFixture): string[] {
  const groups = [...world.targetGroups.values()].map(({ targets }) =>
    [...targets.values()].flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [target.Id] : [])),
  );
  const balancers = [...world.classic.values()].map(({ value }) => value.Instances.map(({ InstanceId }) => InstanceId));
  return [...groups, ...balancers].map((ids) => ids.toSorted().join(' ')).filter((ids) => !ids.startsWith('10.'));
}

test.each<[string, ReturnType<typeof nlb>, ReturnType<typeof nlb>, Operation]>([
  ['an NLB replaces a Classic ELB', classic(), nlb(), 'elbv2:CreateLoadBalancer'],
  ['a Classic ELB replaces an NLB', nlb(), classic(), 'elb:CreateLoadBalancer'],
  ['a Classic ELB changes its scheme', classic({ scheme: 'internal' }), classic({ scheme: 'internet-facing' }), 'elb:CreateLoadBalancer'],
  [
    'an NLB changes its scheme and takes pods as targets',
    nlb({ scheme: 'internal' }),
    nlb({ scheme: 'internet-facing', 'nlb-target-type': 'ip' }),
    'elbv2:CreateLoadBalancer',
  ],
  ['pods replace nodes as targets', nlb(), nlb({ 'nlb-target-type': 'ip' }), 'elbv2:CreateListener'],
])('%s: while AWS refuses the change, existing targets follow the nodes', async (_, before, after, operation) => {
  const cluster = new ControllerFixture(before, slice({ service: 'default/web', ports: ['http:8080'], endpoints: ['10.0.1.5'] }));
  await cluster.start();
  await cluster.run(400);
  const hostname = cluster.service('default/web')?.ingress[0]?.hostname ?? 'nowhere';
  cluster.cloud.fault = (call) => (call.operation === operation ? { kind: 'error', code: 'quota' } : undefined);
  cluster.apply(after);
  await cluster.run(60);
  cluster.source.put(node(2));
  await cluster.run(10);
  cluster.source.remove(node(0));
  cluster.source.remove(node(1));
  await cluster.run(1800);
  expect([cluster.condition('default/web'), new Set(registered(cluster))]).toEqual(['False AwsRefused', new Set(['i-00000002'])]);
  expect(unreachableReason(cluster.cloud.world, hostname, { from: '10.1.2.3', protocol: 'TCP', port: 80 })).toBeUndefined();
  // Once converged, nothing is written.
  const writes = cluster.cloud.writes.length;
  await cluster.run(1800);
  expect(cluster.cloud.writes.slice(writes).filter((call) => call.operation !== operation)).toEqual([]);
  cluster.cloud.fault = () => undefined;
  await cluster.run(1800);
  expect([cluster.condition('default/web'), cluster.cloud.world.loadBalancers.size + cluster.cloud.world.classic.size]).toEqual([
    'True Assigned',
    1,
  ]);
});
