import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../../providers/aws/model/settings.ts';
import { isWrite } from '../../../../providers/aws/cloud/operations.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { configWith, policy } from '../support/policies.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const key = 'herald.dev/aws-target-group';
const recordAnnotation = 'herald.dev/aws-registered-targets';
const ports = ['http:80/TCP@30080'];
const shared = { 'multi-cluster-target-group': 'true', 'nlb-target-type': 'ip' };

function setPods(fixture: ProviderFixture, ...endpoints: string[]): void {
  fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:8080'], endpoints }));
  fixture.provider.affected([{ kind: 'EndpointSlice', key: 'default/web-1', services: ['default/web'] } as never], fixture.snapshot);
}

/** A cluster with an NLB whose target group others may use, and a cluster of another name in the same account. */
async function twoClusters(annotations: Readonly<Record<string, string>> = shared) {
  const owner = new ProviderFixture();
  setPods(owner, '10.0.100.5', '10.0.100.6');
  owner.apply({ name: 'web', ports, annotations });
  await owner.run(600);
  const { world } = owner.cloud;
  const guest = new ProviderFixture({ account: world });
  guest.settings = { ...defaultSettings, ...owner.settings, clusterName: 'other' };
  guest.restart();
  const [arn = ''] = world.targetGroups.keys();
  const targets = (): string[] => {
    const all = [...(world.targetGroups.get(arn)?.targets.values() ?? [])];
    return all
      .filter(({ drainingSince }) => drainingSince === undefined)
      .map(({ target }) => target.Id)
      .toSorted();
  };
  const runBoth = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 20) {
      await owner.run(10);
      await guest.run(10);
    }
  };
  const join = (more: Readonly<Record<string, string>> = {}): void =>
    void guest.apply({ name: 'web', ports, annotations: { [key]: arn, ...more } });
  return { owner, guest, world, arn, targets, runBoth, join };
}

const resultOf = ({ results }: ProviderFixture) => results.get('default/web');
const recordOf = ({ services }: ProviderFixture): unknown =>
  JSON.parse(services.get('default/web')?.metadata.annotations[recordAnnotation] ?? 'null');

