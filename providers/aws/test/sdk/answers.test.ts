import { describe, expect, test } from 'vitest';
import {
  toEndpointService,
  toInstance,
  toRouteTable,
  toSecurityGroup,
  toSubnet,
  toVpc,
} from '../../../../providers/aws/sdk/answers/ec2.ts';
import { toClassicAttributes, toClassicLoadBalancer, toPolicy } from '../../../../providers/aws/sdk/answers/elb.ts';
import {
  toAttributes,
  toCapacityReservation,
  toListener,
  toListenerCertificate,
  toLoadBalancer,
  toTags,
  toTargetGroup,
  toTargetHealth,
} from '../../../../providers/aws/sdk/answers/elbv2.ts';

describe('an answer about an NLB', () => {
  const listener = { ListenerArn: 'listener', LoadBalancerArn: 'nlb', Port: 443, Protocol: 'TLS' } as const;
  const [blue, green] = [{ TargetGroupArn: 'blue' }, { TargetGroupArn: 'green' }];
  const toBlue = [{ Type: 'forward', ...blue }];

  test.each<[string, NonNullable<Parameters<typeof toListener>[0]['DefaultActions']>[number], object[]]>([
    ['in the short form', { Type: 'forward', ...blue }, toBlue],
    ['in the long form', { Type: 'forward', ForwardConfig: { TargetGroups: [blue] } }, toBlue],
    ['in both forms', { Type: 'forward', ...blue, ForwardConfig: { TargetGroups: [blue] } }, toBlue],
    ['with no target group', { Type: 'forward' }, []],
    ['of another type', { Type: 'redirect', ...blue }, []],
    [
      'to several target groups',
      { Type: 'forward', ForwardConfig: { TargetGroups: [{ ...blue, Weight: 5 }, green] } },
      [
        {
          Type: 'forward',
          ForwardConfig: {
            TargetGroups: [
              { ...blue, Weight: 5 },
              { ...green, Weight: 1 },
            ],
            TargetGroupStickinessConfig: { Enabled: false },
          },
        },
      ],
    ],
  ])('has the target group of a listener with an action %s', (_, action, expected) => {
    expect(toListener({ ...listener, DefaultActions: [action] }).DefaultActions).toEqual(expected);
  });

  test('has the certificates of a listener that have an ARN, and names the default one', () => {
    expect(toListener({ ...listener, Certificates: [{ CertificateArn: 'one' }, {}] }).Certificates).toEqual([{ CertificateArn: 'one' }]);
    expect(toListenerCertificate({ CertificateArn: 'one' })).toEqual({ CertificateArn: 'one', IsDefault: false });
  });

  test('is IPv4 where AWS names no address type', () => {
    const named = { DNSName: 'n', Type: 'network', Scheme: 'internal', VpcId: 'vpc' } as const;
    const nlb = { LoadBalancerArn: 'a', LoadBalancerName: 'web', State: { Code: 'active' }, ...named } as const;
    expect(toLoadBalancer(nlb)).toEqual({ ...nlb, IpAddressType: 'ipv4', AvailabilityZones: [] });
    const group = { TargetGroupArn: 'g', TargetGroupName: 'web', Protocol: 'TCP', Port: 80, VpcId: 'vpc', TargetType: 'ip' } as const;
    expect(toTargetGroup({ ...group, Matcher: {} })).toEqual({ ...group, IpAddressType: 'ipv4', LoadBalancerArns: [] });
    expect(toTargetGroup({ ...group, Matcher: { HttpCode: '200' } })).toMatchObject({ Matcher: { HttpCode: '200' } });
  });

  test('has an empty text for a tag or an attribute without a value', () => {
    expect(toTags([{ Key: 'a' }, { Key: 'b', Value: 'c' }])).toEqual([
      { Key: 'a', Value: '' },
      { Key: 'b', Value: 'c' },
    ]);
    expect(toAttributes([{ Key: 'a' }, { Key: 'b', Value: 'c' }])).toEqual([
      { Key: 'a', Value: '' },
      { Key: 'b', Value: 'c' },
    ]);
  });

  test('has the reserved capacity only where some is reserved', () => {
    expect(toCapacityReservation({})).toEqual({ CapacityReservationState: [] });
    expect(toCapacityReservation({ MinimumLoadBalancerCapacity: { CapacityUnits: 500 } })).toMatchObject({
      MinimumLoadBalancerCapacity: { CapacityUnits: 500 },
    });
  });

  test('Herald refuses an answer that lacks what AWS guarantees, and names the field', () => {
    const health = { Target: { Id: '192.0.2.1' }, TargetHealth: { State: 'healthy' } } as const;
    expect(() => toTargetHealth(health)).toThrow('the answer has no Target.Port');
    expect(() => toTargetHealth({ Target: health.Target })).toThrow('the answer has no TargetHealth');
    expect(() => toLoadBalancer({})).toThrow('the answer has no LoadBalancerArn');
  });
});

