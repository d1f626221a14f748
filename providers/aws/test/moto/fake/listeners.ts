import type { Listener, NlbProtocol } from '../../../cloud/elbv2.ts';
import { forwardingOf } from '../../../cloud/forwarding.ts';
import type { Operation } from '../../../cloud/operations.ts';
import type { Handlers } from './cloud.ts';
import { loadBalancer } from './load-balancers.ts';
import { checkTargetQuota, startHealthChecks, serversOf } from './target-groups.ts';
import { refuse, type FakeListener, type FakeTargetGroup, type World } from './world.ts';

type Own =
  | 'elbv2:DescribeListeners'
  | 'elbv2:DescribeListenerAttributes'
  | 'elbv2:DescribeListenerCertificates'
  | 'elbv2:DescribeSSLPolicies'
  | 'elbv2:CreateListener'
  | 'elbv2:ModifyListener'
  | 'elbv2:ModifyListenerAttributes'
  | 'elbv2:DeleteListener'
  | 'elbv2:AddListenerCertificates'
  | 'elbv2:RemoveListenerCertificates';

/** Protocols of the target groups to which a listener of each protocol may forward. */
const pairs: Readonly<Record<NlbProtocol, readonly NlbProtocol[]>> = {
  TCP: ['TCP'],
  TLS: ['TCP', 'TLS'],
  UDP: ['UDP'],
  TCP_UDP: ['TCP_UDP'],
  QUIC: ['QUIC'],
  TCP_QUIC: ['TCP_QUIC'],
};

const isSslPolicy = (name: string): boolean => /^ELBSecurityPolicy-[\w-]*20\d\d-\d\d$/.test(name);

function check(operation: Operation, world: World, listener: Listener): void {
  const { Protocol, Certificates = [], SslPolicy, AlpnPolicy = [], LoadBalancerArn } = listener;
  if (Protocol === 'TLS') {
    if (Certificates.length !== 1) refuse(operation, 'invalid', 'CertificateNotFound', 'TLS takes exactly one default certificate');
    for (const { CertificateArn } of Certificates) {
      const known = world.certificates.has(CertificateArn) || CertificateArn.includes(':iam:');
      if (!known) refuse(operation, 'certificate', 'CertificateNotFound', CertificateArn);
    }
    if (SslPolicy !== undefined && !isSslPolicy(SslPolicy)) refuse(operation, 'invalid', 'SSLPolicyNotFound', SslPolicy);
  } else if (Certificates.length > 0 || SslPolicy !== undefined || AlpnPolicy.length > 0) {
    refuse(operation, 'invalid', 'InvalidConfigurationRequest', `TLS settings with ${Protocol}`);
  }
  const { groups: wanted } = forwardingOf(listener);
  const groups = [...wanted.keys()].map((arn) => world.targetGroups.get(arn) ?? refuse(operation, 'notFound', 'TargetGroupNotFound', arn));
  if (groups.length === 0) refuse(operation, 'notFound', 'TargetGroupNotFound');
  checkWeights(operation, listener, groups);
  const server = world.loadBalancers.get(LoadBalancerArn);
  checkQuic(operation, world, listener);
  for (const { value } of groups) {
    if (!pairs[Protocol].includes(value.Protocol))
      refuse(operation, 'invalid', 'IncompatibleProtocols', `${Protocol} to ${value.Protocol}`);
    if (value.TargetType === 'alb' && Protocol !== 'TCP') refuse(operation, 'invalid', 'IncompatibleProtocols', `${Protocol} to an ALB`);
    if (serversOf(world, value.TargetGroupArn).some((arn) => arn !== LoadBalancerArn))
      refuse(operation, 'quota', 'TargetGroupAssociationLimit', 'it serves another load balancer');
    checkTargetQuota(operation, world, LoadBalancerArn, value.TargetGroupArn);
    if (value.IpAddressType === 'ipv6' && server?.value.IpAddressType === 'ipv4')
      refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'IPv6 targets');
  }
}

