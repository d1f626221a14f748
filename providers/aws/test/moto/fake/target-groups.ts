import type { HealthCheckSettings, Listener, TargetDescription, TargetGroup, TargetHealthDescription } from '../../../cloud/elbv2.ts';
import { forwardingOf } from '../../../cloud/forwarding.ts';
import type { Operation } from '../../../cloud/operations.ts';
import { parseAddress } from '../../../../../src/net/address.ts';
import { parsePrefix, prefixContains } from '../../../../../src/net/prefix.ts';
import type { Handlers } from './cloud.ts';
import { delays, refuse, type FakeTarget, type FakeTargetGroup, type World } from './world.ts';

type Own =
  | 'elbv2:DescribeTargetGroups'
  | 'elbv2:DescribeTargetGroupAttributes'
  | 'elbv2:DescribeTargetHealth'
  | 'elbv2:CreateTargetGroup'
  | 'elbv2:ModifyTargetGroup'
  | 'elbv2:ModifyTargetGroupAttributes'
  | 'elbv2:DeleteTargetGroup'
  | 'elbv2:RegisterTargets'
  | 'elbv2:DeregisterTargets';

/** AWS' documented default attributes of a target group of an NLB. */
function attributesOfNew({ TargetType, Protocol }: Pick<TargetGroup, 'TargetType' | 'Protocol'>): Map<string, string> {
  return new Map([
    ['deregistration_delay.connection_termination.enabled', 'false'],
    ['deregistration_delay.timeout_seconds', '300'],
    ['load_balancing.cross_zone.enabled', 'use_load_balancer_configuration'],
    ['preserve_client_ip.enabled', `${TargetType !== 'ip' || /UDP|QUIC/.test(Protocol)}`],
    ['proxy_protocol_v2.enabled', 'false'],
    ['stickiness.enabled', 'false'],
    ['stickiness.type', 'source_ip'],
  ]);
}

export function serversOf(world: World, targetGroupArn: string): string[] {
  const servers = new Set<string>();
  for (const { value } of world.listeners.values()) if (forwardsTo(value, targetGroupArn)) servers.add(value.LoadBalancerArn);
  return [...servers];
}

function forwardsTo({ DefaultActions }: Pick<Listener, 'DefaultActions'>, targetGroupArn: string): boolean {
  const [action] = DefaultActions;
  if (action?.ForwardConfig === undefined) return action?.TargetGroupArn === targetGroupArn && DefaultActions.length === 1;
  return forwardingOf({ DefaultActions }).groups.has(targetGroupArn);
}

/** Starts the health checks when a listener forwards to the group. */
export function startHealthChecks(world: World, targetGroupArn: string): void {
  for (const target of world.targetGroups.get(targetGroupArn)?.targets.values() ?? []) target.checkedSince ??= world.now();
}

function targetGroup(operation: Operation, world: World, arn: string): FakeTargetGroup {
  const found = world.targetGroups.get(arn);
  if (found === undefined || !world.isVisible(arn)) refuse(operation, 'notFound', 'TargetGroupNotFound', arn);
  return found;
}

function shown(world: World, { value }: FakeTargetGroup): FakeTargetGroup['value'] {
  return { ...value, LoadBalancerArns: serversOf(world, value.TargetGroupArn) };
}

function checkHealthCheck(operation: Operation, check: HealthCheckSettings): void {
  const invalid = (why: string): never => refuse(operation, 'invalid', 'ValidationError', why);
  const { HealthCheckProtocol: protocol, HealthCheckIntervalSeconds: interval = 10, HealthCheckTimeoutSeconds: timeout = 6 } = check;
  if (protocol === 'TCP' && (check.HealthCheckPath ?? check.Matcher) !== undefined) invalid('path and matcher are for HTTP');
  if (interval < 5 || interval > 300) invalid('interval');
  if (timeout < 2 || timeout > 120) invalid('timeout');
  for (const count of [check.HealthyThresholdCount ?? 3, check.UnhealthyThresholdCount ?? 3])
    if (count < 2 || count > 10) invalid('threshold');
  if (!/^(?:traffic-port|\d{1,5})$/.test(check.HealthCheckPort ?? 'traffic-port')) invalid('port');
}

export function health(
  world: World,
  { value }: FakeTargetGroup,
  { target, checkedSince, drainingSince }: FakeTarget,
): TargetHealthDescription['TargetHealth'] {
  const now = world.now();
  if (drainingSince !== undefined) return { State: 'draining', Reason: 'Target.DeregistrationInProgress' };
  const servedSince = zoneServedSince(world, value.TargetGroupArn, target);
  if (servedSince === undefined || checkedSince === undefined) return { State: 'unused', Reason: 'Target.NotInUse' };
  if (now - Math.max(checkedSince, servedSince) < delays.healthCheck) return { State: 'initial', Reason: 'Elb.RegistrationInProgress' };
  return world.unhealthy.has(target.Id) ? { State: 'unhealthy', Reason: 'Target.FailedHealthChecks' } : { State: 'healthy' };
}

