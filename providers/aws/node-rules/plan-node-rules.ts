import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { SecurityGroup } from '../cloud/ec2.ts';
import { tagMap } from '../model/tags.ts';
import type { Plan } from '../plan/steps/action.ts';
import type { IngressRule, TargetPort } from '../model/desired.ts';
import { missingRules, permission, ruleKey } from '../plan/steps/ingress-rules.ts';
import { Steps } from '../plan/steps/steps.ts';

/** What one stack needs of the network of its targets. */
export interface TargetAccess {
  readonly ports: readonly TargetPort[];
  /** Security groups of its targets. */
  readonly groups: readonly string[];
}

interface NodeRulesInput {
  readonly cluster: string;
  /** The security group by which the load balancers of the cluster are recognised; undefined: there is none, and so no rule. */
  readonly backend: string | undefined;
  /** Of every stack that is known. */
  readonly accesses: readonly TargetAccess[];
  /** Groups of targets, and all others that have a rule for `backend`. */
  readonly groups: readonly SecurityGroup[];
  /** Every stack is known: what none needs may go. Until then only new rules are made. */
  readonly mayRevoke: boolean;
}

/** In the description of our rules: others are never touched. One for each installation, so that several can live side by side. */
const ruleDescription = (cluster: string): string => `herald.dev/${cluster}`;

/**
 * The rules of nodes for load balancers. All stacks together make one rule for each security group and protocol, from the lowest port to
 * the highest, so that their number does not grow with the Services: security groups have room for sixty.
 */
export function planNodeRules({ cluster, backend, accesses: reaches, groups, mayRevoke: complete }: NodeRulesInput): Plan {
  const steps = new Steps();
  if (backend === undefined) return { actions: [], waits: [] };
  const description = ruleDescription(cluster);
  const revoked: string[] = [];
  for (const group of groups.toSorted((a, b) => (a.GroupId < b.GroupId ? -1 : 1))) {
    const actual = ourRules(group, backend, description);
    const needed = (['tcp', 'udp'] as const).flatMap((protocol) => rangeOf(reaches, group.GroupId, protocol, backend));
    // As long as others may need more, what is open already is enough where it covers what is needed.
    const desired = complete ? needed : needed.filter((rule) => !actual.some((one) => covers(one, rule)));
    const missing = missingRules(desired, actual);
    const surplus = complete ? missingRules(actual, desired) : [];
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
  if (complete && reaches.length === 0) {
    steps.addAction(`${backend}: delete`, 'ec2:DeleteSecurityGroup', {
      input: { GroupId: backend },
      reason: 'the cluster has no load balancer',
      needs: revoked,
      mayBeInUse: true,
    });
  }
  return { actions: steps.actions, waits: steps.waits };
}

function rangeOf(reaches: readonly TargetAccess[], group: string, protocol: 'tcp' | 'udp', backend: string): IngressRule[] {
  const ports = reaches
    .filter(({ groups }) => groups.includes(group))
    .flatMap((reach) => reach.ports.filter((one) => one.protocol === protocol).map(({ port }) => port));
  if (ports.length === 0) return [];
  const from = ports.reduce((a, b) => Math.min(a, b));
  const to = ports.reduce((a, b) => Math.max(a, b));
  return [{ protocol, from, to, source: { kind: 'group', id: backend } }];
}

function covers(outer: IngressRule, inner: IngressRule): boolean {
  return outer.protocol === inner.protocol && outer.from <= inner.from && outer.to >= inner.to;
}

/** AWS joins rules of one range into one permission: each source counts by itself. */
function ourRules({ IpPermissions }: SecurityGroup, backend: string, description: string): IngressRule[] {
  return IpPermissions.flatMap(({ IpProtocol, FromPort = -1, ToPort = -1, UserIdGroupPairs = [] }) =>
    UserIdGroupPairs.filter(({ GroupId, Description }) => GroupId === backend && Description === description).map(
      ({ GroupId }): IngressRule => ({ protocol: IpProtocol, from: FromPort, to: ToPort, source: { kind: 'group', id: GroupId } }),
    ),
  );
}

/**
 * Which group of a target is opened: its only one, else the only one that is tagged for the cluster. A target for which that cannot be
 * told is left as it is, and said.
 */
export function groupToOpen(
  target: string,
  attached: readonly string[],
  all: ReadonlyMap<string, SecurityGroup>,
  cluster: string,
): { readonly group: string } | { readonly problem: Reason } {
  const tagged = attached.filter((id) => tagMap(all.get(id)?.Tags ?? [])[`kubernetes.io/cluster/${cluster}`] !== undefined);
  const [group] = attached.length === 1 ? attached : tagged;
  if (group !== undefined && (attached.length === 1 || tagged.length === 1)) return { group };
  return { problem: reason('AwsNodesUnreachable', { instance: target, groups: attached.length }) };
}
