import { defined } from '../../../../src/lang/defined.ts';
import type { SecurityGroup } from '../../cloud/ec2.ts';
import { backendGroupName } from '../../model/resource-names.ts';
import { limits } from '../../model/limits.ts';
import { ownerTags, resources, tagKeys, tagList, tagMap } from '../../model/tags.ts';
import { placeholder } from './action.ts';
import type { Desired, IngressRule } from '../../model/desired.ts';
import type { PlanInput } from './input.ts';
import { missingRules, permission, rulesOf } from './ingress-rules.ts';
import type { Observed } from '../../model/observed.ts';
import { planTags, type Steps } from './steps.ts';

/** The security groups of the load balancer. Some ids may be placeholders. */
export interface UsableSecurityGroups {
  readonly ids: readonly string[];
  readonly needs: readonly string[];
  /** Plans the removal of surplus rules and groups. Must be called after everything else is planned. */
  readonly narrow: () => void;
}

export function planSecurityGroups(steps: Steps, input: PlanInput<Desired>): UsableSecurityGroups {
  const { securityGroups: wanted } = input.desired;
  switch (wanted.kind) {
    case 'none':
      return { ids: [], needs: [], narrow: () => planSurplusGroups(steps, input.observed, undefined) };
    case 'given': {
      const backend = wanted.backend ? planBackendGroup(steps, input) : { ids: [], needs: [] };
      return {
        ids: [...wanted.ids, ...backend.ids],
        needs: backend.needs,
        narrow: () => planSurplusGroups(steps, input.observed, undefined),
      };
    }
    case 'managed': {
      const front = planFrontGroup(steps, input, wanted.name, wanted.rules);
      const backend = wanted.backend ? planBackendGroup(steps, input) : { ids: [], needs: [] };
      return { ids: [front.id, ...wanted.extra, ...backend.ids], needs: [...front.needs, ...backend.needs], narrow: front.narrow };
    }
  }
}

interface FrontGroup {
  readonly id: string;
  readonly needs: readonly string[];
  readonly narrow: () => void;
}

function planFrontGroup(
  steps: Steps,
  { desired, observed, cluster, vpcId }: PlanInput<Desired>,
  name: string,
  rules: readonly IngressRule[],
): FrontGroup {
  const tags = { ...withoutResource(desired.tags), [tagKeys.resource]: resources.securityGroup, [tagKeys.cluster]: cluster };
  const [group] = observed.securityGroups.toSorted((a, b) => (a.GroupId < b.GroupId ? -1 : 1));
  const created = 'security group';
  if (group === undefined) {
    const needs = steps.addAction(`${created}: create`, 'ec2:CreateSecurityGroup', {
      input: {
        GroupName: name,
        Description: `Clients of the load balancer of ${desired.stack} in ${cluster}`,
        VpcId: vpcId,
        TagSpecifications: [{ ResourceType: 'security-group', Tags: tagList(tags) }],
      },
      reason: 'the load balancer has no security group of its own',
      creates: created,
    });
    const opened = authorize(steps, placeholder(created), rules, [needs]);
    return { id: placeholder(created), needs: [needs, ...opened], narrow: () => undefined };
  }
  planTags(steps, created, { Resources: [group.GroupId] }, tagMap(group.Tags), tags);
  const actual = rulesOf(group.IpPermissions);
  const missing = missingRules(rules, actual);
  // If a Service has errors, the rules that it needs are unknown, so no rule is removed.
  const surplus = desired.kind === 'nlb' && desired.untouched.length > 0 ? [] : missingRules(actual, rules);
  // Old rules are removed first only if the new ones fit alone. Otherwise AWS may refuse the new ones, and no client could connect.
  const fits = rules.length <= limits.rulesPerSecurityGroup;
  const first =
    fits && actual.length + missing.length > limits.rulesPerSecurityGroup
      ? revoke(steps, group.GroupId, surplus, [], 'the group has no room for old and new rules together')
      : [];
  const opened = authorize(steps, group.GroupId, missing, first);
  const narrow = (): void => {
    planSurplusGroups(steps, observed, group);
    if (first.length === 0) revoke(steps, group.GroupId, surplus, opened, 'they are no longer needed');
  };
  return { id: group.GroupId, needs: opened, narrow };
}

const ofLoadBalancer: ReadonlySet<string> = new Set([tagKeys.resource, tagKeys.adopted, tagKeys.subnets, tagKeys.endpointService]);

function withoutResource(tags: Desired['tags']): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !ofLoadBalancer.has(key)));
}

/** Deletes our security groups that the load balancer no longer uses. A group that is still attached must wait. */
function planSurplusGroups(steps: Steps, { securityGroups, loadBalancers, classic }: Observed, kept: SecurityGroup | undefined): void {
  const used = new Set([
    ...loadBalancers.flatMap(({ loadBalancer }) => loadBalancer.SecurityGroups ?? []),
    ...classic.flatMap(({ loadBalancer }) => loadBalancer.SecurityGroups),
  ]);
  for (const { GroupId } of securityGroups.filter((group) => group !== kept)) {
    if (used.has(GroupId)) steps.wait(`security group ${GroupId} to be detached`);
    else
      steps.addAction(`security group ${GroupId}: delete`, 'ec2:DeleteSecurityGroup', {
        input: { GroupId },
        reason: 'no load balancer uses it',
        mayBeInUse: true,
      });
  }
}

/** The placeholder name of the group before it is created. */
export const backendGroup = 'backend security group';

/**
 * Plans the one security group that all load balancers of the cluster share. Nodes admit this group, so they need not know the single load
 * balancers. It has no rules of its own.
 */
function planBackendGroup(steps: Steps, { desired, observed, cluster, vpcId }: PlanInput<Desired>): { ids: string[]; needs: string[] } {
  const created = backendGroup;
  const clusterUid = desired.tags[tagKeys.clusterUid];
  const tags = { ...ownerTags({ clusterName: cluster, ...defined({ clusterUid }) }), [tagKeys.resource]: resources.backendSecurityGroup };
  const { backendSecurityGroup: group } = observed;
  if (group !== undefined) {
    planTags(steps, created, { Resources: [group.GroupId] }, tagMap(group.Tags), tags);
    return { ids: [group.GroupId], needs: [] };
  }
  const needs = steps.addAction(`${created}: create`, 'ec2:CreateSecurityGroup', {
    input: {
      GroupName: backendGroupName(cluster),
      Description: `Load balancers of ${cluster}, as its nodes see them`,
      VpcId: vpcId,
      TagSpecifications: [{ ResourceType: 'security-group', Tags: tagList(tags) }],
    },
    reason: 'the cluster has no security group for its load balancers yet',
    creates: created,
  });
  return { ids: [placeholder(created)], needs: [needs] };
}

function authorize(steps: Steps, GroupId: string, rules: readonly IngressRule[], needs: readonly string[]): string[] {
  if (rules.length === 0) return [];
  const id = steps.addAction('security group: authorize', 'ec2:AuthorizeSecurityGroupIngress', {
    input: { GroupId, IpPermissions: rules.map((rule) => permission(rule)) },
    reason: `${rules.length} rules are missing`,
    needs,
  });
  return [id];
}

function revoke(steps: Steps, GroupId: string, rules: readonly IngressRule[], needs: readonly string[], why: string): string[] {
  if (rules.length === 0) return [];
  const id = steps.addAction('security group: revoke', 'ec2:RevokeSecurityGroupIngress', {
    input: { GroupId, IpPermissions: rules.map((rule) => permission(rule)) },
    reason: `${rules.length} rules are removed: ${why}`,
    needs,
  });
  return [id];
}
