import { describe, expect, test } from 'vitest';
import type { NetworkInterface } from '../../../../providers/aws/cloud/ec2.ts';
import type { EndpointSlice } from '../../../../src/model/objects/endpoint-slice.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const nodeGroup = 'sg-00000aaa';
const podGroup = 'sg-00000ddd';
const web = { name: 'web', ports: ['http:80/TCP@30080'], annotations: { 'nlb-target-type': 'ip' } };

function fixture(...slices: EndpointSlice[]): ProviderFixture {
  const fixture = new ProviderFixture();
  const { world } = fixture.cloud;
  world.securityGroups.set(podGroup, {
    GroupId: podGroup,
    GroupName: 'pods',
    Description: '',
    VpcId: 'vpc-1',
    IpPermissions: [],
    Tags: [],
  });
  // Without the tag the IAM policy of the cluster does not reach the group.
  world.setTags(podGroup, [{ Key: 'kubernetes.io/cluster/test', Value: 'shared' }]);
  for (const one of slices) fixture.snapshot.upsert(one);
  return fixture;
}

function networkInterface(id: number, groups: readonly string[], addresses: readonly string[], VpcId = 'vpc-1'): NetworkInterface {
  return {
    NetworkInterfaceId: `eni-${id}`,
    VpcId,
    Groups: groups.map((GroupId) => ({ GroupId })),
    PrivateIpAddresses: addresses.filter((one) => !one.includes(':')).map((PrivateIpAddress) => ({ PrivateIpAddress })),
    Ipv6Addresses: addresses.filter((one) => one.includes(':')).map((Ipv6Address) => ({ Ipv6Address })),
  };
}

const rulesOf = ({ cloud }: ProviderFixture, group: string): string[] =>
  (cloud.world.securityGroups.get(group)?.IpPermissions ?? []).map(
    ({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`,
  );

const slices = (...endpoints: string[]): EndpointSlice => slice({ service: 'default/web', ports: ['http:8080'], endpoints });

describe('node rules for pod targets', () => {
  test("a rule goes to the security group of the network interface with the pod's address", async () => {
    const one = fixture(slices('10.0.1.5@node-0'));
    // Another VPC has the same address.
    one.cloud.world.podInterfaces.push(
      networkInterface(1, ['sg-0000ffff'], ['10.0.1.5'], 'vpc-2'),
      networkInterface(2, [podGroup], ['10.0.1.9', '10.0.1.5']),
    );
    const key = one.apply(web);
    await one.run(300);
    expect([rulesOf(one, podGroup), rulesOf(one, nodeGroup)]).toEqual([['tcp 8080-8080'], []]);
    expect(one.results.get(key)?.warnings).toEqual([]);
    one.delete(key);
    await one.run(300);
    expect(rulesOf(one, podGroup)).toEqual([]);
  });

  test('a rule goes to the security group of the interface with an IPv6 pod address', async () => {
    const one = fixture(slices('2001:db8:0:1::5@node-0'));
    one.cloud.world.podInterfaces.push(networkInterface(1, [podGroup], ['2001:db8:0:1::5']));
    one.apply({ ...web, ipFamilies: [6] });
    await one.run(300);
    expect(rulesOf(one, podGroup)).toEqual(['tcp 8080-8080']);
  });

  test('pods whose address is on no interface get the rule of their node', async () => {
    const one = fixture(slices('10.0.1.5@node-0', '10.0.1.6@node-1'));
    one.cloud.world.podInterfaces.push(networkInterface(1, [podGroup], ['10.0.1.6']));
    one.apply(web);
    await one.run(300);
    expect([rulesOf(one, podGroup), rulesOf(one, nodeGroup)]).toEqual([['tcp 8080-8080'], ['tcp 8080-8080']]);
  });

  test('pods without a clear security group are reported', async () => {
    const one = fixture(slices('10.0.1.5@node-0'));
    one.cloud.world.tags.get(podGroup)?.clear();
    one.cloud.world.podInterfaces.push(networkInterface(1, [podGroup, 'sg-0000fff1'], ['10.0.1.5']));
    const key = one.apply(web);
    await one.run(300);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsNodesUnreachable', details: { instance: '10.0.1.5', groups: 2 } }]);
  });

  test('a preview shows the rules for pods', async () => {
    const one = fixture(slices('10.0.1.5@node-0'));
    one.cloud.world.podInterfaces.push(networkInterface(1, [podGroup], ['10.0.1.5']));
    const key = one.apply(web);
    const { actions } = await one.provider.preview(key, one.snapshot);
    expect(actions.at(-1)).toMatchObject({ operation: 'ec2:AuthorizeSecurityGroupIngress', input: { GroupId: podGroup } });
  });

  test('a directory opens no untagged group of an interface, because any address may be written into an EndpointSlice', async () => {
    const database = 'sg-00000bbb';
    const one = fixture(slices('10.0.1.77@node-0', '10.0.1.5@node-0', '10.0.1.6@node-1'));
    const { world } = one.cloud;
    const group = { GroupId: database, GroupName: 'payroll-db', Description: '', VpcId: 'vpc-1', IpPermissions: [], Tags: [] };
    world.securityGroups.set(database, group);
    world.podInterfaces.push(networkInterface(1, [database], ['10.0.1.77']), networkInterface(2, [podGroup], ['10.0.1.5']));
    const key = one.apply(web);
    await one.run(300);
    expect(JSON.stringify(one.cloud.writes)).not.toContain(database);
    expect([rulesOf(one, database), rulesOf(one, podGroup), rulesOf(one, nodeGroup)]).toEqual([[], ['tcp 8080-8080'], ['tcp 8080-8080']]);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsNodesUnreachable', details: { instance: '10.0.1.77', groups: 1 } }]);
  });

  test('a directory opens no untagged group of an interface with an IPv6 address', async () => {
    const one = fixture(slices('2001:db8:0:1::77@node-0'));
    one.cloud.world.tags.get(podGroup)?.clear();
    one.cloud.world.podInterfaces.push(networkInterface(1, [podGroup], ['2001:db8:0:1::77']));
    const key = one.apply({ ...web, ipFamilies: [6] });
    await one.run(300);
    expect(rulesOf(one, podGroup)).toEqual([]);
    expect(one.results.get(key)?.warnings).toMatchObject([{ code: 'AwsNodesUnreachable', details: { groups: 1 } }]);
  });
});
