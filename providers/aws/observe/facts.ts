import type { ReadOnlyCloud } from '../cloud.ts';
import type { Certificate } from '../cloud/acm.ts';
import type { RouteTable, Subnet } from '../cloud/ec2.ts';
import type { Facts, SubnetFact } from '../desire/facts.ts';
import type { AwsSettings } from '../settings.ts';
import { tagMap } from '../tags.ts';

/** Reads what is the same for all Services. */
export async function observeFacts(cloud: ReadOnlyCloud, { vpcId, certificateDiscovery }: AwsSettings): Promise<Facts> {
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
    certificates: certificateDiscovery ? await issuedCertificates(cloud) : [],
  };
}

export function subnetFact(subnet: Subnet, routeTables: readonly RouteTable[]): SubnetFact {
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

async function issuedCertificates(cloud: ReadOnlyCloud): Promise<Certificate[]> {
  const { CertificateSummaryList } = await cloud.call('acm:ListCertificates', {});
  const certificates: Certificate[] = [];
  for (const { CertificateArn } of CertificateSummaryList) {
    certificates.push((await cloud.call('acm:DescribeCertificate', { CertificateArn })).Certificate);
  }
  return certificates;
}