/** Returns the time since which a load balancer that forwards to the group serves the target's zone. Undefined: none does. */
function zoneServedSince(world: World, targetGroupArn: string, target: TargetDescription): number | undefined {
  const zone = target.AvailabilityZone === 'all' ? undefined : world.zoneOf(target);
  const since = serversOf(world, targetGroupArn).flatMap((arn) => {
    const server = world.loadBalancers.get(arn);
    const has = zone === undefined || server?.value.AvailabilityZones.some(({ ZoneName }) => ZoneName === zone);
    return server !== undefined && has === true ? [server.zonesSince.get(zone ?? '') ?? server.createdAt] : [];
  });
  return since.length === 0 ? undefined : Math.min(...since);
}

/** Deletes targets that have finished draining. */
function removeDrained(world: World, { targets }: FakeTargetGroup): void {
  for (const [key, { drainingSince }] of targets)
    if (drainingSince !== undefined && world.now() - drainingSince >= delays.draining) targets.delete(key);
}

export const targetGroupHandlers: Pick<Handlers, Own> = {
  'elbv2:DescribeTargetGroups': (world, { LoadBalancerArn, TargetGroupArns, Names }) => {
    const isVisible = ({ value }: FakeTargetGroup): boolean => world.isVisible(value.TargetGroupArn);
    const find = (text: string): FakeTargetGroup => {
      const [, region] = /^arn:aws:elasticloadbalancing:([^:]+):/.exec(text) ?? [];
      if (region !== undefined && region !== 'us-east-1')
        refuse('elbv2:DescribeTargetGroups', 'invalid', 'ValidationError', `'${text}' is not a valid target group ARN`);
      const found =
        TargetGroupArns === undefined
          ? world.targetGroups.values().find((one) => one.value.TargetGroupName === text && isVisible(one))
          : world.targetGroups.get(text);
      if (found !== undefined && isVisible(found)) return found;
      return refuse('elbv2:DescribeTargetGroups', 'notFound', 'TargetGroupNotFound', text);
    };
    const wanted = TargetGroupArns ?? Names;
    if (wanted !== undefined) return { TargetGroups: wanted.map((text) => shown(world, find(text))) };
    const all = world.targetGroups
      .values()
      .filter(isVisible)
      .toArray()
      .map((group) => shown(world, group));
    return { TargetGroups: all.filter((one) => LoadBalancerArn === undefined || one.LoadBalancerArns.includes(LoadBalancerArn)) };
  },
  'elbv2:DescribeTargetGroupAttributes': (world, { TargetGroupArn }) => ({
    Attributes: [...targetGroup('elbv2:DescribeTargetGroupAttributes', world, TargetGroupArn).attributes].map(([Key, Value]) => ({
      Key,
      Value,
    })),
  }),
  'elbv2:DescribeTargetHealth': (world, { TargetGroupArn }) => {
    const group = targetGroup('elbv2:DescribeTargetHealth', world, TargetGroupArn);
    removeDrained(world, group);
    return {
      TargetHealthDescriptions: [...group.targets.values()].map((one) => ({ Target: one.target, TargetHealth: health(world, group, one) })),
    };
  },
  'elbv2:CreateTargetGroup': (world, { Tags, ...input }) => {
    const operation = 'elbv2:CreateTargetGroup';
    if (!/^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$/.test(input.Name)) refuse(operation, 'invalid', 'ValidationError', 'name');
    checkHealthCheck(operation, input);
    const isAlb = input.TargetType === 'alb';
    if (isAlb && (input.Protocol !== 'TCP' || input.IpAddressType !== 'ipv4' || input.HealthCheckProtocol === 'TCP'))
      refuse(operation, 'invalid', 'ValidationError', 'an ALB takes TCP over IPv4, and is checked by HTTP or HTTPS');
    const same = [...world.targetGroups.values()].find(({ value }) => value.TargetGroupName === input.Name);
    const text = JSON.stringify({ ...input, Tags });
    if (same !== undefined) {
      if (same.input !== text) refuse(operation, 'duplicate', 'DuplicateTargetGroupName', input.Name);
      return { TargetGroups: [shown(world, same)] };
    }
    if (input.Protocol.endsWith('QUIC') && input.TargetType !== 'ip')
      refuse(operation, 'invalid', 'ValidationError', 'QUIC with instances');
    if (input.Port < 1 || input.Port > 65_535) refuse(operation, 'invalid', 'ValidationError', 'port');
    const { Name, ...settings } = input;
    const TargetGroupArn = world.arn('targetgroup', Name);
    const made: FakeTargetGroup = {
      value: { ...settings, TargetGroupName: Name, TargetGroupArn, LoadBalancerArns: [] },
      input: text,
      attributes: attributesOfNew(input),
      targets: new Map(),
    };
    world.targetGroups.set(TargetGroupArn, made);
    world.recordCreated(TargetGroupArn, Tags);
    return { TargetGroups: [shown(world, made)] };
  },
  'elbv2:ModifyTargetGroup': (world, { TargetGroupArn, ...changes }) => {
    const group = targetGroup('elbv2:ModifyTargetGroup', world, TargetGroupArn);
    const { HealthCheckPath, Matcher, ...rest } = { ...group.value, ...changes };
    if (rest.HealthCheckProtocol === 'TCP' && (changes.HealthCheckPath ?? changes.Matcher) !== undefined)
      refuse('elbv2:ModifyTargetGroup', 'invalid', 'ValidationError');
    const isTcp = rest.HealthCheckProtocol === 'TCP';
    const value = {
      ...rest,
      ...(isTcp || HealthCheckPath === undefined ? {} : { HealthCheckPath }),
      ...(isTcp || Matcher === undefined ? {} : { Matcher }),
    };
    checkHealthCheck('elbv2:ModifyTargetGroup', value);
    world.targetGroups.set(TargetGroupArn, { ...group, value });
    return {};
  },
  'elbv2:ModifyTargetGroupAttributes': (world, { TargetGroupArn, Attributes }) => {
    const operation = 'elbv2:ModifyTargetGroupAttributes';
    const { value, attributes } = targetGroup(operation, world, TargetGroupArn);
    for (const { Key, Value } of Attributes) {
      if (!attributes.has(Key)) refuse(operation, 'invalid', 'InvalidConfigurationRequest', Key);
      const fixed = Key === 'preserve_client_ip.enabled' && Value === 'false' && /UDP|QUIC/.test(value.Protocol);
      if (fixed) refuse(operation, 'invalid', 'InvalidConfigurationRequest', 'UDP preserves the client IP');
      attributes.set(Key, Value);
    }
    return {};
  },
  'elbv2:DeleteTargetGroup': (world, { TargetGroupArn }) => {
    if (serversOf(world, TargetGroupArn).length > 0) refuse('elbv2:DeleteTargetGroup', 'inUse', 'ResourceInUse', TargetGroupArn);
    world.targetGroups.delete(TargetGroupArn);
    return {};
  },
  'elbv2:RegisterTargets': (world, { TargetGroupArn, Targets }) => {
    const operation = 'elbv2:RegisterTargets';
    const group = targetGroup(operation, world, TargetGroupArn);
    removeDrained(world, group);
    if (Targets.length === 0 || Targets.length > 200) refuse(operation, 'invalid', 'ValidationError', `${Targets.length} targets`);
    for (const { Id, Port, AvailabilityZone } of Targets) {
      if (group.value.TargetType === 'alb') {
        checkAlb(operation, world, group, Id, Port);
      } else if (group.value.TargetType === 'instance') {
        if (!world.instances.has(Id) || world.unsupported.has(Id))
          refuse(operation, 'invalid', 'InvalidTarget', `The target '${Id}' is not supported`);
      } else if (AvailabilityZone !== 'all' && !isInVpc(world, group.value.VpcId, Id)) refuse(operation, 'invalid', 'InvalidTarget', Id);
    }
    checkServerIds(operation, world, group, Targets);
    const keys = new Set([...group.targets.keys(), ...Targets.map(({ Id, Port }) => `${Id} ${Port}`)]);
    if (keys.size > world.quotas.targets) refuse(operation, 'quota', 'TooManyTargets');
    for (const server of serversOf(world, TargetGroupArn)) checkTargetQuota(operation, world, server, TargetGroupArn, Targets);
    for (const target of Targets) {
      const key = `${target.Id} ${target.Port}`;
      const isAttached = serversOf(world, TargetGroupArn).length > 0;
      const before = group.targets.get(key);
      if (before === undefined || before.drainingSince !== undefined) {
        group.targets.set(key, { target, checkedSince: isAttached ? world.now() : undefined, drainingSince: undefined });
      }
    }
    return {};
  },
  'elbv2:DeregisterTargets': (world, { TargetGroupArn, Targets }) => {
    const operation = 'elbv2:DeregisterTargets';
    const group = targetGroup(operation, world, TargetGroupArn);
    for (const { Id, Port } of Targets) {
      const target = group.targets.get(`${Id} ${Port}`);
      if (target === undefined || target.drainingSince !== undefined) refuse(operation, 'notFound', 'InvalidTarget', Id);
    }
    for (const { Id, Port } of Targets) {
      const target = group.targets.get(`${Id} ${Port}`);
      if (target === undefined) continue;
      target.drainingSince = world.now();
      if (serversOf(world, TargetGroupArn).length === 0) group.targets.delete(`${Id} ${Port}`);
    }
    return {};
  },
};

