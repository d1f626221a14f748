import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';
import type { Input, Operation, Output } from '../../cloud/operations.ts';
import { acm } from '../../sdk/acm.ts';
import { ec2 } from '../../sdk/ec2.ts';
import { elb } from '../../sdk/elb.ts';
import { elbv2 } from '../../sdk/elbv2.ts';
import { reconcileNodeRules } from '../../node-rules/reconcile-node-rules.ts';
import { RepeatedWrites } from '../../stacks/execution/repeated-writes.ts';
import { ruleKey, rulesOf } from '../../plan/steps/ingress-rules.ts';
import { defaultSettings } from '../../model/settings.ts';
import { clusterName, region, type Account } from './account.ts';
import { makeAccount } from './moto-account.ts';
import { Moto } from './moto.ts';
import { motoCloud } from './moto-cloud.ts';

let moto: Moto;
let account: Account;
const used = new Set<Operation>();
let cloud: Cloud;

beforeAll(async () => {
  moto = await Moto.start();
  account = await makeAccount(moto);
  const inner = motoCloud(moto);
  cloud = {
    call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
      used.add(operation);
      return inner.call(operation, input);
    },
  };
});
afterAll(() => moto.stop());

const Tags = [{ Key: 'herald.dev/cluster', Value: clusterName }];

