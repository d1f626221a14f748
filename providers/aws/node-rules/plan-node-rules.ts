import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { SecurityGroup } from '../cloud/ec2.ts';
import { tagMap } from '../model/tags.ts';
import type { Plan } from '../plan/steps/action.ts';
import type { IngressRule, TargetPort } from '../model/desired.ts';
import { missingRules, permission, ruleKey } from '../plan/steps/ingress-rules.ts';
import { Steps } from '../plan/steps/steps.ts';

/** The ports on which one stack must reach its targets, and the targets' security groups. */
export interface TargetAccess {
  readonly ports: readonly TargetPort[];
  /** Security groups of the targets. */
  readonly groups: readonly string[];
}

interface NodeRulesInput {
  readonly cluster: string;
  /** The shared security group of the cluster's load balancers. Undefined: there is none, so no rule is made. */
  readonly backend: string | undefined;
  /** Of every known stack. */
  readonly accesses: readonly TargetAccess[];
  /** Security groups of targets, and all others that have a rule for `backend`. */
  readonly groups: readonly SecurityGroup[];
  /** All stacks are known, so rules that none needs are removed. Otherwise rules are only added. */
  readonly mayRevoke: boolean;
}

/**
 * The description of our rules; others are never touched. It names the cluster, so that several installations can share a security group.
 */
const ruleDescription = (cluster: string): string => `herald.dev/${cluster}`;

/**
 * Plans the rules by which nodes admit load balancers. All stacks together get one rule for each security group and protocol, from the
 * lowest port to the highest: the number of rules does not grow with the Services, and a security group has room for sixty.
 */
export function planNodeRules({ cluster, backend, accesses, groups, mayRevoke }: NodeRulesInput): Plan {
  const steps = new Steps();
  if (backend === undefined) return { actions: [], waits: [] };
  const description = ruleDescription(cluster);
  const revoked: string[] = [];
  for (const group of groups.toSorted((a, b) => (a.GroupId < b.GroupId ? -1 : 1))) {
    const actual = ourRules(group, backend, description);
    const needed = (['tcp', 'udp'] as const).flatMap((protocol) => rangeOf(accesses, group.GroupId, protocol, backend));
    // Other stacks may need more: an existing rule that covers what is needed stays.
    const desired = mayRevoke ? needed : needed.filter((rule) => !actual.some((one) => covers(one, rule)));
    const missing = missingRules(desired, actual);
    const surplus = mayRevoke ? missingRules(actual, desired) : [];
    const input = (rules: readonly IngressRule[]): { GroupId: string; IpPermissions: ReturnType<typeof permission>[] } => ({
      GroupId: group.GroupId,
      IpPermissions: rules.map((rule) => permission(rule, description)),
    });
    const opened =
      missing.length === 0
        ? undefined
        : steps.addAction(`${group.GroupId}: authorize`, 'ec2:AuthorizeSecurityGroupIngress', {
            input: input(missing),
            reason: `load balancers do not reach ${missing.map(ruleKey).join(', ')}`,
          });
    if (surplus.length === 0) continue;
    revoked.push(
      steps.addAction(`${group.GroupId}: revoke`, 'ec2:RevokeSecurityGroupIngress', {
        input: input(surplus),
        reason: `no load balancer needs ${surplus.map(ruleKey).join(', ')}`,
        needs: [opened],
      }),
    );
  }
  if (mayRevoke && accesses.length === 0) {
    steps.addAction(`${backend}: delete`, 'ec2:DeleteSecurityGroup', {
      input: { GroupId: backend },
      reason: 'the cluster has no load balancer',
      needs: revoked,
      mayBeInUse: true,
    });
  }
  return { actions: steps.actions, waits: steps.waits };
}

function rangeOf(accesses: readonly TargetAccess[], group: string, protocol: 'tcp' | 'udp', backend: string): IngressRule[] {
  const ports = accesses
    .filter(({ groups }) => groups.includes(group))
    .flatMap((access) => access.ports.filter((one) => one.protocol === protocol).map(({ port }) => port));
  if (ports.length === 0) return [];
  const from = ports.reduce((a, b) => Math.min(a, b));
  const to = ports.reduce((a, b) => Math.max(a, b));
  return [{ protocol, from, to, source: { kind: 'group', id: backend } }];
}

function covers(outer: IngressRule, inner: IngressRule): boolean {
  return outer.protocol === inner.protocol && outer.from <= inner.from && outer.to >= inner.to;
}

/** AWS combines rules of one port range into one permission. Each source counts as a rule. */
function ourRules({ IpPermissions }: SecurityGroup, backend: string, description: string): IngressRule[] {
  return IpPermissions.flatMap(({ IpProtocol, FromPort = -1, ToPort = -1, UserIdGroupPairs = [] }) =>
    UserIdGroupPairs.filter(({ GroupId, Description }) => GroupId === backend && Description === description).map(
      ({ GroupId }): IngressRule => ({ protocol: IpProtocol, from: FromPort, to: ToPort, source: { kind: 'group', id: GroupId } }),
    ),
  );
}

/**
 * Chooses the security group of a target that gets the rule: the only one of a node or a pod (`isOurs`), otherwise the only one tagged for
 * the cluster. Without a clear choice nothing is changed, and the problem is reported.
 */
export function groupToOpen(
  target: string,
  attached: readonly string[],
  all: ReadonlyMap<string, SecurityGroup>,
  cluster: string,
  isOurs: boolean,
): { readonly group: string } | { readonly problem: Reason } {
  const tagged = attached.filter((id) => tagMap(all.get(id)?.Tags ?? [])[`kubernetes.io/cluster/${cluster}`] !== undefined);
  const candidates = isOurs && attached.length === 1 ? attached : tagged;
  const [group] = candidates;
  if (group !== undefined && candidates.length === 1) return { group };
  return { problem: reason('AwsNodesUnreachable', { instance: target, groups: attached.length }) };
}