describe('an answer about a Classic Load Balancer', () => {
  const named = { LoadBalancerName: 'web', DNSName: 'n', Scheme: 'internal' };
  const listenerOf = (fields: object) =>
    toClassicLoadBalancer({
      ...named,
      ListenerDescriptions: [{ Listener: { LoadBalancerPort: 443, InstancePort: 30080, ...fields } as never }],
    }).ListenerDescriptions[0]?.Listener;

  test.each(['SSL', 'HTTPS'])('Herald reads the certificate of a listener with %s', (Protocol) => {
    expect(listenerOf({ Protocol, InstanceProtocol: 'TCP', SSLCertificateId: 'one' })).toMatchObject({
      InstanceProtocol: 'TCP',
      SSLCertificateId: 'one',
    });
  });

  test('Herald reads no certificate of a plain listener, and takes its protocol for the instances', () => {
    expect(listenerOf({ Protocol: 'TCP', SSLCertificateId: 'None' })).toEqual({
      Protocol: 'TCP',
      LoadBalancerPort: 443,
      InstanceProtocol: 'TCP',
      InstancePort: 30_080,
    });
  });

  test('Herald reads a health check with an empty target and zeros when AWS sends none', () => {
    const none = { Target: '', Interval: 0, Timeout: 0, HealthyThreshold: 0, UnhealthyThreshold: 0 };
    const given = { Target: 'TCP:30080', Interval: 10, Timeout: 6, HealthyThreshold: 2, UnhealthyThreshold: 3 };
    expect(toClassicLoadBalancer(named).HealthCheck).toEqual(none);
    expect(toClassicLoadBalancer({ ...named, HealthCheck: given }).HealthCheck).toEqual(given);
    expect(toClassicLoadBalancer(named)).toMatchObject({ VPCId: '', Subnets: [], Instances: [], BackendServerDescriptions: [] });
  });

  test('Herald reads the attributes that AWS names, and takes a switch without a value as off', () => {
    expect(toClassicAttributes(undefined)).toEqual({});
    const unset = { CrossZoneLoadBalancing: {}, AccessLog: {}, ConnectionDraining: {}, ConnectionSettings: {} } as never;
    const off = { Enabled: false };
    expect(toClassicAttributes(unset)).toEqual({ CrossZoneLoadBalancing: off, AccessLog: off, ConnectionDraining: off });
    const set = {
      CrossZoneLoadBalancing: { Enabled: true },
      AccessLog: { Enabled: true, S3BucketName: 'logs' },
      ConnectionDraining: { Enabled: true, Timeout: 60 },
      ConnectionSettings: { IdleTimeout: 90 },
    };
    expect(toClassicAttributes(set)).toEqual(set);
  });

  test('has an empty text for an attribute of a policy without a value', () => {
    const policy = { PolicyName: 'a', PolicyTypeName: 'b', PolicyAttributeDescriptions: [{ AttributeName: 'c' }] };
    expect(toPolicy(policy).PolicyAttributeDescriptions).toEqual([{ AttributeName: 'c', AttributeValue: '' }]);
  });
});

describe('an answer of EC2', () => {
  test('has the IPv6 blocks that are in use, of a VPC and of a subnet', () => {
    const blocks = ['associated', 'disassociated', 'failed'].map((State, index) => ({
      Ipv6CidrBlock: `2001:db8:${index}::/64`,
      Ipv6CidrBlockState: { State: State as 'associated' },
    }));
    const inUse = [{ Ipv6CidrBlock: '2001:db8:0::/64' }];
    expect(toVpc({ VpcId: 'vpc', Ipv6CidrBlockAssociationSet: [...blocks, {}] }).Ipv6CidrBlockAssociationSet).toEqual(inUse);
    const subnet = { SubnetId: 'subnet', VpcId: 'vpc', AvailabilityZone: 'a' };
    expect(toSubnet({ ...subnet, Ipv6CidrBlockAssociationSet: blocks, OutpostArn: '' })).toEqual({
      ...subnet,
      CidrBlock: '',
      Ipv6CidrBlockAssociationSet: inUse,
      AvailableIpAddressCount: 0,
      Tags: [],
    });
  });

  test('has the VPC’s main route table, and no other one, as main', () => {
    const table = { RouteTableId: 'table', VpcId: 'vpc', Associations: [{ Main: true }, { SubnetId: 'subnet' }] };
    expect(toRouteTable(table).Associations).toEqual([{ Main: true }, { Main: false, SubnetId: 'subnet' }]);
  });

  test('has of a rule only the kinds of sources that it has', () => {
    const rule = { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, IpRanges: [{ CidrIp: '192.0.2.0/24' }] };
    const group = toSecurityGroup({ GroupId: 'sg', GroupName: 'web', VpcId: 'vpc', IpPermissions: [{ ...rule, Ipv6Ranges: [] }] });
    expect(group).toEqual({ GroupId: 'sg', GroupName: 'web', Description: '', VpcId: 'vpc', IpPermissions: [rule], Tags: [] });
  });

  test('leaves out a terminated instance, which is in no VPC any more', () => {
    const instance = { InstanceId: 'i-1', State: { Name: 'running' }, Placement: { AvailabilityZone: 'a' } } as const;
    expect(toInstance({ ...instance, VpcId: 'vpc' })).toEqual([{ ...instance, VpcId: 'vpc', SecurityGroups: [] }]);
    expect([toInstance(instance), toInstance({ ...instance, VpcId: '' })]).toEqual([[], []]);
  });

  test('says that an endpoint service accepts connections only by hand, where AWS does not say', () => {
    const service = { ServiceId: 'vpce-svc-1', ServiceName: 'com.amazonaws.vpce' };
    const converted = { ...service, ServiceState: '', AcceptanceRequired: true, NetworkLoadBalancerArns: [], Tags: [] };
    expect(toEndpointService({ ...service, PrivateDnsName: '' })).toEqual(converted);
    expect(toEndpointService({ ...service, PrivateDnsName: 'a.example.com', AcceptanceRequired: false })).toMatchObject({
      PrivateDnsName: 'a.example.com',
      AcceptanceRequired: false,
    });
  });
});