/**
 * AWS counts the targets of all target groups of a load balancer in each zone, draining ones included. `added`: targets that join the group.
 * A target of two groups counts twice.
 */
export function checkTargetQuota(
  operation: Operation,
  world: World,
  loadBalancerArn: string,
  targetGroupArn: string,
  added: readonly TargetDescription[] = [],
): void {
  const counts = new Map<string, number>();
  for (const [arn, { targets }] of world.targetGroups) {
    if (arn !== targetGroupArn && !serversOf(world, arn).includes(loadBalancerArn)) continue;
    const all = new Map([...targets].map(([key, { target }]) => [key, target] as const));
    if (arn === targetGroupArn) for (const one of added) all.set(`${one.Id} ${one.Port}`, one);
    for (const one of all.values()) {
      const zone = world.zoneOf(one);
      if (zone !== undefined) counts.set(zone, (counts.get(zone) ?? 0) + 1);
    }
  }
  const full = [...counts].find(([, count]) => count > world.quotas.targetsPerZone);
  if (full !== undefined)
    refuse(operation, 'quota', 'TooManyTargets', `You cannot have more than ${world.quotas.targetsPerZone} targets in ${full[0]}`);
}

/** AWS takes a server id only with QUIC, does not change that of a registered target, and wants each once in a listener. */
function checkServerIds(operation: Operation, world: World, group: FakeTargetGroup, targets: readonly TargetDescription[]): void {
  const invalid = (why: string): never => refuse(operation, 'invalid', 'ValidationError', why);
  const isQuic = group.value.Protocol.endsWith('QUIC');
  const listeners = [...world.listeners.values()].map(({ value }) => [...forwardingOf(value).groups.keys()]);
  const beside = new Set(listeners.filter((arns) => arns.includes(group.value.TargetGroupArn)).flat());
  const groups = [group, ...[...beside].flatMap((arn) => world.targetGroups.get(arn) ?? [])];
  const ids = new Map<string | undefined, string>();
  for (const { targets: present } of groups)
    for (const [key, { target, drainingSince }] of present) if (drainingSince === undefined) ids.set(target.QuicServerId, key);
  for (const { Id, Port, QuicServerId } of targets) {
    if (!isQuic && QuicServerId !== undefined) invalid('a server id without QUIC');
    if (!isQuic) continue;
    if (!/^0x[0-9a-f]{16}$/.test(QuicServerId ?? '')) invalid(`server id ${QuicServerId}`);
    const key = `${Id} ${Port}`;
    const present = group.targets.get(key);
    if (present?.drainingSince === undefined && present !== undefined && present.target.QuicServerId !== QuicServerId)
      invalid(`${key} has another server id`);
    if ((ids.get(QuicServerId) ?? key) !== key) invalid(`server id ${QuicServerId} of ${key} is that of ${ids.get(QuicServerId)}`);
    ids.set(QuicServerId, key);
  }
}

