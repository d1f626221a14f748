import { describe, expect, test } from 'vitest';
import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const shared = { 'multi-cluster-target-group': 'true', 'nlb-target-type': 'ip' };
const recordAnnotation = 'herald.dev/aws-registered-targets';
const ports = ['http:80/TCP@30080'];

function setPods(fixture: ProviderFixture, ...endpoints: string[]): void {
  fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:8080'], endpoints }));
  fixture.provider.affected([{ kind: 'EndpointSlice', key: 'default/web-1', services: ['default/web'] } as never], fixture.snapshot);
}

async function served(...endpoints: string[]): Promise<ProviderFixture> {
  const fixture = new ProviderFixture();
  setPods(fixture, ...endpoints);
  fixture.apply({ name: 'web', ports, annotations: shared });
  await fixture.run(600);
  return fixture;
}

const groupOf = ({ cloud }: ProviderFixture): string => [...cloud.world.targetGroups.keys()][0] ?? '';

function targetsOf({ cloud: { world } }: ProviderFixture): string[] {
  const targets = [...(world.targetGroups.values().next().value?.targets.values() ?? [])];
  return targets
    .filter(({ drainingSince }) => drainingSince === undefined)
    .map(({ target }) => target.Id)
    .toSorted();
}

/** Registers or deregisters a target as the controller of another cluster. */
const byOther = (cloud: Cloud, TargetGroupArn: string, Id: string): Promise<unknown> =>
  cloud.call('elbv2:RegisterTargets', { TargetGroupArn, Targets: [{ Id, Port: 8080 }] });

const recordOf = ({ services }: ProviderFixture): unknown =>
  JSON.parse(services.get('default/web')?.metadata.annotations[recordAnnotation] ?? 'null');