describe('a Service that joins the target group of another cluster', () => {
  test('registers its pods, has the host name of the NLB, and changes nothing else', async () => {
    const { owner, guest, arn, targets, runBoth, join } = await twoClusters();
    setPods(guest, '10.0.101.8', '10.0.101.9');
    join();
    await runBoth(600);
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6', '10.0.101.8', '10.0.101.9']);
    expect(resultOf(guest)).toMatchObject({ ingress: resultOf(owner)?.ingress, warnings: [] });
    expect(resultOf(guest)?.reason).toBeUndefined();
    expect(new Set(guest.cloud.writes.map(({ operation }) => operation))).toEqual(new Set(['elbv2:RegisterTargets']));
    expect(recordOf(guest)).toEqual({ [arn]: ['10.0.101.8 8080', '10.0.101.9 8080'] });
  });

  test('and the owner never remove targets of each other, whatever pods come and go and whichever restarts', async () => {
    const { owner, guest, targets, runBoth, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    join();
    await runBoth(300);
    setPods(owner, '10.0.100.7');
    setPods(guest, '10.0.101.9');
    await runBoth(300);
    expect(targets()).toEqual(['10.0.100.7', '10.0.101.9']);
    owner.restart();
    guest.restart();
    setPods(owner, '10.0.100.8');
    await runBoth(300);
    setPods(guest);
    await runBoth(600);
    expect(targets()).toEqual(['10.0.100.8']);
    setPods(guest, '10.0.101.8');
    setPods(owner);
    await runBoth(600);
    expect(targets()).toEqual(['10.0.101.8']);
    const before = [owner, guest].map(({ cloud }) => cloud.writes.length);
    await runBoth(7200);
    expect([owner, guest].map(({ cloud }) => cloud.writes.length)).toEqual(before);
  });

  test('needs the consent of the owner when it is in another namespace, also without a policy', async () => {
    const { owner, guest, world, arn, targets, runBoth } = await twoClusters();
    const service = { name: 'team-b/web', ports };
    const pods = slice({ service: 'team-b/web', ports: ['http:8080'], endpoints: ['10.0.101.8'] });
    guest.snapshot.upsert(pods);
    guest.apply({ ...service, annotations: { [key]: arn } });
    await runBoth(300);
    const refused = guest.results.get('team-b/web')?.reason;
    expect([refused?.code, targets()]).toEqual(['AwsTargetGroupUnusable', ['10.0.100.5', '10.0.100.6']]);
    expect(refused && reasonText(refused)).toContain('is not shared with namespace team-b by its owner');
    const consent = { ...shared, 'herald.dev/aws-target-group-namespaces': 'team-a, team-b' };
    owner.apply({ name: 'web', ports, annotations: consent });
    await runBoth(900);
    expect(world.tags.get(arn)?.get('herald.dev/namespaces')).toBe('team-a team-b');
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6', '10.0.101.8']);
    owner.apply({ name: 'web', ports, annotations: shared });
    await runBoth(300);
    expect(world.tags.get(arn)?.has('herald.dev/namespaces')).toBe(false);
    await runBoth(900);
    expect(guest.results.get('team-b/web')?.reason?.code).toBe('AwsTargetGroupUnusable');
  });

  test('is refused when it restricts its clients, which only the owner could do', async () => {
    const { guest, arn, targets, runBoth } = await twoClusters();
    setPods(guest, '10.0.101.8');
    guest.apply({ name: 'web', ports, annotations: { [key]: arn }, sourceRanges: ['192.0.2.0/24'] });
    await runBoth(300);
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6']);
    expect(resultOf(guest)?.reason).toMatchObject({ code: 'AwsSourcesNotEnforced', details: { setting: 'spec.loadBalancerSourceRanges' } });
  });

  test('takes its targets along when it is deleted', async () => {
    const { guest, world, targets, runBoth, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    join();
    await runBoth(300);
    guest.restart();
    guest.delete('default/web');
    await runBoth(300);
    expect([targets(), guest.services.has('default/web'), world.loadBalancers.size]).toEqual([['10.0.100.5', '10.0.100.6'], false, 1]);
  });

  test('takes its targets along when it names no group any more, and gets an NLB first', async () => {
    const { guest, world, targets, runBoth, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    join();
    await runBoth(300);
    guest.apply({ name: 'web', ports, annotations: { 'nlb-target-type': 'ip' } });
    await runBoth(900);
    expect([targets(), world.loadBalancers.size, recordOf(guest)]).toEqual([['10.0.100.5', '10.0.100.6'], 2, null]);
    // It has a load balancer now.
    join();
    await runBoth(300);
    expect(resultOf(guest)?.reason?.code).toBe('AwsTargetGroupUnusable');
    expect([world.loadBalancers.size, targets()]).toEqual([2, ['10.0.100.5', '10.0.100.6']]);
  });

  test('takes its targets along when it names another group', async () => {
    const { owner, guest, world, arn, targets, runBoth, join } = await twoClusters();
    owner.apply({ name: 'api', ports: ['http:81/TCP@30081'], annotations: shared });
    setPods(guest, '10.0.101.8');
    join();
    await runBoth(600);
    const second = [...world.targetGroups.keys()].find((other) => other !== arn) ?? '';
    guest.apply({ name: 'web', ports, annotations: { [key]: second } });
    await runBoth(300);
    expect([targets(), [...(world.targetGroups.get(second)?.targets.keys() ?? [])]]).toEqual([
      ['10.0.100.5', '10.0.100.6'],
      ['10.0.101.8 8080'],
    ]);
    expect(recordOf(guest)).toEqual({ [second]: ['10.0.101.8 8080'] });
  });

  test('keeps a target that another program registered', async () => {
    const { guest, owner, arn, targets, runBoth, join } = await twoClusters();
    await owner.cloud.call('elbv2:RegisterTargets', { TargetGroupArn: arn, Targets: [{ Id: '10.0.101.8', Port: 8080 }] });
    setPods(guest, '10.0.101.8', '10.0.101.9');
    join();
    await runBoth(300);
    setPods(guest);
    await runBoth(600);
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6', '10.0.101.8']);
  });

  test('registers its nodes in a group for instances', async () => {
    const { guest, world, runBoth, join } = await twoClusters({ 'multi-cluster-target-group': 'true' });
    for (const index of [0, 1, 2]) guest.snapshot.remove('Node', `node-${index}`);
    const [first] = world.instances.values();
    if (first === undefined) expect.unreachable();
    world.instances.set('i-0000000f', { ...first, InstanceId: 'i-0000000f' });
    const [plain] = [...new ProviderFixture().snapshot.nodes.values()];
    if (plain === undefined) expect.unreachable();
    guest.snapshot.upsert({ ...plain, metadata: { ...plain.metadata, name: 'far' }, providerID: 'aws:///us-east-1a/i-0000000f' });
    guest.restart();
    join();
    await runBoth(300);
    const [group] = world.targetGroups.values();
    expect([...(group?.targets.keys() ?? [])].toSorted()).toEqual(
      ['i-0000000f 30080', 'i-00000000 30080', 'i-00000001 30080', 'i-00000002 30080'].toSorted(),
    );
  });

  test('appears in the preview', async () => {
    const { guest, arn, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    join();
    const { desired, actions } = await guest.provider.preview('default/web', guest.snapshot);
    expect(desired).toEqual([`1 targets in target group ${arn}`]);
    expect(actions).toMatchObject([{ operation: 'elbv2:RegisterTargets' }]);
    expect(guest.cloud.calls.filter(({ operation }) => isWrite(operation))).toEqual([]);
  });
});

describe('a registration that AWS does not show', () => {
  const registrations = ({ cloud }: ProviderFixture): number =>
    cloud.writes.filter(({ operation }) => operation === 'elbv2:RegisterTargets').length;

  test('stops after three times with a reason, until other targets are wanted', async () => {
    const { guest, arn, targets, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    guest.cloud.ignoresWrites = true;
    join();
    await guest.run(3600);
    expect(registrations(guest)).toBe(3);
    const { reason } = resultOf(guest) ?? {};
    expect([reason?.code, reason && reasonText(reason).includes(arn)]).toEqual(['AwsWithoutEffect', true]);
    guest.cloud.ignoresWrites = false;
    setPods(guest, '10.0.101.8', '10.0.101.9');
    await guest.run(600);
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6', '10.0.101.8', '10.0.101.9']);
    expect(resultOf(guest)?.reason).toBeUndefined();
  });

  test('is made again when the Service changes', async () => {
    const { guest, targets, join } = await twoClusters();
    setPods(guest, '10.0.101.8');
    guest.cloud.ignoresWrites = true;
    join();
    await guest.run(3600);
    guest.cloud.ignoresWrites = false;
    join({ 'target-node-labels': 'a=b' });
    await guest.run(600);
    expect([registrations(guest), targets()]).toEqual([4, ['10.0.100.5', '10.0.100.6', '10.0.101.8']]);
  });
});

describe('a Service cannot join, and registers nothing, if', () => {
  const missing = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/gone/1';
  test.each<[string, (clusters: Awaited<ReturnType<typeof twoClusters>>) => void, (arn: string) => string]>([
    [
      'its owner does not share the group',
      ({ world, arn }) => void world.tags.get(arn)?.delete('herald.dev/multi-cluster'),
      () => 'is not shared by its owner: it has no tag herald.dev/multi-cluster',
    ],
    [
      'the group is in another VPC',
      ({ world, arn }) => {
        const group = world.targetGroups.get(arn);
        if (group !== undefined) group.value.VpcId = 'vpc-2';
      },
      () => 'is in vpc-2, and the cluster is in vpc-1',
    ],
    ['the group does not exist', ({ join }) => join({ [key]: missing }), () => 'does not exist in region us-east-1'],
    [
      'the group is for another protocol',
      ({ guest, arn }) => void guest.apply({ name: 'web', ports: ['dns:80/UDP@30080'], annotations: { [key]: arn } }),
      () => 'is for TCP, and port 80 is UDP',
    ],
  ])('%s', async (_, prepare, why) => {
    const clusters = await twoClusters();
    const { owner, guest, arn, join } = clusters;
    setPods(guest, '10.0.101.8');
    join();
    prepare(clusters);
    await guest.run(60);
    const { reason } = resultOf(guest) ?? {};
    const named = guest.services.get('default/web')?.metadata.annotations[key] ?? '';
    expect(reason && reasonText(reason)).toBe(`annotation ${key}: target group ${named} ${why(arn)}`);
    expect(guest.cloud.writes).toEqual([]);
    expect(owner.cloud.world.loadBalancers.size).toBe(1);
  });

  test('no policy of its namespace allows the group', async () => {
    const { guest, arn, join, runBoth, targets } = await twoClusters();
    setPods(guest, '10.0.101.8');
    guest.snapshot.upsert(configWith(policy({})));
    join();
    await guest.run(60);
    expect(resultOf(guest)?.reason).toMatchObject({ code: 'AwsNotAllowed', details: { refused: arn, key } });
    expect(guest.cloud.writes).toEqual([]);
    guest.snapshot.upsert(configWith(policy({ targetGroups: [arn] })));
    guest.restart();
    await runBoth(300);
    expect(targets()).toContain('10.0.101.8');
  });

  test('one of its ports has no group', async () => {
    const { guest, arn } = await twoClusters();
    guest.apply({ name: 'web', ports: ['http:80/TCP@30080', 'https:443/TCP@30443'], annotations: { [`${key}.80`]: arn } });
    await guest.run(60);
    const { reason } = resultOf(guest) ?? {};
    expect([reason && reasonText(reason), guest.cloud.writes]).toEqual([
      `annotation ${key}.443 is missing: port 443 has no target group, but other ports of the Service have one`,
      [],
    ]);
  });
});

test('a group that its owner stops sharing is not changed any more, also when the Service is deleted', async () => {
  const { guest, world, arn, targets, runBoth, join } = await twoClusters();
  setPods(guest, '10.0.101.8');
  join();
  await runBoth(300);
  world.tags.get(arn)?.delete('herald.dev/multi-cluster');
  guest.restart();
  setPods(guest, '10.0.101.9');
  await guest.run(600);
  expect(resultOf(guest)?.reason?.code).toBe('AwsTargetGroupUnusable');
  const all = ['10.0.100.5', '10.0.100.6', '10.0.101.8'];
  expect(targets()).toEqual(all);
  guest.delete('default/web');
  await guest.run(600);
  expect([targets(), guest.services.size]).toEqual([all, 0]);
  expect(guest.warnings).toMatchObject([{ service: 'default/web', targetGroup: arn, code: 'AwsTargetsLeft' }]);
});

test('a Service whose group was deleted by its owner says so, and can be deleted', async () => {
  const { owner, guest, world, arn, runBoth, join } = await twoClusters();
  setPods(guest, '10.0.101.8');
  join();
  await runBoth(300);
  owner.delete('default/web');
  await runBoth(900);
  expect([[...world.targetGroups.keys()], resultOf(guest)?.reason]).toMatchObject([
    [],
    { code: 'AwsTargetGroupUnusable', details: { group: arn } },
  ]);
  guest.delete('default/web');
  await guest.run(300);
  expect([guest.services.size, guest.warnings]).toEqual([0, []]);
});

describe('a record that an author of the Service has written', () => {
  const record = (arn: string): Record<string, string> => ({ [recordAnnotation]: JSON.stringify({ [arn]: ['10.0.100.5 8080'] }) });
  const unshare = ({ world, arn }: Awaited<ReturnType<typeof twoClusters>>): void =>
    void world.tags.get(arn)?.delete('herald.dev/multi-cluster');
  const refuse = ({ guest }: Awaited<ReturnType<typeof twoClusters>>): void => void guest.snapshot.upsert(configWith(policy({})));

  test.each([
    ['its owner does not share', unshare],
    ['no policy allows', refuse],
  ])('neither registers nor deregisters a target in a group that %s', async (_, prepare) => {
    const clusters = await twoClusters();
    const { guest, arn, targets, join } = clusters;
    setPods(guest, '10.0.101.8');
    prepare(clusters);
    join(record(arn));
    await guest.run(300);
    expect([guest.cloud.writes, targets()]).toEqual([[], ['10.0.100.5', '10.0.100.6']]);
    // It names another group, of which nothing is known, so it leaves this one.
    guest.apply({ name: 'web', ports, annotations: { [key]: arn.replace(/.$/, 'x'), ...record(arn) } });
    await guest.run(300);
    guest.delete('default/web');
    await guest.run(300);
    expect([guest.cloud.writes, targets(), guest.services.size]).toEqual([[], ['10.0.100.5', '10.0.100.6'], 0]);
  });

  test('is a warning of a Service that leaves the group', async () => {
    const clusters = await twoClusters();
    const { owner, guest, world, arn, runBoth, targets } = clusters;
    owner.apply({ name: 'api', ports: ['http:81/TCP@30081'], annotations: shared });
    await runBoth(600);
    const second = [...world.targetGroups.keys()].find((other) => other !== arn) ?? '';
    unshare(clusters);
    setPods(guest, '10.0.101.8');
    guest.apply({ name: 'web', ports, annotations: { [key]: second, ...record(arn) } });
    await runBoth(300);
    const [warning] = resultOf(guest)?.warnings ?? [];
    expect(warning && reasonText(warning)).toBe(
      `target group ${arn} is not shared by its owner: it has no tag herald.dev/multi-cluster, so 1 targets that the Service has recorded stay in it`,
    );
    expect(targets()).toEqual(['10.0.100.5', '10.0.100.6']);
    expect([...(world.targetGroups.get(second)?.targets.keys() ?? [])]).toEqual(['10.0.101.8 8080']);
  });
});
