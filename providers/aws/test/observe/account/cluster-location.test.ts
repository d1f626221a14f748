import { describe, expect, test } from 'vitest';
import { regionOfNodes, regionOfZone, vpcOfNodes } from '../../../../../providers/aws/observe/account/cluster-location.ts';
import { metadata } from '../../../../../test/unit/decisions/fixtures.ts';
import { FakeCloud } from '../../moto/fake/cloud.ts';
import { populate, vpcId } from '../../moto/fake/world.ts';
import { node } from '../../support/stack-fixture.ts';

const cloud = new FakeCloud();
populate(cloud.world);

describe('the region and VPC of the cluster', () => {
  test.each([
    ['eu-west-1a', 'eu-west-1'],
    ['us-gov-west-1b', 'us-gov-west-1'],
    ['us-west-2-lax-1a', 'us-west-2'],
    ['us-east-1-wl1-bos-wlz-1', 'us-east-1'],
    ['nowhere', undefined],
  ])('zone %s belongs to region %s', (zone, region) => {
    expect(regionOfZone(zone)).toBe(region);
  });

  test('the region comes from the label of the first AWS node, else from its zone', () => {
    const elsewhere = node(0, { providerID: 'gce://x/y/z' });
    expect(regionOfNodes([elsewhere])).toBeUndefined();
    expect(regionOfNodes([elsewhere, node(1)])).toBe('us-east-1');
    const labelled = { metadata: metadata('n', '', { 'topology.kubernetes.io/region': 'eu-central-1' }) };
    expect(regionOfNodes([node(1, labelled)])).toBe('eu-central-1');
  });

  test('the VPC is that of the instances, also when some are terminated', async () => {
    expect(await vpcOfNodes(cloud, [node(9), node(1)])).toBe(vpcId);
  });

  test('an unknown or ambiguous VPC is an error', async () => {
    await expect(vpcOfNodes(cloud, [])).rejects.toMatchObject({
      code: 'place',
      message: 'which VPC? No Node has a spec.providerID of AWS',
    });
    await expect(vpcOfNodes(cloud, [node(9)])).rejects.toThrow('AWS knows no instance i-00000009');
    const [instance] = cloud.world.instances.values();
    if (instance === undefined) throw new Error('the account has no instance');
    cloud.world.instances.set('i-0000000f', { ...instance, InstanceId: 'i-0000000f', VpcId: 'vpc-2' });
    const other = node(7, { providerID: 'aws:///us-east-1a/i-0000000f' });
    await expect(vpcOfNodes(cloud, [node(0), other])).rejects.toThrow('The nodes are in vpc-1 and vpc-2');
  });
});
