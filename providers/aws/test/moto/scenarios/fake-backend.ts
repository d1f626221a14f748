import type { Account } from '../account.ts';
import { FakeCloud } from '../fake/cloud.ts';
import { populate, vpcId } from '../fake/world.ts';
import { onVirtualTime, type AwsBackend } from './scenario-fixture.ts';

/** The strict fake with the account that all its tests use. */
export function fakeBackend(): AwsBackend {
  const cloud = new FakeCloud();
  const { world } = cloud;
  populate(world);
  const subnets = (kind: string): string[] => [...world.subnets.keys()].filter((id) => id.startsWith(`subnet-${kind}`));
  const [web = '', other = ''] = world.certificates.keys();
  const account: Account = {
    vpcId,
    publicSubnets: subnets('public'),
    privateSubnets: subnets('private'),
    nodeGroup: 'sg-00000aaa',
    nodes: [...world.instances.values()].map(({ InstanceId, Placement }) => ({
      instance: InstanceId,
      zone: Placement.AvailabilityZone,
      address: '',
    })),
    certificates: { web, other, iam: 'arn:aws:iam::123456789012:server-certificate/mine' },
    elasticIps: [...world.allocations],
    logBucket: 'logs',
  };
  return { cloud, account, ...onVirtualTime(world.clock) };
}
