import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import * as sdk from '@aws-sdk/client-ec2';
import { HttpResponse, type HttpRequest } from '@smithy/core/protocols';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../../../../scripts/source-files.ts';
import { ec2Client } from '../../../../providers/aws/sdk/ec2-client/client.ts';
import { ec2Commands } from '../../../../providers/aws/sdk/ec2-client/commands.ts';
import { operations, type Ec2Operation } from '../../../../providers/aws/sdk/ec2-client/operations.ts';
import { ec2 } from '../../../../providers/aws/sdk/ec2.ts';
import { ec2Model } from '../../../../scripts/generate/ec2-model.ts';

const root = join(import.meta.dirname, '../../../..');
const folder = 'providers/aws/sdk/ec2-client';
const filters = { Filters: [{ Name: 'tag:herald.dev/cluster', Values: ['a & b', 'c'] }], MaxResults: 400, NextToken: 'n' };
const ipPermissions = [
  {
    IpProtocol: 'tcp',
    FromPort: 80,
    ToPort: 81,
    IpRanges: [{ CidrIp: '192.0.2.0/24', Description: 'ä' }, { CidrIp: '198.51.100.0/24' }],
    Ipv6Ranges: [{ CidrIpv6: '2001:db8::/32' }],
    PrefixListIds: [{ PrefixListId: 'pl-1' }],
    UserIdGroupPairs: [{ GroupId: 'sg-2' }],
  },
];
const tags = [{ Key: 'herald.dev/cluster', Value: 'a' }];

/** One input of each operation. */
const inputs: Readonly<Record<Ec2Operation, object>> = {
  AuthorizeSecurityGroupIngress: { GroupId: 'sg-1', IpPermissions: ipPermissions },
  CreateSecurityGroup: {
    GroupName: 'a',
    Description: 'b',
    VpcId: 'vpc-1',
    TagSpecifications: [{ ResourceType: 'security-group', Tags: tags }],
  },
  CreateTags: { Resources: ['sg-1', 'sg-2'], Tags: tags },
  DeleteSecurityGroup: { GroupId: 'sg-1' },
  DeleteTags: { Resources: ['sg-1'], Tags: [{ Key: 'a' }] },
  DescribeAddresses: filters,
  DescribeInstances: filters,
  DescribeNetworkInterfaces: filters,
  DescribeRouteTables: filters,
  DescribeSecurityGroups: { GroupIds: ['sg-1', 'sg-2'], ...filters },
  DescribeSubnets: filters,
  CreateVpcEndpointServiceConfiguration: {
    NetworkLoadBalancerArns: ['arn:1'],
    AcceptanceRequired: true,
    PrivateDnsName: 'shop.example.com',
    SupportedIpAddressTypes: ['ipv4'],
    TagSpecifications: [{ ResourceType: 'vpc-endpoint-service', Tags: tags }],
  },
  DeleteVpcEndpointServiceConfigurations: { ServiceIds: ['vpce-svc-1'] },
  DescribeVpcEndpointConnections: filters,
  DescribeVpcEndpointServiceConfigurations: filters,
  DescribeVpcEndpointServicePermissions: { ServiceId: 'vpce-svc-1', MaxResults: 400 },
  DescribeVpcs: { VpcIds: ['vpc-1'] },
  ModifyVpcEndpointServiceConfiguration: {
    ServiceId: 'vpce-svc-1',
    AcceptanceRequired: false,
    RemovePrivateDnsName: true,
    AddNetworkLoadBalancerArns: ['arn:1'],
    RemoveSupportedIpAddressTypes: ['ipv6'],
  },
  ModifyVpcEndpointServicePermissions: { ServiceId: 'vpce-svc-1', AddAllowedPrincipals: ['*'], RemoveAllowedPrincipals: ['arn:2'] },
  RevokeSecurityGroupIngress: { GroupId: 'sg-1', IpPermissions: ipPermissions },
};

const tagSet = '<tagSet><item><key>a</key><value>b</value></item><item><key>c</key><value/></item></tagSet>';
const groupSet = '<groupSet><item><groupId>sg-1</groupId><groupName>n</groupName></item></groupSet>';

