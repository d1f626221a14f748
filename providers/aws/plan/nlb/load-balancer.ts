import { defined } from '../../../../src/lang/defined.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { limits } from '../../model/limits.ts';
import { capacityBefore, tagList } from '../../model/tags.ts';
import { placeholder } from '../steps/action.ts';
import { loadBalancerDefaults } from './attribute-defaults.ts';
import { planAttributes, beforeTagsAtCreation } from '../steps/attributes.ts';
import { capacityAttribute, planCapacity } from '../steps/capacity.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer, Tags } from '../../model/observed.ts';
import type { UsableSecurityGroups } from '../steps/security-groups.ts';
import { planTags, type Steps } from '../steps/steps.ts';
import { markedTags } from './endpoint-service.ts';
import { leftZoneTag } from './left-zone.ts';
import { nextZones, planSubnets } from './subnets.ts';

interface UsableLoadBalancer {
  /** An ARN, or a placeholder. */
  readonly arn: string;
  readonly needs?: string;
  /** The action that sets its tags. Absent: they are as desired. */
  readonly tagged?: string;
  readonly observed?: ObservedLoadBalancer;
}

export function planLoadBalancer(
  steps: Steps,
  input: PlanInput<DesiredNlb>,
  current: ObservedLoadBalancer | undefined,
  groups: UsableSecurityGroups,
): UsableLoadBalancer {
  if (current === undefined) return create(steps, input.desired, groups);
  const tagged = update(steps, input, current, groups);
  const given = { arn: current.loadBalancer.LoadBalancerArn, observed: current, ...defined({ tagged }) };
  // An adopted load balancer gets our tags first, because Herald finds it by them after a restart.
  return input.desired.adopted === undefined || tagged === undefined ? given : { ...given, needs: tagged };
}

/** Treated like an attribute, although AWS does not list it as one, because it also returns to its previous value. */
const privateLink = 'inbound_rules_on_private_link_traffic';
const defaults: Tags = { ...loadBalancerDefaults, [privateLink]: 'on' };

function create(steps: Steps, desired: DesiredNlb, groups: UsableSecurityGroups): UsableLoadBalancer {
  const created = 'load balancer';
  const arn = placeholder(created);
  const wanted = wantedAttributes(desired, groups.ids);
  const remembered = beforeTagsAtCreation(wanted, defaults);
  const capacity = capacityAttribute(desired.capacityUnits);
  const needs = steps.addAction(`${created}: create`, 'elbv2:CreateLoadBalancer', {
    input: {
      Name: desired.name,
      Type: 'network',
      Scheme: desired.scheme,
      IpAddressType: desired.ipAddressType,
      SubnetMappings: desired.subnets,
      ...(groups.ids.length === 0 ? {} : { SecurityGroups: groups.ids }),
      ...defined({ EnablePrefixForIpv6SourceNat: desired.enablePrefixForIpv6SourceNat }),
      Tags: tagList({ ...desired.tags, ...remembered, ...beforeTagsAtCreation(capacity.desired, capacity.defaults) }),
    },
    reason: `there is no ${desired.scheme} NLB for ${desired.stack}`,
    needs: groups.needs,
    creates: created,
  });
  const made = Object.entries(defaults).map(([Key, Value]) => ({ Key, Value }));
  setAttributes(steps, arn, groups, { actual: made, tags: remembered, desired: wanted, needs });
  steps.waitAndReport('the load balancer to become active');
  return { arn, needs };
}

