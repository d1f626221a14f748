import { defined } from '../../../../src/lang/defined.ts';
import type { HealthCheckSettings } from '../../cloud/elbv2.ts';
import { resources, tagKeys, tagList } from '../../model/tags.ts';
import { limits } from '../../model/limits.ts';
import { placeholder, type Action } from '../steps/action.ts';
import type { DesiredHealthCheck, DesiredNlb, DesiredTargetGroup } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedTargetGroup, Tags } from '../../model/observed.ts';
import { targetGroupDefaults } from './attribute-defaults.ts';
import { planAttributes, beforeTagsAtCreation } from '../steps/attributes.ts';
import { planTags, Steps } from '../steps/steps.ts';
import { lastTargetsTag, type LastTargets } from '../steps/last-targets.ts';
import { lastTargetsOfGroup, planKeptGroup } from './kept-group.ts';
import { planTargets } from './targets.ts';

/** A target group that listeners can forward to. */
export interface UsableTargetGroup {
  /** An ARN, or a placeholder. */
  readonly arn: string;
  /** The id of the action that creates it. Absent if it exists. */
  readonly needs?: string;
  readonly observed?: ObservedTargetGroup;
}

interface PlannedTargetGroups {
  /** By key. */
  readonly usable: ReadonlyMap<string, UsableTargetGroup>;
  /**
   * Plans the registrations of targets that together may exceed AWS' quota for a load balancer, the same share for each port. Must be called
   * after the listeners are planned: AWS refuses a listener to a group whose targets exceed the quota.
   */
  readonly register: () => void;
}

/**
 * Plans target groups by key. Protocol, target type, family and the ALB of a group cannot be changed, so a difference leads to a new group beside the old one.
 * A group that serves another load balancer cannot be used, but its targets stay current until that load balancer is deleted.
 */
export function planTargetGroups(steps: Steps, input: PlanInput<DesiredNlb>, loadBalancerArn: string | undefined): PlannedTargetGroups {
  const { desired, observed, vpcId, zones, zoneOf } = input;
  const usable = new Map<string, UsableTargetGroup>();
  const served = new Set(desired.subnets.flatMap(({ SubnetId }) => zones.get(SubnetId) ?? []));
  const count = desired.targetGroups.reduce((sum, { targets }) => sum + targets.length, 0);
  const mayExceedQuota = count > limits.targetsPerZone;
  const fair = Math.max(smallestShare, Math.floor(limits.targetsPerZone / desired.targetGroups.length));
  const batch = mayExceedQuota ? Math.min(limits.registrationBatch, fair) : undefined;
  const ofTargets = mayExceedQuota ? new Steps() : steps;
  for (const group of desired.targetGroups) {
    const candidates = observed.targetGroups.filter(({ tags }) => tags[tagKeys.resource] === resources.targetGroup(group.key));
    const match = candidates
      .filter((candidate) => isUsable(candidate, group, vpcId, loadBalancerArn))
      .toSorted((a, b) => attached(b, loadBalancerArn) - attached(a, loadBalancerArn) || (arnOf(a) < arnOf(b) ? -1 : 1))[0];
    const last = match === undefined ? undefined : lastTargetsOfGroup(group, match, input);
    const needs = match === undefined ? create(steps, group, vpcId) : update(steps, group, match, last);
    const arn = match?.targetGroup.TargetGroupArn ?? placeholder(`target group ${group.key}`);
    usable.set(group.key, { arn, ...defined({ needs, observed: match }) });
    planTargets(ofTargets, { ...group, arn }, match, { zoneOf, served, ...defined({ batch, last }) }, needs);
    for (const other of candidates) {
      // AWS takes one ALB in a group, so a replaced group keeps its own.
      const isKept = other !== match && group.targetType !== 'alb' && other.targetGroup.TargetType === group.targetType;
      const serves = isKept && other.targetGroup.LoadBalancerArns.length > 0;
      if (serves) planKeptGroup(ofTargets, { ...group, arn: arnOf(other) }, other, input);
    }
  }
  if (!mayExceedQuota) return { usable, register: () => undefined };
  steps.waits.push(...ofTargets.waits);
  return { usable, register: () => void steps.actions.push(...inTurns(ofTargets.actions)) };
}

/** The fewest targets in one of several calls that share a quota. */
const smallestShare = 20;

/** Sorts actions so that the target groups register their targets in turns, after all that makes room and before what waits for them. */
function inTurns(actions: readonly Action[]): Action[] {
  const turns = new Map<string, number>();
  const registrations = new Map<string, number>();
  const rank = ({ id, operation, input, needs, instead }: Action): number => {
    if (operation === 'elbv2:RegisterTargets') {
      const turn = (turns.get(input.TargetGroupArn) ?? 0) + 1;
      turns.set(input.TargetGroupArn, turn);
      registrations.set(id, turn);
      return turn;
    }
    return [...needs, ...(instead?.of ?? [])].some((need) => registrations.has(need)) ? Infinity : 0;
  };
  return actions
    .map((action) => ({ action, rank: rank(action) }))
    .toSorted((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank))
    .map(({ action }) => action);
}