describe('operations of the AWS port, over HTTP', () => {
  test('network resources are read', async () => {
    const { Vpcs } = await cloud.call('ec2:DescribeVpcs', { VpcIds: [account.vpcId] });
    expect(Vpcs).toEqual([
      { VpcId: account.vpcId, CidrBlockAssociationSet: [{ CidrBlock: '10.0.0.0/16' }], Ipv6CidrBlockAssociationSet: [] },
    ]);
    const ofVpc = { Filters: [{ Name: 'vpc-id', Values: [account.vpcId] }] };
    const { Subnets } = await cloud.call('ec2:DescribeSubnets', ofVpc);
    expect(Subnets.map(({ SubnetId }) => SubnetId).toSorted()).toEqual([...account.publicSubnets, ...account.privateSubnets].toSorted());
    expect(Subnets.find(({ SubnetId }) => SubnetId === account.publicSubnets[0])).toMatchObject({
      AvailabilityZone: 'us-east-1a',
      CidrBlock: '10.0.0.0/24',
      AvailableIpAddressCount: 251,
      Tags: expect.arrayContaining([{ Key: 'kubernetes.io/role/elb', Value: '1' }]),
    });
    const { RouteTables } = await cloud.call('ec2:DescribeRouteTables', ofVpc);
    expect(RouteTables).toHaveLength(2);
    expect(RouteTables.filter(({ Routes }) => Routes.some(({ GatewayId }) => GatewayId?.startsWith('igw-')))).toMatchObject([
      { Associations: account.publicSubnets.map((SubnetId) => ({ Main: false, SubnetId })) },
    ]);
  });

  test('a missing Elastic IP is omitted', async () => {
    const { Addresses } = await cloud.call('ec2:DescribeAddresses', {
      Filters: [{ Name: 'allocation-id', Values: ['eipalloc-0123456789'] }],
    });
    expect(Addresses).toEqual([]);
  });

  test('instances are read without missing ones, and interfaces by address', async () => {
    const [node] = account.nodes;
    const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds: [node?.instance ?? '', 'i-00000000000000000'] });
    expect(Instances).toEqual([
      {
        InstanceId: node?.instance,
        VpcId: account.vpcId,
        State: { Name: 'running' },
        Placement: { AvailabilityZone: 'us-east-1a' },
        SecurityGroups: [{ GroupId: account.nodeGroup }],
      },
    ]);
    const filter = { Name: 'private-ip-address', Values: [node?.address ?? ''] };
    const { NetworkInterfaces } = await cloud.call('ec2:DescribeNetworkInterfaces', { Filters: [filter] });
    expect(NetworkInterfaces).toMatchObject([
      { VpcId: account.vpcId, Groups: [{ GroupId: account.nodeGroup }], PrivateIpAddresses: [{ PrivateIpAddress: node?.address }] },
    ]);
  });

  test('a filter with too many values is split, and each item is returned once', async () => {
    const { instance = '', address = '' } = account.nodes[0] ?? {};
    const ids = Array.from({ length: 450 }, (_, index) => `i-${String(index).padStart(17, '0')}`);
    const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds: [...ids, instance] });
    expect(Instances.map(({ InstanceId }) => InstanceId)).toEqual([instance]);
    const Values = [address, ...Array.from({ length: 300 }, (_, index) => `10.0.200.${index % 250}`), address];
    const { NetworkInterfaces } = await cloud.call('ec2:DescribeNetworkInterfaces', { Filters: [{ Name: 'private-ip-address', Values }] });
    expect(NetworkInterfaces).toHaveLength(1);
  });

  test('nodes and pods admit load balancers, and no longer when none is left', async () => {
    const settings = { ...defaultSettings, clusterName, region, vpcId: account.vpcId };
    const { GroupId: backend } = await cloud.call('ec2:CreateSecurityGroup', {
      GroupName: 'of-load-balancers',
      Description: 'made by a test',
      VpcId: account.vpcId,
      TagSpecifications: [
        { ResourceType: 'security-group', Tags: [...Tags, { Key: 'herald.dev/resource', Value: 'backend-security-group' }] },
      ],
    });
    const [node, pods] = account.nodes;
    const ports = [{ protocol: 'tcp', port: 30_080 }] as const;
    const stacks = [
      { ports, instances: [node?.instance ?? ''], addresses: [] },
      // The address of a pod is on the interface of its node.
      { ports: [{ protocol: 'udp', port: 53 }] as const, instances: [], addresses: [pods?.address ?? ''] },
    ];
    const hosts = { instances: new Map(), isPod: () => true, isAllowed: () => false };
    const rules = async (): Promise<unknown[]> => {
      const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { GroupIds: [account.nodeGroup] });
      return rulesOf(SecurityGroups.flatMap(({ IpPermissions }) => IpPermissions)).map(ruleKey);
    };
    const before = await rules();
    const opened = await reconcileNodeRules(cloud, settings, { stacks, hosts, mayRevoke: true }, new RepeatedWrites());
    expect([opened.problems, opened.execution.outcomes.map(({ result }) => result)]).toEqual([[], ['done']]);
    expect(await rules()).toEqual(expect.arrayContaining([`tcp 30080 30080 ${backend}`, `udp 53 53 ${backend}`]));
    expect(
      (await reconcileNodeRules(cloud, settings, { stacks, hosts, mayRevoke: true }, new RepeatedWrites())).execution.outcomes,
    ).toEqual([]);
    const closed = await reconcileNodeRules(cloud, settings, { stacks: [], hosts, mayRevoke: true }, new RepeatedWrites());
    expect(closed.execution.outcomes.map(({ action, result }) => [action.operation, result])).toEqual([
      ['ec2:RevokeSecurityGroupIngress', 'done'],
      ['ec2:DeleteSecurityGroup', 'done'],
    ]);
    expect(await rules()).toEqual(before);
  });

  test('a security group is created, changed and deleted', async () => {
    const { vpcId: VpcId } = account;
    const { GroupId } = await cloud.call('ec2:CreateSecurityGroup', {
      GroupName: 'of-a-test',
      Description: 'made by a test',
      VpcId,
      TagSpecifications: [{ ResourceType: 'security-group', Tags }],
    });
    const rule = { IpProtocol: 'tcp', FromPort: 80, ToPort: 81 };
    const IpPermissions = [
      { ...rule, IpRanges: [{ CidrIp: '192.0.2.0/24', Description: 'herald' }], UserIdGroupPairs: [{ GroupId: account.nodeGroup }] },
      { IpProtocol: 'icmp', FromPort: 3, ToPort: 4, IpRanges: [{ CidrIp: '192.0.2.0/24' }] },
    ];
    await cloud.call('ec2:AuthorizeSecurityGroupIngress', { GroupId, IpPermissions });
    await cloud.call('ec2:CreateTags', { Resources: [GroupId], Tags: [{ Key: 'further', Value: '' }] });
    const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { GroupIds: [GroupId] });
    expect(SecurityGroups).toMatchObject([
      { GroupId, GroupName: 'of-a-test', VpcId, Tags: expect.arrayContaining([...Tags, { Key: 'further', Value: '' }]) },
    ]);
    expect(SecurityGroups[0]?.IpPermissions).toEqual(expect.arrayContaining(IpPermissions));
    await expect(cloud.call('ec2:AuthorizeSecurityGroupIngress', { GroupId, IpPermissions })).rejects.toMatchObject({
      code: 'duplicate',
      awsCode: 'InvalidPermission.Duplicate',
    });
    await cloud.call('ec2:RevokeSecurityGroupIngress', { GroupId, IpPermissions });
    await expect(cloud.call('ec2:RevokeSecurityGroupIngress', { GroupId, IpPermissions })).rejects.toMatchObject({ code: 'notFound' });
    await cloud.call('ec2:DeleteTags', { Resources: [GroupId], Tags: [{ Key: 'further' }] });
    await cloud.call('ec2:DeleteSecurityGroup', { GroupId });
    await expect(cloud.call('ec2:DescribeSecurityGroups', { GroupIds: [GroupId] })).rejects.toMatchObject({ code: 'notFound' });
    const byName = { Name: 'group-name', Values: ['of-a-test'] };
    expect((await cloud.call('ec2:DescribeSecurityGroups', { Filters: [byName] })).SecurityGroups).toEqual([]);
  });

  test('certificates are listed and described', async () => {
    const { CertificateSummaryList } = await cloud.call('acm:ListCertificates', {});
    expect(CertificateSummaryList.map(({ CertificateArn }) => CertificateArn).toSorted()).toEqual(
      [account.certificates.web, account.certificates.other].toSorted(),
    );
    const { Certificate } = await cloud.call('acm:DescribeCertificate', { CertificateArn: account.certificates.web });
    expect(Certificate).toMatchObject({ DomainName: 'web.example.com', Status: 'ISSUED', KeyAlgorithm: 'EC_prime256v1' });
    const CertificateArn = account.certificates.web.replace(/[^/]*$/, '00000000-0000-0000-0000-000000000000');
    await expect(cloud.call('acm:DescribeCertificate', { CertificateArn })).rejects.toMatchObject({ code: 'notFound' });
  });

  test('an NLB is created, changed and deleted', async () => {
    const { LoadBalancers } = await cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'of-a-test',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: account.privateSubnets.map((SubnetId) => ({ SubnetId })),
      SecurityGroups: [account.nodeGroup],
      Tags,
    });
    const { LoadBalancerArn } = only(LoadBalancers);
    expect(LoadBalancers).toMatchObject([
      { LoadBalancerName: 'of-a-test', Type: 'network', Scheme: 'internal', VpcId: account.vpcId, SecurityGroups: [account.nodeGroup] },
    ]);
    const named = await cloud.call('elbv2:DescribeLoadBalancers', { Names: ['of-a-test'] });
    expect(named.LoadBalancers).toMatchObject([{ LoadBalancerArn, State: { Code: 'active' } }]);
    expect((await cloud.call('elbv2:DescribeLoadBalancers', {})).LoadBalancers).toEqual(named.LoadBalancers);
    await expect(cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns: [`${LoadBalancerArn}0`] })).rejects.toMatchObject({
      code: 'notFound',
    });

    const attribute = { Key: 'load_balancing.cross_zone.enabled', Value: 'true' };
    await cloud.call('elbv2:ModifyLoadBalancerAttributes', { LoadBalancerArn, Attributes: [attribute] });
    const { Attributes } = await cloud.call('elbv2:DescribeLoadBalancerAttributes', { LoadBalancerArn });
    expect(Attributes).toContainEqual(attribute);
    await cloud.call('elbv2:SetSecurityGroups', { LoadBalancerArn, SecurityGroups: [account.nodeGroup] });
    await cloud.call('elbv2:SetSubnets', { LoadBalancerArn, SubnetMappings: account.privateSubnets.map((SubnetId) => ({ SubnetId })) });
    await cloud.call('elbv2:SetIpAddressType', { LoadBalancerArn, IpAddressType: 'ipv4' });

    await cloud.call('elbv2:AddTags', { ResourceArns: [LoadBalancerArn], Tags: [{ Key: 'further', Value: '' }] });
    await cloud.call('elbv2:RemoveTags', { ResourceArns: [LoadBalancerArn], TagKeys: ['further'] });
    expect((await cloud.call('elbv2:DescribeTags', { ResourceArns: [LoadBalancerArn] })).TagDescriptions).toEqual([
      { ResourceArn: LoadBalancerArn, Tags },
    ]);

    const { TargetGroups } = await cloud.call('elbv2:CreateTargetGroup', {
      Name: 'of-a-test',
      Protocol: 'TCP',
      Port: 30_443,
      VpcId: account.vpcId,
      TargetType: 'instance',
      IpAddressType: 'ipv4',
      HealthCheckProtocol: 'HTTP',
      HealthCheckPort: '32000',
      HealthCheckPath: '/healthz',
      HealthCheckIntervalSeconds: 10,
      HealthCheckTimeoutSeconds: 6,
      HealthyThresholdCount: 2,
      UnhealthyThresholdCount: 2,
      Matcher: { HttpCode: '200-399' },
      Tags,
    });
    const { TargetGroupArn } = only(TargetGroups);
    await cloud.call('elbv2:ModifyTargetGroup', { TargetGroupArn, HealthCheckPath: '/livez' });
    await cloud.call('elbv2:ModifyTargetGroupAttributes', {
      TargetGroupArn,
      Attributes: [{ Key: 'proxy_protocol_v2.enabled', Value: 'true' }],
    });
    expect((await cloud.call('elbv2:DescribeTargetGroupAttributes', { TargetGroupArn })).Attributes).toContainEqual({
      Key: 'proxy_protocol_v2.enabled',
      Value: 'true',
    });
    const Targets = account.nodes.map(({ instance }) => ({ Id: instance, Port: 30_443 }));
    await cloud.call('elbv2:RegisterTargets', { TargetGroupArn, Targets });
    await cloud.call('elbv2:DeregisterTargets', { TargetGroupArn, Targets: Targets.slice(0, 1) });

    const created = await cloud.call('elbv2:CreateListener', {
      LoadBalancerArn,
      Port: 443,
      Protocol: 'TLS',
      DefaultActions: [{ Type: 'forward', TargetGroupArn }],
      Certificates: [{ CertificateArn: account.certificates.web }],
      SslPolicy: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
      AlpnPolicy: ['HTTP2Preferred'],
      Tags,
    });
    const { ListenerArn } = only(created.Listeners);
    const Name = 'ELBSecurityPolicy-TLS13-1-2-2021-06';
    expect(await cloud.call('elbv2:DescribeSSLPolicies', { Names: [Name] })).toEqual({ SslPolicies: [{ Name }] });
    const { TargetHealthDescriptions } = await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn });
    expect(TargetHealthDescriptions.map(({ Target: { Id, Port } }) => ({ Id, Port }))).toEqual(Targets.slice(1));
    expect((await cloud.call('elbv2:DescribeTargetGroups', { LoadBalancerArn })).TargetGroups).toMatchObject([
      {
        TargetGroupArn,
        TargetGroupName: 'of-a-test',
        Protocol: 'TCP',
        Port: 30_443,
        TargetType: 'instance',
        IpAddressType: 'ipv4',
        HealthCheckProtocol: 'HTTP',
        HealthCheckPort: '32000',
        HealthCheckPath: '/livez',
        HealthCheckIntervalSeconds: 10,
        HealthyThresholdCount: 2,
        Matcher: { HttpCode: '200-399' },
        LoadBalancerArns: [LoadBalancerArn],
      },
    ]);
    await expect(cloud.call('elbv2:DeleteTargetGroup', { TargetGroupArn })).rejects.toMatchObject({ code: 'inUse' });

    await cloud.call('elbv2:AddListenerCertificates', {
      ListenerArn,
      Certificates: [{ CertificateArn: account.certificates.other }],
    });
    const { Certificates } = await cloud.call('elbv2:DescribeListenerCertificates', { ListenerArn });
    expect(Certificates.map(({ CertificateArn }) => CertificateArn)).toContain(account.certificates.other);
    await cloud.call('elbv2:RemoveListenerCertificates', {
      ListenerArn,
      Certificates: [{ CertificateArn: account.certificates.other }],
    });
    await cloud.call('elbv2:ModifyListener', { ListenerArn, SslPolicy: 'ELBSecurityPolicy-TLS13-1-3-2021-06' });
    const { Listeners } = await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn });
    expect(Listeners).toMatchObject([
      {
        ListenerArn,
        LoadBalancerArn,
        Port: 443,
        Protocol: 'TLS',
        DefaultActions: [{ Type: 'forward', TargetGroupArn }],
        SslPolicy: 'ELBSecurityPolicy-TLS13-1-3-2021-06',
        AlpnPolicy: ['HTTP2Preferred'],
      },
    ]);
    await cloud.call('elbv2:ModifyListenerAttributes', { ListenerArn, Attributes: [{ Key: 'tcp.idle_timeout.seconds', Value: '400' }] });
    await cloud.call('elbv2:DescribeListenerAttributes', { ListenerArn });

    expect(await cloud.call('elbv2:DescribeCapacityReservation', { LoadBalancerArn })).toHaveProperty('CapacityReservationState');
    // moto does not implement it. requests.test.ts checks the request.
    await expect(cloud.call('elbv2:ModifyCapacityReservation', { LoadBalancerArn, ResetCapacityReservation: true })).rejects.toThrow(
      'ModifyCapacityReservation',
    );
    await cloud.call('elbv2:DeleteListener', { ListenerArn });
    await cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn });
    await cloud.call('elbv2:DeleteTargetGroup', { TargetGroupArn });
    expect((await cloud.call('elbv2:DescribeTargetGroups', {})).TargetGroups).toEqual([]);
  });

  test('a Classic Load Balancer is created, changed and deleted', async () => {
    const LoadBalancerName = 'of-a-test';
    const https = {
      Protocol: 'HTTPS',
      LoadBalancerPort: 443,
      InstanceProtocol: 'HTTP',
      InstancePort: 30_443,
      SSLCertificateId: account.certificates.iam,
    } as const;
    const tcp = { Protocol: 'TCP', LoadBalancerPort: 80, InstanceProtocol: 'TCP', InstancePort: 30_080 } as const;
    const created = await cloud.call('elb:CreateLoadBalancer', {
      LoadBalancerName,
      // moto knows policies only for instance ports that the load balancer was created with.
      Listeners: [tcp],
      Subnets: account.publicSubnets.slice(0, 1),
      SecurityGroups: [account.nodeGroup],
      Tags,
    });
    await cloud.call('elb:CreateLoadBalancerListeners', { LoadBalancerName, Listeners: [https] });
    await cloud.call('elb:AttachLoadBalancerToSubnets', { LoadBalancerName, Subnets: account.publicSubnets.slice(1) });
    await cloud.call('elb:DetachLoadBalancerFromSubnets', { LoadBalancerName, Subnets: account.publicSubnets.slice(0, 1) });
    await cloud.call('elb:ApplySecurityGroupsToLoadBalancer', { LoadBalancerName, SecurityGroups: [account.nodeGroup] });
    await cloud.call('elb:SetLoadBalancerListenerSSLCertificate', {
      LoadBalancerName,
      LoadBalancerPort: 443,
      SSLCertificateId: account.certificates.web,
    });
    const HealthCheck = { Target: 'TCP:30080', Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 };
    await cloud.call('elb:ConfigureHealthCheck', { LoadBalancerName, HealthCheck });
    const LoadBalancerAttributes = {
      CrossZoneLoadBalancing: { Enabled: true },
      ConnectionDraining: { Enabled: true, Timeout: 60 },
      ConnectionSettings: { IdleTimeout: 90 },
      AccessLog: { Enabled: false },
    };
    await cloud.call('elb:ModifyLoadBalancerAttributes', { LoadBalancerName, LoadBalancerAttributes });
    expect((await cloud.call('elb:DescribeLoadBalancerAttributes', { LoadBalancerName })).LoadBalancerAttributes).toMatchObject(
      LoadBalancerAttributes,
    );
    await cloud.call('elb:CreateLoadBalancerPolicy', {
      LoadBalancerName,
      PolicyName: 'policy',
      PolicyTypeName: 'ProxyProtocolPolicyType',
      PolicyAttributes: [{ AttributeName: 'ProxyProtocol', AttributeValue: 'true' }],
    });
    await cloud.call('elb:SetLoadBalancerPoliciesForBackendServer', { LoadBalancerName, InstancePort: 30_080, PolicyNames: ['policy'] });
    await cloud.call('elb:SetLoadBalancerPoliciesOfListener', { LoadBalancerName, LoadBalancerPort: 443, PolicyNames: [] });
    expect((await cloud.call('elb:DescribeLoadBalancerPolicies', { LoadBalancerName })).PolicyDescriptions).toContainEqual({
      PolicyName: 'policy',
      PolicyTypeName: 'ProxyProtocolPolicyType',
      PolicyAttributeDescriptions: [{ AttributeName: 'ProxyProtocol', AttributeValue: 'true' }],
    });
    const Instances = account.nodes.map(({ instance }) => ({ InstanceId: instance }));
    await cloud.call('elb:RegisterInstancesWithLoadBalancer', { LoadBalancerName, Instances });
    await cloud.call('elb:DeregisterInstancesFromLoadBalancer', { LoadBalancerName, Instances: Instances.slice(0, 1) });
    expect(
      (await cloud.call('elb:DescribeInstanceHealth', { LoadBalancerName })).InstanceStates.map(({ InstanceId }) => InstanceId),
    ).toEqual(Instances.slice(1).map(({ InstanceId }) => InstanceId));
    await cloud.call('elb:AddTags', { LoadBalancerNames: [LoadBalancerName], Tags: [{ Key: 'further', Value: '' }] });
    await cloud.call('elb:RemoveTags', { LoadBalancerNames: [LoadBalancerName], Tags: [{ Key: 'further' }] });
    expect((await cloud.call('elb:DescribeTags', { LoadBalancerNames: [LoadBalancerName] })).TagDescriptions).toEqual([
      { LoadBalancerName, Tags },
    ]);
    const { LoadBalancerDescriptions } = await cloud.call('elb:DescribeLoadBalancers', { LoadBalancerNames: [LoadBalancerName] });
    expect(LoadBalancerDescriptions).toMatchObject([
      {
        LoadBalancerName,
        DNSName: created.DNSName,
        Scheme: 'internet-facing',
        VPCId: account.vpcId,
        Subnets: account.publicSubnets.slice(1),
        SecurityGroups: [account.nodeGroup],
        HealthCheck,
        Instances: Instances.slice(1),
        BackendServerDescriptions: [{ InstancePort: 30_080, PolicyNames: ['policy'] }],
      },
    ]);
    expect(LoadBalancerDescriptions[0]?.ListenerDescriptions.map(({ Listener }) => Listener)).toEqual([
      tcp,
      { ...https, SSLCertificateId: account.certificates.web },
    ]);
    await cloud.call('elb:DeleteLoadBalancerListeners', { LoadBalancerName, LoadBalancerPorts: [80] });
    await cloud.call('elb:DeleteLoadBalancer', { LoadBalancerName });
    await expect(cloud.call('elb:DescribeLoadBalancers', { LoadBalancerNames: [LoadBalancerName] })).rejects.toMatchObject({
      name: AwsError.name,
      code: 'notFound',
      operation: 'elb:DescribeLoadBalancers',
    });
  });

  test('the endpoint service of an NLB is created, changed, read and deleted', async () => {
    const Filters = [{ Name: 'tag:herald.dev/cluster', Values: [clusterName] }];
    const created = await cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'linked',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: account.privateSubnets.map((SubnetId) => ({ SubnetId })),
      Tags,
    });
    const LoadBalancerArn = only(created.LoadBalancers).LoadBalancerArn;
    const { ServiceConfiguration } = await cloud.call('ec2:CreateVpcEndpointServiceConfiguration', {
      NetworkLoadBalancerArns: [LoadBalancerArn],
      AcceptanceRequired: false,
      SupportedIpAddressTypes: ['ipv4'],
      TagSpecifications: [{ ResourceType: 'vpc-endpoint-service', Tags }],
    });
    const { ServiceId } = ServiceConfiguration;
    await cloud.call('ec2:ModifyVpcEndpointServiceConfiguration', {
      ServiceId,
      AcceptanceRequired: true,
      PrivateDnsName: 'shop.example.com',
    });
    await cloud.call('ec2:ModifyVpcEndpointServicePermissions', { ServiceId, AddAllowedPrincipals: ['*'] });
    const read = await cloud.call('ec2:DescribeVpcEndpointServiceConfigurations', { Filters });
    expect(only(read.ServiceConfigurations)).toMatchObject({
      ServiceId,
      ServiceName: `com.amazonaws.vpce.${region}.${ServiceId}`,
      AcceptanceRequired: true,
      NetworkLoadBalancerArns: [LoadBalancerArn],
      PrivateDnsName: 'shop.example.com',
      Tags,
    });
    const permissions = await cloud.call('ec2:DescribeVpcEndpointServicePermissions', { ServiceId });
    expect(permissions.AllowedPrincipals).toEqual([{ Principal: '*' }]);
    // moto does not implement it. requests.test.ts checks the request.
    await expect(cloud.call('ec2:DescribeVpcEndpointConnections', { ServiceId })).rejects.toBeInstanceOf(AwsError);
    await cloud.call('ec2:DeleteVpcEndpointServiceConfigurations', { ServiceIds: [ServiceId] });
    await expect(cloud.call('ec2:DeleteVpcEndpointServiceConfigurations', { ServiceIds: [ServiceId] })).rejects.toMatchObject({
      code: 'notFound',
    });
    await cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn });
  });

  test('the tests above call every operation', () => {
    const all = Object.entries({ elbv2, elb, ec2, acm }).flatMap(([service, operations]) =>
      Object.keys(operations).map((name) => `${service}:${name}`),
    );
    expect([...used].toSorted()).toEqual(all.toSorted());
  });
});

function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined || items.length > 1) throw new Error(`${items.length} in place of one`);
  return item;
}