/** AWS' conditions for several target groups: their number, their weights, one protocol and family, no QUIC, and no stickiness with TLS. */
function checkWeights(operation: Operation, { Protocol, DefaultActions: [action] }: Listener, groups: readonly FakeTargetGroup[]): void {
  const invalid = (why: string): never => refuse(operation, 'invalid', 'InvalidConfigurationRequest', why);
  const { TargetGroups = [], TargetGroupStickinessConfig } = action?.ForwardConfig ?? {};
  if (action?.TargetGroupArn !== undefined && action.ForwardConfig !== undefined) invalid('both forms of a forward');
  if (groups.length > 5) refuse(operation, 'quota', 'TooManyTargetGroups');
  if (TargetGroups.length !== new Set(TargetGroups.map((one) => one.TargetGroupArn)).size) invalid('a target group twice');
  if (TargetGroups.some(({ Weight }) => !Number.isInteger(Weight) || Weight < 0 || Weight > 999)) invalid('weight');
  const isSticky = TargetGroupStickinessConfig?.Enabled === true;
  if (isSticky && Protocol === 'TLS') invalid('stickiness with TLS');
  if (groups.length < 2) return;
  if (Protocol.endsWith('QUIC')) invalid('weights with QUIC');
  if (new Set(groups.map(({ value }) => `${value.Protocol} ${value.IpAddressType}`)).size > 1) invalid('target groups differ');
  if (!isSticky && groups.some(({ attributes }) => attributes.get('stickiness.enabled') === 'true')) invalid('sticky target groups');
}

/** AWS' conditions for QUIC: no security groups, no dual stack, and no other listener for UDP or QUIC. */
function checkQuic(operation: Operation, world: World, { LoadBalancerArn, ListenerArn, Protocol }: Listener): void {
  const carriesUdp = (protocol: NlbProtocol): boolean => /UDP|QUIC/.test(protocol);
  const others = ofLoadBalancer(world, LoadBalancerArn).filter(({ value }) => value.ListenerArn !== ListenerArn);
  const isQuic = Protocol.endsWith('QUIC');
  const clash = others.find(({ value }) => carriesUdp(value.Protocol) && (isQuic || value.Protocol.endsWith('QUIC')));
  if (carriesUdp(Protocol) && clash !== undefined)
    refuse(operation, 'invalid', 'InvalidConfigurationRequest', `${Protocol} beside ${clash.value.Protocol}`);
  if (!isQuic) return;
  const server = world.loadBalancers.get(LoadBalancerArn)?.value;
  if ((server?.SecurityGroups ?? []).length > 0) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'QUIC with security groups');
  if (server?.IpAddressType !== 'ipv4') refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'QUIC with dual stack');
}

function listener(operation: Operation, world: World, arn: string): FakeListener {
  return world.listeners.get(arn) ?? refuse(operation, 'notFound', 'ListenerNotFound', arn);
}

const ofLoadBalancer = (world: World, arn: string): FakeListener[] =>
  [...world.listeners.values()].filter(({ value }) => value.LoadBalancerArn === arn);

