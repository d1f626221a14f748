import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import type { Certificate } from '../../cloud/acm.ts';
import type { RouteTable, Subnet } from '../../cloud/ec2.ts';
import type { Facts, SubnetFact } from '../../model/facts.ts';
import type { AwsSettings } from '../../model/settings.ts';
import { tagMap } from '../../model/tags.ts';
import { unlessMissing } from '../tolerate-missing.ts';

/** Reads the facts that all Services share, except certificates. */
export async function observeFacts(cloud: ReadOnlyCloud, { vpcId }: AwsSettings): Promise<Omit<Facts, 'certificates'>> {
  const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
  const { Vpcs } = await cloud.call('ec2:DescribeVpcs', { VpcIds: [vpcId] });
  const { Subnets } = await cloud.call('ec2:DescribeSubnets', { Filters });
  const { RouteTables } = await cloud.call('ec2:DescribeRouteTables', { Filters });
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters });
  return {
    vpcCidrs: Vpcs.flatMap((vpc) => [
      ...vpc.CidrBlockAssociationSet.map(({ CidrBlock }) => CidrBlock),
      ...vpc.Ipv6CidrBlockAssociationSet.map(({ Ipv6CidrBlock }) => Ipv6CidrBlock),
    ]),
    subnets: Subnets.map((subnet) => subnetFact(subnet, RouteTables)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    securityGroups: SecurityGroups.map(({ GroupId, Tags }) => ({ id: GroupId, tags: tagMap(Tags) })),
  };
}

function subnetFact(subnet: Subnet, routeTables: readonly RouteTable[]): SubnetFact {
  const own = routeTables.find(({ Associations }) => Associations.some(({ SubnetId }) => SubnetId === subnet.SubnetId));
  const table = own ?? routeTables.find(({ Associations }) => Associations.some(({ Main }) => Main));
  const [ipv6] = subnet.Ipv6CidrBlockAssociationSet;
  return {
    id: subnet.SubnetId,
    zone: subnet.AvailabilityZone,
    cidr: subnet.CidrBlock,
    ...(ipv6 === undefined ? {} : { ipv6Cidr: ipv6.Ipv6CidrBlock }),
    availableAddresses: subnet.AvailableIpAddressCount,
    tags: tagMap(subnet.Tags),
    public: (table?.Routes ?? []).some(({ GatewayId = '' }) => GatewayId.startsWith('igw')),
  };
}

/** Reads all issued certificates. Their host names do not change, so `described` caches them by ARN. */
export async function observeCertificates(cloud: ReadOnlyCloud, described = new Map<string, Certificate>()): Promise<Certificate[]> {
  const { CertificateSummaryList } = await cloud.call('acm:ListCertificates', {});
  const arns = new Set(CertificateSummaryList.map(({ CertificateArn }) => CertificateArn));
  for (const arn of described.keys()) if (!arns.has(arn)) described.delete(arn);
  for (const CertificateArn of arns) {
    if (described.has(CertificateArn)) continue;
    // It may be deleted after it was listed.
    const found = await unlessMissing(async () => [await cloud.call('acm:DescribeCertificate', { CertificateArn })]);
    for (const { Certificate } of found) described.set(CertificateArn, Certificate);
  }
  return [...described.values()];
}