function update(
  steps: Steps,
  input: PlanInput<DesiredNlb>,
  current: ObservedLoadBalancer,
  groups: UsableSecurityGroups,
): string | undefined {
  const { desired } = input;
  const { loadBalancer, tags, attributes } = current;
  const arn = loadBalancer.LoadBalancerArn;
  const zones = desired.adopted === undefined ? nextZones(steps, input, current) : undefined;
  const wanted = { ...markedTags(desired, input.observed.endpointServices), ...leftZoneTag(current, input.zones, zones?.step?.leaving) };
  const tagged = planTags(steps, 'load balancer', { ResourceArns: [arn] }, tags, wanted);
  const actual = loadBalancer.SecurityGroups ?? [];
  // AWS cannot attach security groups to a load balancer that was created without, and does not detach the last one.
  const usable = actual.length > 0 ? groups.ids : [];
  const next = nextGroups(steps, actual, usable);
  const shown = loadBalancer.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic;
  const enforced = { Key: privateLink, Value: shown ?? 'on' };
  const desiredAttributes = wantedAttributes(desired, usable);
  // Reserved capacity is planned on its own.
  const { [capacityBefore]: _, ...kept } = tags;
  const subject = {
    actual: [...attributes, enforced],
    tags: kept,
    desired: desiredAttributes,
    needs: undefined,
    isUnverifiable: shown === undefined,
  };
  setAttributes(steps, arn, { ...groups, ids: next }, subject);
  if (!sameSet(actual, next)) {
    steps.addAction('load balancer: security groups', 'elbv2:SetSecurityGroups', {
      input: { LoadBalancerArn: arn, SecurityGroups: next },
      reason: 'its security groups differ',
      needs: groups.needs,
    });
  }
  if (zones !== undefined) planSubnets(steps, input, current, zones, tagged);
  planCapacity(steps, current, desired.capacityUnits);
  const { Code, Reason = 'AWS does not say why' } = loadBalancer.State;
  if (Code === 'provisioning') steps.waitAndReport('the load balancer to become active');
  if (Code === 'failed') steps.addProblem(reason('AwsLoadBalancerFailed', { name: loadBalancer.LoadBalancerName, why: Reason }));
  return tagged;
}

/** Adds the PrivateLink setting to the attributes. Without security groups there are no rules to enforce. */
function wantedAttributes({ attributes, enforcePrivateLink: enforce }: DesiredNlb, groups: readonly string[]): Tags {
  return enforce === undefined || groups.length === 0 ? attributes : { ...attributes, [privateLink]: enforce };
}

function setAttributes(
  steps: Steps,
  arn: string,
  groups: UsableSecurityGroups,
  subject: Pick<Parameters<typeof planAttributes>[1], 'actual' | 'tags' | 'desired' | 'needs'> & { readonly isUnverifiable?: boolean },
): void {
  const write = (id: string, all: Tags, reason: string, needs: readonly (string | undefined)[]): string[] => {
    const { [privateLink]: enforce, ...attributes } = all;
    const ids: string[] = [];
    if (Object.keys(attributes).length > 0) {
      const input = { LoadBalancerArn: arn, Attributes: tagList(attributes) };
      ids.push(steps.addAction(id, 'elbv2:ModifyLoadBalancerAttributes', { input, reason, needs }));
    }
    if (enforce === undefined || groups.ids.length === 0) return ids;
    const input = {
      LoadBalancerArn: arn,
      SecurityGroups: groups.ids,
      EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: enforce === 'off' ? ('off' as const) : ('on' as const),
    };
    const why = 'rules for PrivateLink differ';
    ids.push(
      steps.addAction('load balancer: rules for PrivateLink', 'elbv2:SetSecurityGroups', {
        input,
        reason: why,
        needs: [...needs, ...groups.needs],
        ...(subject.isUnverifiable === true ? { isUnverifiable: true } : {}),
      }),
    );
    return ids;
  };
  planAttributes(steps, { what: 'load balancer', arn, defaults, write, ...subject });
}

/**
 * Returns the security groups for this reconcile. New groups are attached beside old ones until the next reconcile, because nodes admit the
 * load balancer by its groups and must first learn the new ones. If AWS' limit does not allow both, they are replaced at once.
 */
export function nextGroups(steps: Steps, actual: readonly string[], wanted: readonly string[]): readonly string[] {
  if (wanted.length === 0) return actual;
  const surplus = actual.filter((id) => !wanted.includes(id));
  const isTold = wanted.every((id) => actual.includes(id));
  if (isTold || surplus.length === 0 || wanted.length + surplus.length > limits.securityGroupsPerLoadBalancer) return wanted;
  steps.wait('nodes to admit the new security groups of the load balancer');
  return [...wanted, ...surplus];
}

export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(a);
  return set.size === new Set(b).size && b.every((item) => set.has(item));
}
