import { reason } from '../../../src/model/reasons.ts';
import type { SubnetMapping } from '../cloud/elbv2.ts';
import { tagList } from '../tags.ts';
import { placeholder } from './action.ts';
import type { DesiredNlb } from './desired.ts';
import type { PlanInput } from './input.ts';
import type { ObservedLoadBalancer } from './observed.ts';
import type { UsableSecurityGroups } from './security-groups.ts';
import { attributeDifference, planTags, type Steps } from './steps.ts';

export interface UsableLoadBalancer {
  /** Or a placeholder. */
  readonly arn: string;
  readonly needs?: string;
  readonly observed?: ObservedLoadBalancer;
}

export function planLoadBalancer(
  steps: Steps,
  input: PlanInput<DesiredNlb>,
  current: ObservedLoadBalancer | undefined,
  groups: UsableSecurityGroups,
): UsableLoadBalancer {
  if (current === undefined) return create(steps, input.desired, groups);
  update(steps, input, current, groups);
  return { arn: current.loadBalancer.LoadBalancerArn, observed: current };
}

function create(steps: Steps, desired: DesiredNlb, groups: UsableSecurityGroups): UsableLoadBalancer {
  const created = 'load balancer';
  const arn = placeholder(created);
  const needs = steps.add(`${created}: create`, 'elbv2:CreateLoadBalancer', {
    input: {
      Name: desired.name,
      Type: 'network',
      Scheme: desired.scheme,
      IpAddressType: desired.ipAddressType,
      SubnetMappings: desired.subnets,
      ...(groups.ids.length === 0 ? {} : { SecurityGroups: groups.ids }),
      ...(desired.enablePrefixForIpv6SourceNat === undefined ? {} : { EnablePrefixForIpv6SourceNat: desired.enablePrefixForIpv6SourceNat }),
      Tags: tagList(desired.tags),
    },
    reason: `there is no ${desired.scheme} NLB for ${desired.stack}`,
    needs: groups.needs,
    creates: created,
  });
  const Attributes = tagList(desired.attributes);
  if (Attributes.length > 0) {
    steps.add(`${created}: attributes`, 'elbv2:ModifyLoadBalancerAttributes', {
      input: { LoadBalancerArn: arn, Attributes },
      reason: 'attributes are asked for',
      needs: [needs],
    });
  }
  if (desired.enforcePrivateLink === 'off' && groups.ids.length > 0)
    setGroups(steps, desired, arn, groups, [needs], 'rules for PrivateLink differ');
  steps.awaiting('the load balancer to become active');
  return { arn, needs };
}

function update(
  steps: Steps,
  { desired, zones }: PlanInput<DesiredNlb>,
  { loadBalancer, tags, attributes }: ObservedLoadBalancer,
  groups: UsableSecurityGroups,
): void {
  const arn = loadBalancer.LoadBalancerArn;
  planTags(steps, 'load balancer', arn, tags, desired.tags);
  const Attributes = attributeDifference(attributes, desired.attributes);
  if (Attributes.length > 0) {
    steps.add('load balancer: attributes', 'elbv2:ModifyLoadBalancerAttributes', {
      input: { LoadBalancerArn: arn, Attributes },
      reason: `${Attributes.map(({ Key }) => Key).join(', ')} differ`,
    });
  }
  const actual = loadBalancer.SecurityGroups ?? [];
  const enforced = loadBalancer.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic ?? 'on';
  // AWS attaches none to a load balancer that was made without, and takes the last one from none.
  if (actual.length > 0 && groups.ids.length > 0) {
    if (!sameSet(actual, groups.ids)) setGroups(steps, desired, arn, groups, groups.needs, 'its security groups differ');
    else if (desired.enforcePrivateLink !== undefined && desired.enforcePrivateLink !== enforced) {
      setGroups(steps, desired, arn, groups, [], 'rules for PrivateLink differ');
    }
  }
  if (desired.adopted === undefined) {
    planSubnets(steps, desired, loadBalancer.AvailabilityZones, arn, zones);
    if (loadBalancer.IpAddressType !== desired.ipAddressType) {
      steps.add('load balancer: address type', 'elbv2:SetIpAddressType', {
        input: { LoadBalancerArn: arn, IpAddressType: desired.ipAddressType },
        reason: `it is ${loadBalancer.IpAddressType}`,
      });
    }
  }
  const { Code, Reason = 'AWS does not say why' } = loadBalancer.State;
  if (Code === 'provisioning') steps.awaiting('the load balancer to become active');
  if (Code === 'failed') steps.problem(reason('AwsLoadBalancerFailed', { name: loadBalancer.LoadBalancerName, why: Reason }));
}

function setGroups(
  steps: Steps,
  desired: DesiredNlb,
  arn: string,
  groups: UsableSecurityGroups,
  needs: readonly string[],
  why: string,
): void {
  const { enforcePrivateLink: enforce } = desired;
  steps.add('load balancer: security groups', 'elbv2:SetSecurityGroups', {
    input: {
      LoadBalancerArn: arn,
      SecurityGroups: groups.ids,
      ...(enforce === undefined ? {} : { EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: enforce }),
    },
    reason: why,
    needs,
  });
}

/** AWS does not exchange a subnet for another of the same zone in one call: the zone goes first, and comes back in the next pass. */
function planSubnets(
  steps: Steps,
  { subnets }: DesiredNlb,
  actual: readonly { readonly ZoneName: string; readonly SubnetId: string }[],
  arn: string,
  zones: ReadonlyMap<string, string>,
): void {
  if (
    sameSet(
      actual.map(({ SubnetId }) => SubnetId),
      subnets.map(({ SubnetId }) => SubnetId),
    )
  )
    return;
  const occupied = new Map(actual.map(({ ZoneName, SubnetId }) => [ZoneName, SubnetId]));
  const exchanges = ({ SubnetId }: SubnetMapping): boolean => {
    const other = occupied.get(zones.get(SubnetId) ?? '');
    return other !== undefined && other !== SubnetId;
  };
  const now = subnets.filter((subnet) => !exchanges(subnet));
  const later = subnets.filter(exchanges);
  const [blocked] = later;
  if (now.length === 0 && blocked !== undefined) {
    const why = 'would replace another one of its zone, which AWS does only where the load balancer has a further zone';
    steps.problem(reason('AwsSubnetUnusable', { subnet: blocked.SubnetId, why }));
    return;
  }
  steps.add('load balancer: subnets', 'elbv2:SetSubnets', {
    input: { LoadBalancerArn: arn, SubnetMappings: now },
    reason:
      later.length === 0
        ? 'its subnets differ'
        : `${later.map(({ SubnetId }) => SubnetId).join(', ')} can come only after others of their zones have gone`,
  });
  if (later.length > 0) steps.wait('zones to be left before their new subnets are taken');
}

export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(a);
  return set.size === new Set(b).size && b.every((item) => set.has(item));
}