export const listenerHandlers: Pick<Handlers, Own> = {
  'elbv2:DescribeListeners': (world, { LoadBalancerArn }) => {
    loadBalancer('elbv2:DescribeListeners', world, LoadBalancerArn);
    return { Listeners: ofLoadBalancer(world, LoadBalancerArn).map(({ value }) => value) };
  },
  'elbv2:DescribeListenerAttributes': (world, { ListenerArn }) => ({
    Attributes: [...listener('elbv2:DescribeListenerAttributes', world, ListenerArn).attributes].map(([Key, Value]) => ({ Key, Value })),
  }),
  'elbv2:DescribeListenerCertificates': (world, { ListenerArn }) => {
    const { value, extraCertificates } = listener('elbv2:DescribeListenerCertificates', world, ListenerArn);
    const defaults = (value.Certificates ?? []).map(({ CertificateArn }) => ({ CertificateArn, IsDefault: true }));
    return { Certificates: [...defaults, ...[...extraCertificates].map((CertificateArn) => ({ CertificateArn, IsDefault: false }))] };
  },
  'elbv2:DescribeSSLPolicies': (_, { Names }) => {
    for (const name of Names) if (!isSslPolicy(name)) refuse('elbv2:DescribeSSLPolicies', 'invalid', 'SSLPolicyNotFound', name);
    return { SslPolicies: Names.map((Name) => ({ Name })) };
  },
  'elbv2:CreateListener': (world, { Tags, ...input }) => {
    const operation = 'elbv2:CreateListener';
    loadBalancer(operation, world, input.LoadBalancerArn);
    const others = ofLoadBalancer(world, input.LoadBalancerArn);
    if (others.some(({ value }) => value.Port === input.Port)) refuse(operation, 'duplicate', 'DuplicateListener', `${input.Port}`);
    if (others.length >= 50) refuse(operation, 'quota', 'TooManyListeners');
    const value: Listener = { ...input, ListenerArn: world.arn('listener/net', `${input.Port}`) };
    check(operation, world, value);
    const made: FakeListener = {
      value,
      attributes: new Map(value.Protocol === 'TLS' ? [] : [['tcp.idle_timeout.seconds', '350']]),
      extraCertificates: new Set(),
    };
    world.listeners.set(value.ListenerArn, made);
    world.recordCreated(value.ListenerArn, Tags);
    for (const arn of forwardingOf(value).groups.keys()) startHealthChecks(world, arn);
    return { Listeners: [value] };
  },
  'elbv2:ModifyListener': (world, { ListenerArn, ...changes }) => {
    const operation = 'elbv2:ModifyListener';
    const found = listener(operation, world, ListenerArn);
    const { Certificates, SslPolicy, AlpnPolicy, ...rest } = { ...found.value, ...changes };
    const isTls = rest.Protocol === 'TLS';
    // A listener that changes from TLS to another protocol loses its TLS settings, but a request must not set them.
    if (!isTls && (changes.Certificates ?? changes.SslPolicy ?? changes.AlpnPolicy) !== undefined)
      refuse(operation, 'invalid', 'InvalidConfigurationRequest');
    const value = {
      ...rest,
      ...(isTls && Certificates !== undefined ? { Certificates } : {}),
      ...(isTls && SslPolicy !== undefined ? { SslPolicy } : {}),
      ...(isTls && AlpnPolicy !== undefined ? { AlpnPolicy } : {}),
    };
    check(operation, world, value);
    if (!isTls) found.extraCertificates.clear();
    if (isTls) found.attributes.clear();
    else if (!found.attributes.has('tcp.idle_timeout.seconds')) found.attributes.set('tcp.idle_timeout.seconds', '350');
    world.listeners.set(ListenerArn, { ...found, value });
    for (const arn of forwardingOf(value).groups.keys()) startHealthChecks(world, arn);
    return {};
  },
  'elbv2:ModifyListenerAttributes': (world, { ListenerArn, Attributes }) => {
    const { value, attributes } = listener('elbv2:ModifyListenerAttributes', world, ListenerArn);
    for (const { Key, Value } of Attributes) {
      if (value.Protocol === 'TLS' || Key !== 'tcp.idle_timeout.seconds')
        refuse('elbv2:ModifyListenerAttributes', 'invalid', 'InvalidConfigurationRequest', Key);
      attributes.set(Key, Value);
    }
    return {};
  },
  'elbv2:DeleteListener': (world, { ListenerArn }) => {
    listener('elbv2:DeleteListener', world, ListenerArn);
    world.listeners.delete(ListenerArn);
    return {};
  },
  'elbv2:AddListenerCertificates': (world, { ListenerArn, Certificates }) => {
    const operation = 'elbv2:AddListenerCertificates';
    const { value, extraCertificates } = listener(operation, world, ListenerArn);
    if (value.Protocol !== 'TLS') refuse(operation, 'invalid', 'OperationNotPermitted');
    for (const { CertificateArn } of Certificates) {
      if (!world.certificates.has(CertificateArn) && !CertificateArn.includes(':iam:'))
        refuse(operation, 'certificate', 'CertificateNotFound');
      if (extraCertificates.size >= 25) refuse(operation, 'quota', 'TooManyCertificates');
      extraCertificates.add(CertificateArn);
    }
    return {};
  },
  'elbv2:RemoveListenerCertificates': (world, { ListenerArn, Certificates }) => {
    const { value, extraCertificates } = listener('elbv2:RemoveListenerCertificates', world, ListenerArn);
    for (const { CertificateArn } of Certificates) {
      const isDefault = value.Certificates?.some((one) => one.CertificateArn === CertificateArn) === true;
      if (isDefault && !extraCertificates.has(CertificateArn))
        refuse('elbv2:RemoveListenerCertificates', 'invalid', 'OperationNotPermitted');
      extraCertificates.delete(CertificateArn);
    }
    return {};
  },
};
