import { expect, test } from 'vitest';
import type { Observed } from '../../../../providers/aws/model/observed.ts';
import { withRegisteredTargets } from '../../../../providers/aws/observe/registered-targets.ts';

const arn = (kind: string, name: string): string => `arn:aws:elasticloadbalancing:us-east-1:123456789012:${kind}/${name}/1`;
const backend = { GroupId: 'sg-b', GroupName: 'b', Description: 'b', VpcId: 'vpc-1', IpPermissions: [], Tags: [] };

const nlb = (name: string, ...SecurityGroups: string[]): Observed['loadBalancers'][number] => ({
  loadBalancer: {
    LoadBalancerArn: arn('loadbalancer/net', name),
    LoadBalancerName: name,
    DNSName: name,
    Type: 'network',
    Scheme: 'internal',
    VpcId: 'vpc-1',
    State: { Code: 'active' },
    IpAddressType: 'ipv4',
    AvailabilityZones: [],
    SecurityGroups,
  },
  tags: {},
  attributes: [],
  listeners: [],
});

type Group = Observed['targetGroups'][number];

const group = (
  balancer: string | undefined,
  change: Partial<Group['targetGroup']>,
  ...targets: readonly (readonly [id: string, port: number, state?: Group['health'][number]['TargetHealth']['State']])[]
): Group => ({
  targetGroup: {
    TargetGroupArn: arn('targetgroup', 'x'),
    TargetGroupName: 'x',
    Protocol: 'TCP',
    Port: 1,
    VpcId: 'vpc-1',
    TargetType: 'instance',
    IpAddressType: 'ipv4',
    HealthCheckPort: 'traffic-port',
    LoadBalancerArns: balancer === undefined ? [] : [arn('loadbalancer/net', balancer)],
    ...change,
  },
  tags: {},
  attributes: [],
  health: targets.map(([Id, Port, State = 'healthy']) => ({ Target: { Id, Port }, TargetHealth: { State } })),
});

const nothing: Observed = { loadBalancers: [], targetGroups: [], classic: [], securityGroups: [], backendSecurityGroup: backend };
const wanted = { ports: [{ protocol: 'tcp' as const, port: 30_080 }], instances: ['i-1'], addresses: [] };

test('registered targets are added with their protocols, ports and health check ports', () => {
  const loadBalancers = [nlb('a', 'sg-a', 'sg-b')];
  const targetGroups = [
    group('a', {}, ['i-1', 30_080], ['i-2', 31_080]),
    group('a', { Protocol: 'TCP_UDP', TargetType: 'ip', HealthCheckPort: '9000' }, ['10.0.0.1', 53]),
    group('a', { Protocol: 'UDP', HealthCheckPort: '9001' }, ['i-3', 30_777]),
  ];
  expect(withRegisteredTargets(wanted, { ...nothing, loadBalancers, targetGroups })).toEqual({
    ports: [
      { protocol: 'tcp', port: 30_080 },
      { protocol: 'tcp', port: 31_080 },
      { protocol: 'tcp', port: 53 },
      { protocol: 'udp', port: 53 },
      { protocol: 'tcp', port: 9000 },
      { protocol: 'udp', port: 30_777 },
      { protocol: 'tcp', port: 9001 },
    ],
    instances: ['i-1', 'i-2', 'i-3'],
    addresses: ['10.0.0.1'],
  });
});

test("draining, unattached and unknown load balancers' targets are not added", () => {
  const loadBalancers = [nlb('a', 'sg-a', 'sg-b'), nlb('b', 'sg-user')];
  const targetGroups = [
    group('a', {}, ['i-2', 31_080, 'draining']),
    group(undefined, {}, ['i-3', 31_081]),
    group('b', {}, ['i-4', 31_082]),
  ];
  expect(withRegisteredTargets(wanted, { ...nothing, loadBalancers, targetGroups })).toEqual(wanted);
  const { backendSecurityGroup: _, ...without } = nothing;
  expect(withRegisteredTargets(wanted, { ...without, loadBalancers, targetGroups: [group('a', {}, ['i-2', 1])] })).toEqual(wanted);
});

test('a Classic ELB adds its instances, listener ports and health check port', () => {
  const classic: Observed['classic'] = [
    {
      loadBalancer: {
        LoadBalancerName: 'c',
        DNSName: 'c',
        Scheme: 'internal',
        VPCId: 'vpc-1',
        Subnets: [],
        AvailabilityZones: [],
        SecurityGroups: ['sg-b'],
        ListenerDescriptions: [
          { Listener: { Protocol: 'TCP', LoadBalancerPort: 80, InstanceProtocol: 'TCP', InstancePort: 31_080 }, PolicyNames: [] },
        ],
        BackendServerDescriptions: [],
        HealthCheck: { Target: 'HTTP:32000/healthz', Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 },
        Instances: [{ InstanceId: 'i-2' }],
      },
      tags: {},
      attributes: {},
      policies: [],
      health: new Map(),
    },
  ];
  expect(withRegisteredTargets({ ports: [], instances: [], addresses: [] }, { ...nothing, classic })).toEqual({
    ports: [
      { protocol: 'tcp', port: 31_080 },
      { protocol: 'tcp', port: 32_000 },
    ],
    instances: ['i-2'],
    addresses: [],
  });
});
