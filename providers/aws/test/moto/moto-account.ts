import { ACMClient, ImportCertificateCommand } from '@aws-sdk/client-acm';
import {
  AllocateAddressCommand,
  AssociateRouteTableCommand,
  AttachInternetGatewayCommand,
  CreateInternetGatewayCommand,
  CreateRouteCommand,
  CreateRouteTableCommand,
  CreateSecurityGroupCommand,
  CreateSubnetCommand,
  CreateTagsCommand,
  CreateVpcCommand,
  EC2Client,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import { clusterName, credentials, region, type Account } from './account.ts';
import { otherCertificate, webCertificate, type TestCertificate } from './certificates.ts';
import type { Moto } from './moto.ts';

/** Creates an account with `clusterName` in moto. */
export async function makeAccount(moto: Moto): Promise<Account> {
  const client = new EC2Client({ region, endpoint: moto.endpoint, credentials });
  const vpcId = known((await client.send(new CreateVpcCommand({ CidrBlock: '10.0.0.0/16' }))).Vpc?.VpcId);
  const zones = ['us-east-1a', 'us-east-1b'];
  const publicSubnets: string[] = [];
  const privateSubnets: string[] = [];
  for (const [index, zone] of zones.entries()) {
    publicSubnets.push(await makeSubnet(client, vpcId, zone, `10.0.${index}.0/24`, 'kubernetes.io/role/elb'));
    privateSubnets.push(await makeSubnet(client, vpcId, zone, `10.0.${index + 10}.0/24`, 'kubernetes.io/role/internal-elb'));
  }
  await openToTheInternet(client, vpcId, publicSubnets);
  const nodeGroup = await makeNodeGroup(client, vpcId);
  const nodes: { instance: string; zone: string; address: string }[] = [];
  for (const [index, zone] of [...zones, 'us-east-1a'].entries()) {
    const subnet = privateSubnets[index % zones.length] ?? '';
    nodes.push({ ...(await runInstance(client, subnet, nodeGroup)), zone });
  }
  const elasticIps: string[] = [];
  for (const _ of publicSubnets) elasticIps.push(known((await client.send(new AllocateAddressCommand({ Domain: 'vpc' }))).AllocationId));
  const certificates = {
    web: await importCertificate(moto, webCertificate),
    other: await importCertificate(moto, otherCertificate),
    iam: await uploadServerCertificate(moto, 'mine', webCertificate),
  };
  return { vpcId, publicSubnets, privateSubnets, nodeGroup, nodes, certificates, elasticIps, logBucket: 'logs' };
}

async function makeSubnet(client: EC2Client, VpcId: string, AvailabilityZone: string, CidrBlock: string, role: string): Promise<string> {
  const { Subnet } = await client.send(new CreateSubnetCommand({ VpcId, AvailabilityZone, CidrBlock }));
  const id = known(Subnet?.SubnetId);
  const Tags = [
    { Key: role, Value: '1' },
    { Key: `kubernetes.io/cluster/${clusterName}`, Value: 'shared' },
  ];
  await client.send(new CreateTagsCommand({ Resources: [id], Tags }));
  return id;
}

async function openToTheInternet(client: EC2Client, VpcId: string, subnets: readonly string[]): Promise<void> {
  const { InternetGateway } = await client.send(new CreateInternetGatewayCommand({}));
  const GatewayId = known(InternetGateway?.InternetGatewayId);
  await client.send(new AttachInternetGatewayCommand({ InternetGatewayId: GatewayId, VpcId }));
  const { RouteTable } = await client.send(new CreateRouteTableCommand({ VpcId }));
  const RouteTableId = known(RouteTable?.RouteTableId);
  await client.send(new CreateRouteCommand({ RouteTableId, DestinationCidrBlock: '0.0.0.0/0', GatewayId }));
  for (const SubnetId of subnets) await client.send(new AssociateRouteTableCommand({ RouteTableId, SubnetId }));
}

async function makeNodeGroup(client: EC2Client, VpcId: string): Promise<string> {
  const { GroupId } = await client.send(new CreateSecurityGroupCommand({ VpcId, GroupName: 'nodes', Description: 'nodes of the cluster' }));
  const Tags = [{ Key: `kubernetes.io/cluster/${clusterName}`, Value: 'owned' }];
  await client.send(new CreateTagsCommand({ Resources: [known(GroupId)], Tags }));
  return known(GroupId);
}

async function runInstance(client: EC2Client, SubnetId: string, group: string): Promise<{ instance: string; address: string }> {
  const { Instances } = await client.send(
    new RunInstancesCommand({ ImageId: 'ami-12c6146b', MinCount: 1, MaxCount: 1, SubnetId, SecurityGroupIds: [group] }),
  );
  return { instance: known(Instances?.[0]?.InstanceId), address: known(Instances?.[0]?.PrivateIpAddress) };
}

async function importCertificate(moto: Moto, { certificate, privateKey }: TestCertificate): Promise<string> {
  const client = new ACMClient({ region, endpoint: moto.endpoint, credentials });
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const input = { Certificate: bytes(certificate), PrivateKey: bytes(privateKey) };
  return known((await client.send(new ImportCertificateCommand(input))).CertificateArn);
}

/** Sends the IAM request directly, because one call does not justify an IAM client. */
async function uploadServerCertificate(moto: Moto, name: string, { certificate, privateKey }: TestCertificate): Promise<string> {
  const answer = await moto.query('iam', {
    Action: 'UploadServerCertificate',
    Version: '2010-05-08',
    ServerCertificateName: name,
    CertificateBody: certificate,
    PrivateKey: privateKey,
  });
  return known(/<Arn>([^<]+)<\/Arn>/.exec(answer)?.[1]);
}

function known(value: string | undefined): string {
  if (value === undefined) throw new Error('the emulator did not say what it has made');
  return value;
}
