import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../../src/system/log.ts';
import type { Preview } from '../../../../src/controller/provider-parts.ts';
import { AwsProvider } from '../../provider.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember } from '../support/stack-fixture.ts';

const kinds = [
  ['nlb', 'herald.dev/aws'],
  ['classic', 'herald.dev/aws-classic'],
] as const;
const ports = ['http:80/TCP@30080', 'https:443/TCP@30443'];

async function converged(kind: 'nlb' | 'classic', loadBalancerClass: string): Promise<ControllerFixture> {
  const cluster = new ControllerFixture(awsMember(kind, { name: 'web', ports, loadBalancerClass }).service);
  await cluster.start();
  await cluster.run(600);
  return cluster;
}

/** Previews as `herald explain` does: in a process that knows only the cluster and the account. */
async function previewOf({ cloud, settings, source }: ControllerFixture): Promise<Preview> {
  const connect = async () => ({ cloud, settings });
  const one = new AwsProvider({ classless: 'classic', connect, clock: cloud.world.clock, random: () => 0, log: silentLog });
  return one.preview('default/web', source.snapshot);
}

const messageOf = ({ statuses }: ControllerFixture): string => statuses.get('default/web')?.conditions[0]?.message ?? '';

describe.each(kinds)('the health of the targets of an %s', (kind, loadBalancerClass) => {
  test('is what the verdict begins with, with the time of the look', async () => {
    const cluster = await converged(kind, loadBalancerClass);
    cluster.cloud.world.unhealthy.add('i-00000000');
    const { seen } = await previewOf(cluster);
    expect(seen?.outcome).toBe('served');
    expect(seen?.line).toMatch(
      /^Served: 1 of 2 targets of port 80\/TCP are healthy, none in us-east-1a \[.+\]; 1 of 2 .*443\/TCP.* \(AWS, .*Z\)\.$/,
    );
  });

  test('that AWS finds bad everywhere is the verdict, the condition and an Event, until a target is healthy', async () => {
    const cluster = await converged(kind, loadBalancerClass);
    const { world } = cluster.cloud;
    for (const id of ['i-00000000', 'i-00000001']) world.unhealthy.add(id);
    const { seen } = await previewOf(cluster);
    expect([seen?.outcome, seen?.code]).toEqual(['notServed', 'AwsTargetsUnhealthy']);
    expect(seen?.line).toMatch(/^Not served: 0 of 2 targets of port 80\/TCP are healthy \[.*\. Let the targets answer the health check/);
    await cluster.run(86_400);
    expect(cluster.condition('default/web')).toBe('True AwsTargetsUnhealthy');
    expect(messageOf(cluster)).toMatch(/^Not served: AWS finds no healthy target behind port 80\/TCP, 443\/TCP: /);
    expect(cluster.events.filter(({ reason }) => reason === 'AwsTargetsUnhealthy')).toHaveLength(1);
    world.unhealthy.clear();
    await cluster.run(600);
    expect(cluster.condition('default/web')).toBe('True Assigned');
  });
});

test('the verdict on targets that AWS has not checked yet claims nothing', async () => {
  const cluster = await converged('nlb', 'herald.dev/aws');
  const { world } = cluster.cloud;
  for (const { targets } of world.targetGroups.values()) for (const target of targets.values()) target.checkedSince = world.now();
  const { seen } = await previewOf(cluster);
  expect(seen?.outcome).toBe('announced');
  expect(seen?.line).toMatch(/^Announced, not checked: 0 of 2 targets of port 80\/TCP are healthy, 2 not checked yet; /);
});

test('a Service without a published load balancer has no health', async () => {
  const cluster = new ControllerFixture(awsMember('nlb', { name: 'web', ports, loadBalancerClass: 'herald.dev/aws' }).service);
  expect((await previewOf(cluster)).seen).toBeUndefined();
});