/** The content of one answer of each operation. */
const answers: Readonly<Record<Ec2Operation, string>> = {
  AuthorizeSecurityGroupIngress: '<return>true</return>',
  CreateSecurityGroup: `<groupId>sg-1</groupId>${tagSet}`,
  CreateTags: '<return>true</return>',
  DeleteSecurityGroup: '<return>true</return>',
  DeleteTags: '<return>true</return>',
  DescribeAddresses: `<addressesSet><item><allocationId>e-1</allocationId><networkInterfaceId>eni-1</networkInterfaceId>${tagSet}</item></addressesSet>`,
  DescribeInstances: `<reservationSet><item>${groupSet}<instancesSet><item><instanceId>i-1</instanceId><vpcId>vpc-1</vpcId><launchTime>2026-11-23T10:00:00.000Z</launchTime><instanceState><code>16</code><name>running</name></instanceState><placement><availabilityZone>z</availabilityZone></placement>${groupSet}${tagSet}</item></instancesSet></item></reservationSet><nextToken>n</nextToken>`,
  DescribeNetworkInterfaces: `<networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId><vpcId>vpc-1</vpcId>${groupSet}<privateIpAddressesSet><item><privateIpAddress>10.0.0.1</privateIpAddress><primary>true</primary></item></privateIpAddressesSet><ipv6AddressesSet><item><ipv6Address>2001:db8::1</ipv6Address></item></ipv6AddressesSet>${tagSet}</item></networkInterfaceSet>`,
  DescribeRouteTables: `<routeTableSet><item><routeTableId>rtb-1</routeTableId><vpcId>vpc-1</vpcId><routeSet><item><destinationCidrBlock>0.0.0.0/0</destinationCidrBlock><gatewayId>igw-1</gatewayId></item></routeSet><associationSet><item><main>true</main></item><item><subnetId>s-1</subnetId><main>false</main></item></associationSet></item></routeTableSet>`,
  DescribeSecurityGroups: `<securityGroupInfo><item><groupId>sg-1</groupId><groupName>n</groupName><groupDescription>d</groupDescription><vpcId>vpc-1</vpcId><ipPermissions><item><ipProtocol>tcp</ipProtocol><fromPort>80</fromPort><toPort>80</toPort><groups><item><groupId>sg-2</groupId></item></groups><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp><description>x</description></item></ipRanges><ipv6Ranges/><prefixListIds/></item></ipPermissions>${tagSet}</item></securityGroupInfo>`,
  DescribeSubnets: `<subnetSet><item><subnetId>s-1</subnetId><vpcId>vpc-1</vpcId><availabilityZone>z</availabilityZone><cidrBlock>10.0.0.0/24</cidrBlock><availableIpAddressCount>7</availableIpAddressCount><ipv6CidrBlockAssociationSet><item><ipv6CidrBlock>2001:db8::/64</ipv6CidrBlock><ipv6CidrBlockState><state>associated</state></ipv6CidrBlockState></item></ipv6CidrBlockAssociationSet>${tagSet}</item></subnetSet>`,
  DescribeVpcs: `<vpcSet><item><vpcId>vpc-1</vpcId><cidrBlockAssociationSet><item><cidrBlock>10.0.0.0/16</cidrBlock></item></cidrBlockAssociationSet><ipv6CidrBlockAssociationSet><item><ipv6CidrBlock>2001:db8::/56</ipv6CidrBlock><ipv6CidrBlockState><state>associated</state></ipv6CidrBlockState></item></ipv6CidrBlockAssociationSet><isDefault>false</isDefault></item></vpcSet>`,
  CreateVpcEndpointServiceConfiguration: `<serviceConfiguration><serviceId>vpce-svc-1</serviceId><serviceName>s</serviceName>${tagSet}</serviceConfiguration>`,
  DeleteVpcEndpointServiceConfigurations: `<unsuccessful><item><resourceId>vpce-svc-1</resourceId><error><code>ExistingVpcEndpointConnections</code><message>m</message></error></item></unsuccessful>`,
  DescribeVpcEndpointConnections: `<vpcEndpointConnectionSet><item><serviceId>vpce-svc-1</serviceId><vpcEndpointId>vpce-1</vpcEndpointId><vpcEndpointOwner>1</vpcEndpointOwner><vpcEndpointState>available</vpcEndpointState></item></vpcEndpointConnectionSet>`,
  DescribeVpcEndpointServiceConfigurations: `<serviceConfigurationSet><item><serviceId>vpce-svc-1</serviceId><serviceName>s</serviceName><serviceState>Available</serviceState><acceptanceRequired>true</acceptanceRequired><networkLoadBalancerArnSet><item>arn:1</item></networkLoadBalancerArnSet><supportedIpAddressTypeSet><item>ipv4</item></supportedIpAddressTypeSet><privateDnsName>d</privateDnsName><privateDnsNameConfiguration><state>pendingVerification</state><type>TXT</type><value>v</value><name>n</name></privateDnsNameConfiguration>${tagSet}</item></serviceConfigurationSet><nextToken>n</nextToken>`,
  DescribeVpcEndpointServicePermissions: `<allowedPrincipals><item><principalType>Account</principalType><principal>arn:3</principal></item></allowedPrincipals><nextToken>n</nextToken>`,
  ModifyVpcEndpointServiceConfiguration: '<return>true</return>',
  ModifyVpcEndpointServicePermissions: '<return>true</return>',
  RevokeSecurityGroupIngress: '<return>true</return>',
};

interface Sender {
  send(command: never): Promise<unknown>;
}

interface Exchange {
  readonly request: object;
  readonly outcome: unknown;
}