describe('a target group of several clusters', () => {
  test('keeps the targets of others, and loses those of pods that are gone', async () => {
    const fixture = await served('10.0.100.5', '10.0.100.6');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    setPods(fixture, '10.0.100.6', '10.0.100.7');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.6', '10.0.100.7', '10.0.101.9']);
    setPods(fixture);
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.101.9']);
    expect(recordOf(fixture)).toEqual({ 'default/web:80/TCP': [] });
    const writes = fixture.cloud.writes.length;
    await fixture.run(24 * 3600);
    expect(fixture.cloud.writes.length).toBe(writes);
  });

  test('has its own targets in an annotation of the Service, by which a controller without memory finds them', async () => {
    const fixture = await served('10.0.100.5', '10.0.100.6');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    expect(recordOf(fixture)).toEqual({ 'default/web:80/TCP': ['10.0.100.5 8080', '10.0.100.6 8080'] });
    fixture.restart();
    setPods(fixture, '10.0.100.6');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.6', '10.0.101.9']);
  });

  test('gets no target that is not recorded yet', async () => {
    const fixture = await served('10.0.100.5');
    const before: unknown[] = [];
    fixture.cloud.fault = ({ operation }) => {
      if (operation === 'elbv2:RegisterTargets') before.push(recordOf(fixture));
      return undefined;
    };
    setPods(fixture, '10.0.100.5', '10.0.100.6');
    await fixture.run(60);
    expect(before).toEqual([{ 'default/web:80/TCP': ['10.0.100.5 8080', '10.0.100.6 8080'] }]);
  });

  test('loses a target that a controller had recorded before it was killed', async () => {
    const fixture = await served('10.0.100.5');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    fixture.cloud.fault = ({ operation }) => (operation === 'elbv2:RegisterTargets' ? { kind: 'lost' } : undefined);
    setPods(fixture, '10.0.100.5', '10.0.100.6');
    await fixture.run(10);
    expect(targetsOf(fixture)).toContain('10.0.100.6');
    fixture.cloud.fault = () => undefined;
    fixture.restart();
    setPods(fixture, '10.0.100.5');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.5', '10.0.101.9']);
  });

  test('keeps a target that another program registered before its pod was wanted', async () => {
    const fixture = await served('10.0.100.5');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.100.6');
    setPods(fixture, '10.0.100.5', '10.0.100.6');
    await fixture.run(600);
    setPods(fixture, '10.0.100.5');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.5', '10.0.100.6']);
  });

  test('starts with the targets that it had before the annotation', async () => {
    const fixture = new ProviderFixture();
    setPods(fixture, '10.0.100.5', '10.0.100.6');
    fixture.apply({ name: 'web', ports, annotations: { 'nlb-target-type': 'ip' } });
    await fixture.run(600);
    expect(recordOf(fixture)).toBeNull();
    fixture.apply({ name: 'web', ports, annotations: shared });
    await fixture.run(60);
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    setPods(fixture, '10.0.100.6');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.6', '10.0.101.9']);
    expect(fixture.cloud.world.tags.get(groupOf(fixture))?.get('herald.dev/multi-cluster')).toBe('true');
  });

  test('is Herald’s alone again without the annotation', async () => {
    const fixture = await served('10.0.100.5');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    fixture.apply({ name: 'web', ports, annotations: { 'nlb-target-type': 'ip' } });
    await fixture.run(600);
    expect([targetsOf(fixture), recordOf(fixture)]).toEqual([['10.0.100.5'], null]);
    expect(fixture.cloud.world.tags.get(groupOf(fixture))?.has('herald.dev/multi-cluster')).toBe(false);
  });

  test('keeps the targets of others also while its Service has an error', async () => {
    const fixture = await served('10.0.100.5', '10.0.100.6');
    await byOther(fixture.cloud, groupOf(fixture), '10.0.101.9');
    fixture.apply({ name: 'web', ports, annotations: { ...shared, 'healthcheck-interval': 'x' } });
    setPods(fixture, '10.0.100.6', '10.0.100.7');
    await fixture.run(600);
    expect(targetsOf(fixture)).toEqual(['10.0.100.6', '10.0.100.7', '10.0.101.9']);
    expect(recordOf(fixture)).toEqual({ 'default/web:80/TCP': ['10.0.100.6 8080', '10.0.100.7 8080'] });
  });

  test('opens no node and no pod of another cluster', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ name: 'web', ports, annotations: { 'multi-cluster-target-group': 'true' } });
    await fixture.run(600);
    const { world } = fixture.cloud;
    const group = { GroupId: 'sg-00000bbb', GroupName: 'their-nodes', Description: '', VpcId: 'vpc-1', IpPermissions: [], Tags: [] };
    world.securityGroups.set(group.GroupId, group);
    const [first] = world.instances.values();
    if (first === undefined) expect.unreachable();
    world.instances.set('i-0000000f', { ...first, InstanceId: 'i-0000000f', SecurityGroups: [{ GroupId: group.GroupId }] });
    await fixture.cloud.call('elbv2:RegisterTargets', { TargetGroupArn: groupOf(fixture), Targets: [{ Id: 'i-0000000f', Port: 30_080 }] });
    fixture.restart();
    await fixture.run(3 * 3600);
    expect(targetsOf(fixture)).toContain('i-0000000f');
    expect(world.securityGroups.get(group.GroupId)?.IpPermissions).toEqual([]);
  });

  test('is refused where the record cannot be written, and nothing is made', async () => {
    const fixture = new ProviderFixture({ isDirectory: true });
    setPods(fixture, '10.0.100.5');
    fixture.apply({ name: 'web', ports, annotations: shared });
    await fixture.run(60);
    const { reason } = fixture.results.get('default/web') ?? {};
    expect(reason && reasonText(reason)).toBe(
      'annotation service.beta.kubernetes.io/aws-load-balancer-multi-cluster-target-group: Herald records its targets on the Service, and a directory of manifests cannot be written to',
    );
    expect(fixture.cloud.writes).toEqual([]);
  });
});