const arnOf = ({ targetGroup }: ObservedTargetGroup): string => targetGroup.TargetGroupArn;

function attached({ targetGroup }: ObservedTargetGroup, loadBalancerArn: string | undefined): number {
  return loadBalancerArn !== undefined && targetGroup.LoadBalancerArns.includes(loadBalancerArn) ? 1 : 0;
}

function isUsable(
  { targetGroup, health }: ObservedTargetGroup,
  group: DesiredTargetGroup,
  vpcId: string,
  loadBalancerArn: string | undefined,
): boolean {
  const { LoadBalancerArns: servers } = targetGroup;
  return (
    targetGroup.Protocol === group.protocol &&
    targetGroup.TargetType === group.targetType &&
    targetGroup.IpAddressType === group.ipAddressType &&
    targetGroup.VpcId === vpcId &&
    servers.every((arn) => arn === loadBalancerArn) &&
    // AWS takes one ALB in a group. Another one needs another group, so that the port never lacks a target.
    (group.targetType !== 'alb' || health.every(({ Target }) => Target.Id === group.targets[0]?.id))
  );
}

function create(steps: Steps, group: DesiredTargetGroup, vpcId: string): string {
  const created = `target group ${group.key}`;
  const remembered = beforeTagsAtCreation(group.attributes, defaultsOf(group));
  const id = steps.addAction(`${created}: create`, 'elbv2:CreateTargetGroup', {
    input: {
      Name: group.name,
      Protocol: group.protocol,
      Port: group.port,
      VpcId: vpcId,
      TargetType: group.targetType,
      IpAddressType: group.ipAddressType,
      ...settings(group.healthCheck),
      Tags: tagList({ ...group.tags, ...remembered }),
    },
    reason: `there is no ${group.protocol} target group for ${group.key} with targets of type ${group.targetType}`,
    creates: created,
  });
  // Attributes are set only if they differ from AWS' defaults.
  const made = Object.entries(defaultsOf(group)).map(([Key, Value]) => ({ Key, Value }));
  setAttributes(steps, group, placeholder(created), { attributes: made, tags: remembered }, id);
  return id;
}

function update(
  steps: Steps,
  group: DesiredTargetGroup,
  { targetGroup, tags, attributes }: ObservedTargetGroup,
  last: LastTargets | undefined,
): undefined {
  const arn = targetGroup.TargetGroupArn;
  const changed = changedSettings(targetGroup, settings(group.healthCheck));
  if (Object.keys(changed).length > 0) {
    steps.addAction(`target group ${group.key}: health check`, 'elbv2:ModifyTargetGroup', {
      input: { TargetGroupArn: arn, ...changed },
      reason: `${Object.keys(changed).join(', ')} of the health check differ`,
    });
  }
  setAttributes(steps, group, arn, { attributes, tags });
  const wanted = { ...group.tags, ...(last === undefined ? {} : lastTargetsTag(last)) };
  planTags(steps, `target group ${group.key}`, { ResourceArns: [arn] }, tags, wanted);
}

const defaultsOf = ({ targetType, protocol }: DesiredTargetGroup): Tags => targetGroupDefaults(targetType, protocol);

function setAttributes(
  steps: Steps,
  group: DesiredTargetGroup,
  TargetGroupArn: string,
  { attributes, tags }: Pick<ObservedTargetGroup, 'attributes' | 'tags'>,
  needs?: string,
): void {
  planAttributes(steps, {
    what: `target group ${group.key}`,
    arn: TargetGroupArn,
    needs,
    actual: attributes,
    tags,
    desired: group.attributes,
    defaults: defaultsOf(group),
    write: (id, attributes, reason, needs) => [
      steps.addAction(id, 'elbv2:ModifyTargetGroupAttributes', {
        input: { TargetGroupArn, Attributes: tagList(attributes) },
        reason,
        needs,
      }),
    ],
  });
}

function settings(check: DesiredHealthCheck): HealthCheckSettings {
  return {
    HealthCheckProtocol: check.protocol,
    HealthCheckPort: `${check.port}`,
    HealthCheckIntervalSeconds: check.intervalSeconds,
    HealthCheckTimeoutSeconds: check.timeoutSeconds,
    HealthyThresholdCount: check.healthyThreshold,
    UnhealthyThresholdCount: check.unhealthyThreshold,
    ...(check.protocol === 'TCP' ? {} : { HealthCheckPath: check.path ?? '/', Matcher: { HttpCode: check.successCodes ?? '200-399' } }),
  };
}

function changedSettings(actual: HealthCheckSettings, desired: HealthCheckSettings): HealthCheckSettings {
  const differs = ([key, value]: [string, unknown]): boolean => {
    const other = actual[key as keyof HealthCheckSettings];
    return JSON.stringify(other) !== JSON.stringify(value);
  };
  return Object.fromEntries(Object.entries(desired).filter(differs));
}
