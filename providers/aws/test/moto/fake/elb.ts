import assert from 'node:assert';
import type { ClassicListener } from '../../../cloud/elb.ts';
import type { Operation } from '../../../cloud/operations.ts';
import type { Handlers } from './cloud.ts';
import { delays, refuse, region, tagKey, vpcId, type FakeClassic, type World } from './world.ts';

type Own = Extract<Operation, `elb:${string}`>;

const layers: Readonly<Record<ClassicListener['Protocol'], string>> = { TCP: 'L4', SSL: 'L4', HTTP: 'L7', HTTPS: 'L7' };

function classic(operation: Operation, world: World, name: string): FakeClassic {
  const found = world.classic.get(name);
  if (found === undefined || !world.isVisible(tagKey(name))) refuse(operation, 'notFound', 'LoadBalancerNotFound', name);
  return found;
}

function checkListener(operation: Operation, world: World, listener: ClassicListener): void {
  const { Protocol, InstanceProtocol, InstancePort, SSLCertificateId } = listener;
  const invalid = (why: string): never => refuse(operation, 'invalid', 'InvalidConfigurationRequest', why);
  if (layers[Protocol] !== layers[InstanceProtocol]) invalid('layers differ');
  if (InstancePort < 1 || InstancePort > 65_535) invalid('instance port');
  const isSecure = Protocol === 'SSL' || Protocol === 'HTTPS';
  if (isSecure !== (SSLCertificateId !== undefined)) invalid('certificate');
  checkCertificate(operation, world, SSLCertificateId);
}

function checkCertificate(operation: Operation, world: World, arn: string | undefined): void {
  const known = arn === undefined || world.certificates.has(arn) || arn.includes(':iam:');
  if (!known) refuse(operation, 'certificate', 'CertificateNotFound', arn);
}

function checkSubnets(operation: Operation, world: World, ids: readonly string[]): void {
  const zones = ids.map((id) => world.subnets.get(id)?.AvailabilityZone ?? refuse(operation, 'subnet', 'SubnetNotFound', id));
  if (ids.length === 0 || new Set(zones).size < zones.length) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'subnets');
}

function checkGroups(operation: Operation, world: World, ids: readonly string[]): void {
  for (const id of ids) if (!world.securityGroups.has(id)) refuse(operation, 'notFound', 'InvalidSecurityGroup', id);
}

function instanceState(world: World, { registeredAt }: FakeClassic, id: string): string {
  if (world.now() - (registeredAt.get(id) ?? 0) < delays.healthCheck) return 'Unknown';
  return world.unhealthy.has(id) ? 'OutOfService' : 'InService';
}

function addListeners(operation: Operation, world: World, value: FakeClassic['value'], listeners: readonly ClassicListener[]): void {
  for (const Listener of listeners) {
    checkListener(operation, world, Listener);
    const taken = value.ListenerDescriptions.some((one) => one.Listener.LoadBalancerPort === Listener.LoadBalancerPort);
    if (taken) refuse(operation, 'duplicate', 'DuplicateListener');
    value.ListenerDescriptions = [...value.ListenerDescriptions, { Listener, PolicyNames: [] }];
  }
}

