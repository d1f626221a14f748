import { describe, expect, test } from 'vitest';
import { prefix } from '../../../../src/net/prefix.ts';
import type { EndpointSlice } from '../../../../src/model/objects/endpoint-slice.ts';
import { defaultConfig } from '../../../../src/model/kinds/default-config.ts';
import { awsConfig } from '../../../../providers/aws/tables/config/config.ts';
import { config, slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const nodeGroup = 'sg-00000aaa';
const payrollGroup = 'sg-00000bbb';
const payroll = '10.0.1.77';
const service = { name: 'web', ports: ['pg:5432/TCP@30432'], annotations: { 'nlb-target-type': 'ip', scheme: 'internet-facing' } };

/** A cluster whose VPC also has the database of another team, which no Pod of the cluster is. */
function fixture(): ProviderFixture {
  const one = new ProviderFixture({ comparesPods: true });
  const { world } = one.cloud;
  const group = { GroupId: payrollGroup, GroupName: 'payroll-db', Description: '', VpcId: 'vpc-1', IpPermissions: [], Tags: [] };
  world.securityGroups.set(payrollGroup, group);
  const interfaceOf = (id: string, group: string, PrivateIpAddress: string) => ({
    NetworkInterfaceId: id,
    VpcId: 'vpc-1',
    Groups: [{ GroupId: group }],
    PrivateIpAddresses: [{ PrivateIpAddress }],
    Ipv6Addresses: [],
  });
  world.podInterfaces.push(interfaceOf('eni-1', payrollGroup, payroll), interfaceOf('eni-2', nodeGroup, '10.0.1.5'));
  return one;
}

/** A slice with endpoints such as "10.0.1.5 web-1": an address, and the Pod that its targetRef names. */
function endpoints(...texts: string[]): EndpointSlice {
  const named = texts.map((text) => text.split(' '));
  const plain = slice({ service: 'default/web', ports: ['pg:5432'], endpoints: named.map(([address = '']) => `${address}@node-0`) });
  return {
    ...plain,
    endpoints: plain.endpoints.map((endpoint, index) => {
      const pod = named[index]?.[1];
      return pod === undefined ? endpoint : { ...endpoint, pod };
    }),
  };
}

const running = (...addresses: string[]) => ({ addresses, node: 'node-0', phase: 'Running' });

/** The addresses that were ever registered. */
function registered({ cloud }: ProviderFixture): string[] {
  return cloud.writes.flatMap(({ operation, input }) =>
    operation === 'elbv2:RegisterTargets' ? (input as { Targets: { Id: string }[] }).Targets.map(({ Id }) => Id) : [],
  );
}

const opened = ({ cloud }: ProviderFixture, group: string): number => cloud.world.securityGroups.get(group)?.IpPermissions.length ?? 0;

describe('targets of type ip in a cluster', () => {
  test.each([
    ['names no Pod', payroll, 'its targetRef names no Pod of its namespace'],
    ['names a Pod that does not exist', `${payroll} gone`, 'Pod gone does not exist'],
    ['names a Pod with another address', `${payroll} web-1`, 'Pod web-1 does not have this address'],
    ['names a Pod that has ended', `${payroll} done`, 'Pod done has ended'],
  ])('an endpoint that %s is not registered, and no security group is opened for it', async (_, text, why) => {
    const one = fixture();
    one.pods.set('default/web-1', running('10.0.1.5'));
    one.pods.set('default/done', { ...running(payroll), phase: 'Succeeded' });
    one.snapshot.upsert(endpoints(text, '10.0.1.5 web-1'));
    const key = one.apply(service);
    await one.run(600);
    expect(registered(one)).toEqual(['10.0.1.5']);
    expect([opened(one, payrollGroup), opened(one, nodeGroup)]).toEqual([0, 1]);
    expect(one.results.get(key)?.warnings).toMatchObject([
      { code: 'AwsTargetRefused', details: { slice: 'default/web-1', address: payroll, others: 0, why } },
    ]);
  });

  test('an endpoint with the address of a node is not registered', async () => {
    const one = fixture();
    one.snapshot.upsert(endpoints('10.0.0.10'));
    const key = one.apply(service);
    await one.run(600);
    expect([registered(one), opened(one, nodeGroup)]).toEqual([[], 0]);
    expect(one.results.get(key)?.warnings?.map(({ code }) => code)).toEqual(['AwsTargetRefused', 'AwsNoTargets']);
  });

  test('one reason names a slice with several refused endpoints', async () => {
    const one = fixture();
    one.snapshot.upsert(endpoints(payroll, '10.0.1.78', '10.0.1.79'));
    const key = one.apply(service);
    await one.run(30);
    expect(one.results.get(key)?.warnings).toMatchObject([{ details: { address: payroll, others: 2 } }, { code: 'AwsNoTargets' }]);
  });

  test('a target that was registered and is no pod is removed, and its security group is closed', async () => {
    const one = fixture();
    // The group has no tag of the cluster, so this needs a policy without the name of the cluster.
    one.connected = one.cloud;
    one.restart();
    one.pods.set('default/db', running(payroll));
    one.snapshot.upsert(endpoints(`${payroll} db`));
    one.apply(service);
    await one.run(600);
    expect([registered(one), opened(one, payrollGroup)]).toEqual([[payroll], 1]);
    one.pods.delete('default/db');
    await one.run(1800);
    const groups = [...one.cloud.world.targetGroups.values()];
    expect(groups.flatMap(({ targets }) => [...targets.keys()])).toEqual([]);
    expect(opened(one, payrollGroup)).toBe(0);
  });

  test('the last targets stay while their Pods have their addresses, when the selector matches nothing any more', async () => {
    const one = fixture();
    for (const [name, address] of [
      ['web-1', '10.0.1.5'],
      ['web-2', '10.0.1.6'],
      ['web-3', '10.0.1.7'],
    ] as const)
      one.pods.set(`default/${name}`, running(address));
    one.snapshot.upsert(endpoints('10.0.1.5 web-1', '10.0.1.6 web-2', '10.0.1.7 web-3'));
    const key = one.apply(service);
    await one.run(300);
    const present = (): string[] =>
      [...one.cloud.world.targetGroups.values()].flatMap(({ targets }) =>
        [...targets.values()].flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [target.Id] : [])),
      );
    one.snapshot.upsert(endpoints());
    one.provider.affected([{ kind: 'EndpointSlice', key: 'default/web-1', services: [key] }], one.snapshot);
    await one.run(120);
    expect(present()).toEqual(['10.0.1.5', '10.0.1.6', '10.0.1.7']);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsLastTargets', details: { of: 'pod', all: true } }]);
    // One Pod is gone, and one is anew with another address: other Pods may get those.
    one.pods.delete('default/web-1');
    one.pods.set('default/web-2', running('10.0.1.9'));
    await one.run(120);
    expect(present()).toEqual(['10.0.1.7']);
    await one.run(3600);
    expect(present()).toEqual([]);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsNoTargets' }]);
  });

  test('HeraldConfig allows an address that is no pod, whose security group needs the tag of the cluster', async () => {
    const one = fixture();
    one.snapshot.upsert(
      config({ defaultClass: false, parts: { aws: { ...awsConfig.of(defaultConfig), targetCIDRs: [prefix(`${payroll}/32`)] } } }),
    );
    one.snapshot.upsert(endpoints(payroll));
    const key = one.apply(service);
    await one.run(600);
    expect([registered(one), opened(one, payrollGroup)]).toEqual([[payroll], 0]);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsNodesUnreachable', details: { instance: payroll, groups: 1 } }]);
    one.cloud.world.setTags(payrollGroup, [{ Key: 'kubernetes.io/cluster/test', Value: 'shared' }]);
    await one.run(900);
    expect([opened(one, payrollGroup), one.results.get(key)?.warnings]).toEqual([1, []]);
  });

  test('a target is removed when HeraldConfig no longer allows its address', async () => {
    const one = fixture();
    one.snapshot.upsert(
      config({ defaultClass: false, parts: { aws: { ...awsConfig.of(defaultConfig), targetCIDRs: [prefix(`${payroll}/32`)] } } }),
    );
    one.snapshot.upsert(endpoints(payroll));
    const key = one.apply(service);
    one.cloud.world.setTags(payrollGroup, [{ Key: 'kubernetes.io/cluster/test', Value: 'shared' }]);
    await one.run(900);
    const changes = [{ kind: 'HeraldConfig', key: 'default' }] as const;
    expect([...one.provider.affected(changes, one.snapshot)]).toEqual([key]);
    one.snapshot.upsert(
      config({
        defaultClass: false,
        sourceRangesEverywhere: true,
        parts: { aws: { ...awsConfig.of(defaultConfig), targetCIDRs: [prefix(`${payroll}/32`)] } },
      }),
    );
    expect([...one.provider.affected(changes, one.snapshot)]).toEqual([]);
    one.snapshot.upsert(config({ defaultClass: false }));
    expect([...one.provider.affected(changes, one.snapshot)]).toEqual([key]);
    await one.run(30);
    const targets = [...one.cloud.world.targetGroups.values()].flatMap((group) => [...group.targets.values()]);
    expect(targets.map(({ drainingSince }) => drainingSince)).toEqual([expect.any(Number)]);
  });

  test('pods that cannot be read change no target', async () => {
    const one = fixture();
    one.pods.set('default/web-1', running('10.0.1.5'));
    one.snapshot.upsert(endpoints('10.0.1.5 web-1'));
    const key = one.apply(service);
    await one.run(600);
    one.pods.set('default/web-1', Object.assign(new Error('forbidden'), { code: 'forbidden' }));
    const before = one.cloud.writes.length;
    await one.run(1800);
    expect(one.cloud.writes.slice(before)).toEqual([]);
    expect(one.results.get(key)).toMatchObject({ reason: { code: 'AwsPodsUnreadable' }, ingress: [{ hostname: expect.any(String) }] });
    one.pods.set('default/web-1', running('10.0.1.5'));
    await one.run(300);
    expect(one.results.get(key)?.reason).toBeUndefined();
  });

  test('each pod is read once while it stays, and no Pod is read for instance targets', async () => {
    const one = fixture();
    const addresses = Array.from({ length: 30 }, (_, index) => `10.0.1.${index + 100}`);
    for (const [index, text] of addresses.entries()) one.pods.set(`default/web-${index}`, running(text));
    one.snapshot.upsert(endpoints(...addresses.map((text, index) => `${text} web-${index}`)));
    one.apply(service);
    one.apply({ name: 'nodes', ports: ['http:80/TCP@30080'] });
    await one.run(200);
    expect(one.podReads).toHaveLength(30);
    expect(new Set(one.podReads).size).toBe(30);
    expect(registered(one).filter((id) => !id.startsWith('i-'))).toHaveLength(30);
  });

  test('a directory has no Pods, so every endpoint is a target', async () => {
    const one = new ProviderFixture();
    one.snapshot.upsert(endpoints(payroll));
    one.apply(service);
    await one.run(60);
    expect(registered(one)).toEqual([payroll]);
  });
});