/** Sends the command with a client that a function makes, to a server that answers as told. */
async function exchange(
  make: (configuration: object) => Sender,
  command: object,
  { statusCode, body }: { readonly statusCode: number; readonly body: string },
  where: object = { region: 'eu-west-1' },
): Promise<Exchange> {
  let sent: object = {};
  const requestHandler = {
    handle: async (request: HttpRequest) => {
      const { method, protocol, hostname, port, path, query, body: content } = request;
      const { authorization = '', 'x-amz-user-agent': _, 'user-agent': agent = '', ...others } = request.headers;
      const headers = Object.fromEntries(Object.entries(others).filter(([name]) => !/date|invocation-id|sha256/.test(name)));
      // The signature depends on the time.
      const [signed] = authorization.split(', Signature=');
      const api = /api\/\w+/.exec(agent)?.[0];
      sent = { method, protocol, hostname, port, path, query, content, headers, signed, api };
      const answer = Readable.from([Buffer.from(body)]);
      return { response: new HttpResponse({ statusCode, headers: { 'x-amzn-requestid': 'r-1' }, body: answer }) };
    },
    destroy: () => undefined,
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const client = make({ maxAttempts: 1, credentials, requestHandler, ...where });
  const outcome = await client.send(command as never).catch((error: unknown) => {
    const { name, message, Code, $metadata } = error as Error & { Code: unknown; $metadata: unknown };
    return { name, message, Code, $metadata };
  });
  return { request: sent, outcome };
}

const own = (configuration: object): Sender => ec2Client(configuration);
const ofSdk = (configuration: object): Sender => new sdk.EC2Client(configuration);

function both(operation: Ec2Operation): readonly [own: object, ofSdk: object] {
  const name = `${operation}Command` as const;
  type Constructor = new (input: object) => object;
  const [ownCommand, sdkCommand] = [Reflect.get(ec2Commands, name) as Constructor, Reflect.get(sdk, name) as Constructor];
  return [new ownCommand(inputs[operation]), new sdkCommand(inputs[operation])];
}

describe("Herald's client of EC2", () => {
  test('its model is what npm run generate writes', async () => {
    expect(readFileSync(join(root, folder, 'model.json'), 'utf8')).toBe(await ec2Model());
  });

  test('it has the operations that Herald uses, and no other', () => {
    expect([...operations].toSorted()).toEqual(Object.keys(ec2).toSorted());
    expect(Object.keys(ec2Commands).toSorted()).toEqual(operations.map((operation) => `${operation}Command`).toSorted());
  });

  test("Herald imports only types from the SDK's client, which takes 70 MB", () => {
    const loads = (file: string): boolean =>
      /^import (?!type )[^;]*from '@aws-sdk\/client-ec2'/m.test(readFileSync(join(root, file), 'utf8'));
    expect(sourceFiles().filter(loads)).toEqual([]);
    expect(loads('providers/aws/test/sdk/ec2-client.test.ts')).toBe(true);
  });

  test.each(operations)("%s is sent and its answer read as by the SDK's client", async (operation) => {
    const [ownCommand, sdkCommand] = both(operation);
    const body = `<${operation}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>${answers[operation]}</${operation}Response>`;
    const wanted = await exchange(ofSdk, sdkCommand, { statusCode: 200, body });
    expect(wanted.request).toMatchObject({ hostname: 'ec2.eu-west-1.amazonaws.com', signed: expect.stringContaining('/ec2/') as string });
    expect(await exchange(own, ownCommand, { statusCode: 200, body })).toEqual(wanted);
  });

  test.each([400, 503])("a refusal with status %i is read as by the SDK's client", async (statusCode) => {
    const [ownCommand, sdkCommand] = both('DescribeVpcs');
    const body =
      '<Response><Errors><Error><Code>InvalidVpcID.NotFound</Code><Message>no</Message></Error></Errors><RequestID>r</RequestID></Response>';
    const wanted = await exchange(ofSdk, sdkCommand, { statusCode, body });
    expect(wanted.outcome).toMatchObject({ name: 'InvalidVpcID.NotFound', message: 'no', Code: 'InvalidVpcID.NotFound' });
    expect(await exchange(own, ownCommand, { statusCode, body })).toEqual(wanted);
  });

  const regions = ['us-east-1', 'eu-central-1', 'us-gov-west-1', 'cn-north-1', 'us-iso-east-1', 'eusc-de-east-1', 'unknown-1'];
  const flags = [false, true].flatMap((useFipsEndpoint) =>
    [false, true].map((useDualstackEndpoint) => ({ useFipsEndpoint, useDualstackEndpoint })),
  );
  const places = regions.flatMap((region) => flags.map((flag) => ({ region, ...flag })));
  test.each(places)("the endpoint is that of the SDK's client for %o", async (place) => {
    const [ownCommand, sdkCommand] = both('DescribeVpcs');
    const answer = { statusCode: 200, body: '<DescribeVpcsResponse/>' };
    expect(await exchange(own, ownCommand, answer, place)).toEqual(await exchange(ofSdk, sdkCommand, answer, place));
  });
});