export const elbHandlers: Pick<Handlers, Own> = {
  'elb:DescribeLoadBalancers': (world, { LoadBalancerNames }) => ({
    LoadBalancerDescriptions: (LoadBalancerNames ?? [...world.classic.keys()].filter((name) => world.isVisible(tagKey(name)))).map(
      (name) => classic('elb:DescribeLoadBalancers', world, name).value,
    ),
  }),
  'elb:DescribeLoadBalancerAttributes': (world, { LoadBalancerName }) => ({
    LoadBalancerAttributes: classic('elb:DescribeLoadBalancerAttributes', world, LoadBalancerName).attributes,
  }),
  'elb:DescribeLoadBalancerPolicies': (world, { LoadBalancerName }) => ({
    PolicyDescriptions: [...classic('elb:DescribeLoadBalancerPolicies', world, LoadBalancerName).policies.values()],
  }),
  'elb:DescribeInstanceHealth': (world, { LoadBalancerName }) => {
    const found = classic('elb:DescribeInstanceHealth', world, LoadBalancerName);
    return {
      InstanceStates: found.value.Instances.map(({ InstanceId }) => ({ InstanceId, State: instanceState(world, found, InstanceId) })),
    };
  },
  'elb:DescribeTags': (world, { LoadBalancerNames }) => ({
    TagDescriptions: LoadBalancerNames.map((LoadBalancerName) => {
      classic('elb:DescribeTags', world, LoadBalancerName);
      return { LoadBalancerName, Tags: world.tagsOf(tagKey(LoadBalancerName)) };
    }),
  }),
  'elb:CreateLoadBalancer': (world, input) => {
    const operation = 'elb:CreateLoadBalancer';
    const { LoadBalancerName, Listeners, Subnets, SecurityGroups, Scheme = 'internet-facing', Tags } = input;
    if (!/^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$/.test(LoadBalancerName)) refuse(operation, 'invalid', 'ValidationError', 'name');
    const same = world.classic.get(LoadBalancerName);
    if (same !== undefined) {
      if (same.input !== JSON.stringify(input)) refuse(operation, 'duplicate', 'DuplicateLoadBalancerName');
      return { DNSName: same.value.DNSName };
    }
    if (world.classic.size >= world.quotas.classic) refuse(operation, 'quota', 'TooManyLoadBalancers');
    if (Listeners.length === 0) refuse(operation, 'invalid', 'ValidationError', 'no listeners');
    checkSubnets(operation, world, Subnets);
    checkGroups(operation, world, SecurityGroups);
    const DNSName = `${LoadBalancerName}-1234567890.${region}.elb.amazonaws.com`;
    const value: FakeClassic['value'] = {
      LoadBalancerName,
      DNSName,
      Scheme,
      VPCId: vpcId,
      Subnets,
      AvailabilityZones: [],
      SecurityGroups,
      ListenerDescriptions: [],
      BackendServerDescriptions: [],
      HealthCheck: { Target: `TCP:${Listeners[0]?.InstancePort}`, Interval: 30, Timeout: 5, HealthyThreshold: 10, UnhealthyThreshold: 2 },
      Instances: [],
    };
    addListeners(operation, world, value, Listeners);
    world.classic.set(LoadBalancerName, {
      value,
      input: JSON.stringify(input),
      policies: new Map(),
      attributes: {
        CrossZoneLoadBalancing: { Enabled: false },
        AccessLog: { Enabled: false },
        ConnectionDraining: { Enabled: true, Timeout: 300 },
        ConnectionSettings: { IdleTimeout: 60 },
      },
      registeredAt: new Map(),
    });
    world.recordCreated(tagKey(LoadBalancerName), Tags);
    return { DNSName };
  },
  'elb:DeleteLoadBalancer': (world, { LoadBalancerName }) => {
    const found = world.classic.get(LoadBalancerName);
    world.classic.delete(LoadBalancerName);
    world.tags.delete(tagKey(LoadBalancerName));
    if (found !== undefined) world.interfaces.push({ groups: found.value.SecurityGroups, until: world.now() + delays.interfaces });
    return {};
  },
  'elb:CreateLoadBalancerListeners': (world, { LoadBalancerName, Listeners }) => {
    addListeners(
      'elb:CreateLoadBalancerListeners',
      world,
      classic('elb:CreateLoadBalancerListeners', world, LoadBalancerName).value,
      Listeners,
    );
    return {};
  },
  'elb:DeleteLoadBalancerListeners': (world, { LoadBalancerName, LoadBalancerPorts }) => {
    const { value } = classic('elb:DeleteLoadBalancerListeners', world, LoadBalancerName);
    value.ListenerDescriptions = value.ListenerDescriptions.filter(
      ({ Listener }) => !LoadBalancerPorts.includes(Listener.LoadBalancerPort),
    );
    return {};
  },
  'elb:SetLoadBalancerListenerSSLCertificate': (world, { LoadBalancerName, LoadBalancerPort, SSLCertificateId }) => {
    const operation = 'elb:SetLoadBalancerListenerSSLCertificate';
    const { value } = classic(operation, world, LoadBalancerName);
    const found = value.ListenerDescriptions.find(({ Listener }) => Listener.LoadBalancerPort === LoadBalancerPort);
    if (found === undefined) refuse(operation, 'notFound', 'ListenerNotFound');
    if (found.Listener.SSLCertificateId === undefined) refuse(operation, 'invalid', 'InvalidConfigurationRequest');
    checkCertificate(operation, world, SSLCertificateId);
    value.ListenerDescriptions = value.ListenerDescriptions.map((one) =>
      one === found ? { ...one, Listener: { ...one.Listener, SSLCertificateId } } : one,
    );
    return {};
  },
  'elb:CreateLoadBalancerPolicy': (world, { LoadBalancerName, PolicyName, PolicyTypeName, PolicyAttributes }) => {
    const operation = 'elb:CreateLoadBalancerPolicy';
    const { policies } = classic(operation, world, LoadBalancerName);
    if (!['SSLNegotiationPolicyType', 'ProxyProtocolPolicyType'].includes(PolicyTypeName))
      refuse(operation, 'notFound', 'PolicyTypeNotFound');
    if (policies.has(PolicyName)) refuse(operation, 'duplicate', 'DuplicatePolicyName');
    policies.set(PolicyName, { PolicyName, PolicyTypeName, PolicyAttributeDescriptions: PolicyAttributes });
    return {};
  },
  'elb:SetLoadBalancerPoliciesOfListener': (world, { LoadBalancerName, LoadBalancerPort, PolicyNames }) => {
    const operation = 'elb:SetLoadBalancerPoliciesOfListener';
    const { value, policies } = classic(operation, world, LoadBalancerName);
    for (const name of PolicyNames) if (!policies.has(name)) refuse(operation, 'notFound', 'PolicyNotFound', name);
    if (!value.ListenerDescriptions.some(({ Listener }) => Listener.LoadBalancerPort === LoadBalancerPort))
      refuse(operation, 'notFound', 'ListenerNotFound');
    value.ListenerDescriptions = value.ListenerDescriptions.map((one) =>
      one.Listener.LoadBalancerPort === LoadBalancerPort ? { ...one, PolicyNames } : one,
    );
    return {};
  },
  'elb:SetLoadBalancerPoliciesForBackendServer': (world, { LoadBalancerName, InstancePort, PolicyNames }) => {
    const operation = 'elb:SetLoadBalancerPoliciesForBackendServer';
    const { value, policies } = classic(operation, world, LoadBalancerName);
    for (const name of PolicyNames) if (!policies.has(name)) refuse(operation, 'notFound', 'PolicyNotFound', name);
    const isUsed = value.ListenerDescriptions.some(({ Listener }) => Listener.InstancePort === InstancePort);
    if (!isUsed && PolicyNames.length > 0) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'instance port');
    const others = value.BackendServerDescriptions.filter((one) => one.InstancePort !== InstancePort);
    value.BackendServerDescriptions = PolicyNames.length === 0 ? others : [...others, { InstancePort, PolicyNames }];
    return {};
  },
  'elb:ConfigureHealthCheck': (world, { LoadBalancerName, HealthCheck }) => {
    const operation = 'elb:ConfigureHealthCheck';
    const { value } = classic(operation, world, LoadBalancerName);
    if (!/^(?:(?:TCP|SSL):\d+|(?:HTTP|HTTPS):\d+\/.*)$/.test(HealthCheck.Target))
      refuse(operation, 'invalid', 'ValidationError', HealthCheck.Target);
    if (HealthCheck.Timeout >= HealthCheck.Interval) refuse(operation, 'invalid', 'ValidationError', 'timeout');
    value.HealthCheck = HealthCheck;
    return {};
  },
  'elb:ModifyLoadBalancerAttributes': (world, { LoadBalancerName, LoadBalancerAttributes }) => {
    const found = classic('elb:ModifyLoadBalancerAttributes', world, LoadBalancerName);
    found.attributes = { ...found.attributes, ...LoadBalancerAttributes };
    return {};
  },
  'elb:AttachLoadBalancerToSubnets': (world, { LoadBalancerName, Subnets }) => {
    const { value } = classic('elb:AttachLoadBalancerToSubnets', world, LoadBalancerName);
    checkSubnets('elb:AttachLoadBalancerToSubnets', world, [...new Set([...value.Subnets, ...Subnets])]);
    value.Subnets = [...new Set([...value.Subnets, ...Subnets])];
    return {};
  },
  'elb:DetachLoadBalancerFromSubnets': (world, { LoadBalancerName, Subnets }) => {
    const { value } = classic('elb:DetachLoadBalancerFromSubnets', world, LoadBalancerName);
    const left = value.Subnets.filter((id) => !Subnets.includes(id));
    if (left.length === 0) refuse('elb:DetachLoadBalancerFromSubnets', 'invalid', 'InvalidConfigurationRequest', 'the last subnet');
    value.Subnets = left;
    return {};
  },
  'elb:ApplySecurityGroupsToLoadBalancer': (world, { LoadBalancerName, SecurityGroups }) => {
    checkGroups('elb:ApplySecurityGroupsToLoadBalancer', world, SecurityGroups);
    classic('elb:ApplySecurityGroupsToLoadBalancer', world, LoadBalancerName).value.SecurityGroups = SecurityGroups;
    return {};
  },
  'elb:RegisterInstancesWithLoadBalancer': (world, { LoadBalancerName, Instances }) => {
    const operation = 'elb:RegisterInstancesWithLoadBalancer';
    const { value, registeredAt } = classic(operation, world, LoadBalancerName);
    for (const { InstanceId } of Instances)
      if (!world.instances.has(InstanceId) || world.unsupported.has(InstanceId))
        refuse(operation, 'invalid', 'InvalidInstance', `Could not find EC2 instance ${InstanceId}`);
    for (const { InstanceId } of Instances) {
      if (value.Instances.some((one) => one.InstanceId === InstanceId)) continue;
      value.Instances = [...value.Instances, { InstanceId }];
      registeredAt.set(InstanceId, world.now());
    }
    return {};
  },
  'elb:DeregisterInstancesFromLoadBalancer': (world, { LoadBalancerName, Instances }) => {
    const { value } = classic('elb:DeregisterInstancesFromLoadBalancer', world, LoadBalancerName);
    value.Instances = value.Instances.filter(({ InstanceId }) => !Instances.some((one) => one.InstanceId === InstanceId));
    return {};
  },
  'elb:AddTags': (world, { LoadBalancerNames, Tags }) => {
    for (const name of LoadBalancerNames) {
      classic('elb:AddTags', world, name);
      world.setTags(tagKey(name), Tags);
    }
    return {};
  },
  'elb:RemoveTags': (world, { LoadBalancerNames, Tags }) => {
    for (const name of LoadBalancerNames) {
      const tags = world.tags.get(tagKey(name));
      assert(tags);
      for (const { Key } of Tags) tags.delete(Key);
    }
    return {};
  },
};