/** AWS takes one ALB of the same VPC in a group, which listens on the port of the group. */
function checkAlb(operation: Operation, world: World, { value, targets }: FakeTargetGroup, arn: string, port: number): void {
  const alb = world.loadBalancers.get(arn)?.value;
  const listens = [...world.listeners.values()].some((one) => one.value.LoadBalancerArn === arn && one.value.Port === port);
  const fits = alb?.Type === 'application' && alb.VpcId === value.VpcId && listens && port === value.Port;
  if (!fits) refuse(operation, 'invalid', 'InvalidTarget', arn);
  if ([...targets.values()].some(({ target }) => target.Id !== arn)) refuse(operation, 'quota', 'TooManyTargets', 'one ALB');
}

function isInVpc(world: World, vpcId: string, text: string): boolean {
  const vpc = world.vpcs.get(vpcId);
  const address = parseAddress(text);
  const cidrs = [
    ...(vpc?.CidrBlockAssociationSet ?? []).map(({ CidrBlock }) => CidrBlock),
    ...(vpc?.Ipv6CidrBlockAssociationSet ?? []).map(({ Ipv6CidrBlock }) => Ipv6CidrBlock),
  ];
  return cidrs.some((cidr) => {
    const prefix = parsePrefix(cidr);
    return address.ok && prefix.ok && prefixContains(prefix.value, address.value);
  });
}
