import { reason } from '../../../../src/model/reasons.ts';
import type { PolicyDescription } from '../../cloud/elb.ts';
import { isOurs, tagKeys, tagList } from '../../model/tags.ts';
import { lastTargetsOfClassic, planClassicInstances, type ClassicInPlan } from './instances.ts';
import { planClassicListeners } from './listeners.ts';
import type { DesiredClassic } from '../../model/desired.ts';
import { reportForeignResource } from '../steps/foreign-resources.ts';
import type { PlanInput } from '../steps/input.ts';
import { lastTargetsTag } from '../steps/last-targets.ts';
import { nextGroups, sameSet } from '../nlb/load-balancer.ts';
import type { ObservedClassic } from '../../model/observed.ts';
import { planRetirement } from '../steps/retirement.ts';
import { planSecurityGroups, type UsableSecurityGroups } from '../steps/security-groups.ts';
import { planTags, type Steps } from '../steps/steps.ts';

const sslPolicyPrefix = 'herald-ssl-';
const proxyPolicy = 'herald-proxy-protocol';
/** The policy that AWS gives to a listener by default. */
const awsDefaultPolicy = 'ELBSecurityPolicy-2016-08';

export function currentClassic({ desired, observed, cluster }: PlanInput<DesiredClassic>): ObservedClassic | undefined {
  const candidates = observed.classic.filter(
    ({ loadBalancer, tags }) => isOurs(tags, cluster) && tags[tagKeys.stack] === desired.stack && loadBalancer.Scheme === desired.scheme,
  );
  return candidates.toSorted((a, b) => (a.loadBalancer.LoadBalancerName < b.loadBalancer.LoadBalancerName ? -1 : 1))[0];
}

/** True if at least one instance is in service, or if there are no instances. */
export function classicServes({ instances }: DesiredClassic, { health }: ObservedClassic): boolean {
  return instances.length === 0 || instances.some((id) => health.get(id) === 'InService');
}

/** Plans the changes of a Classic ELB. It is identified by its name, so later actions can refer to it before it exists. */
export function planClassic(steps: Steps, input: PlanInput<DesiredClassic>): void {
  if (reportForeignResource(steps, input)) return;
  const { desired } = input;
  const current = currentClassic(input);
  const groups = planSecurityGroups(steps, input);
  const LoadBalancerName = current?.loadBalancer.LoadBalancerName ?? desired.name;
  const created = current === undefined ? create(steps, desired, groups) : undefined;
  const listeners = current === undefined ? new Map<number, string>() : planClassicListeners(steps, desired, current);
  const last = current === undefined ? undefined : lastTargetsOfClassic(desired, current, input);
  if (current !== undefined) {
    const tags = { ...desired.tags, ...(last === undefined ? {} : lastTargetsTag(last)) };
    planTags(steps, 'load balancer', { LoadBalancerNames: [LoadBalancerName] }, current.tags, tags);
    planSubnets(steps, input, current);
    const next = nextGroups(steps, current.loadBalancer.SecurityGroups, groups.ids);
    if (!sameSet(next, current.loadBalancer.SecurityGroups)) {
      steps.addAction('load balancer: security groups', 'elb:ApplySecurityGroupsToLoadBalancer', {
        input: { LoadBalancerName, SecurityGroups: next },
        reason: 'its security groups differ',
        needs: groups.needs,
      });
    }
  }
  if (current === undefined || !includes(current.attributes, desired.attributes)) {
    steps.addAction('load balancer: attributes', 'elb:ModifyLoadBalancerAttributes', {
      input: { LoadBalancerName, LoadBalancerAttributes: desired.attributes },
      reason: 'its attributes differ',
      needs: [created],
    });
  }
  if (current === undefined || !includes(current.loadBalancer.HealthCheck, desired.healthCheck)) {
    steps.addAction('load balancer: health check', 'elb:ConfigureHealthCheck', {
      input: { LoadBalancerName, HealthCheck: desired.healthCheck },
      reason: `the health check is not ${desired.healthCheck.Target}, or its times differ`,
      needs: [created],
    });
  }
  const balancer = { name: LoadBalancerName, observed: current, needs: created, last };
  planSslPolicies(steps, desired, balancer, listeners);
  planProxyPolicies(steps, desired, balancer, listeners);
  planClassicInstances(steps, desired, balancer, input.zoneOf);
  planRetirement(steps, input, { classic: current, serves: current !== undefined && classicServes(desired, current) });
  for (const { targetGroup } of input.observed.targetGroups.filter((one) => one.targetGroup.LoadBalancerArns.length === 0)) {
    const { TargetGroupArn, TargetGroupName } = targetGroup;
    steps.addAction(`target group ${TargetGroupName}: delete`, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn },
      reason: 'a Classic ELB has no target groups',
      mayBeInUse: true,
    });
  }
  groups.narrow();
}

function create(steps: Steps, desired: DesiredClassic, groups: UsableSecurityGroups): string {
  return steps.addAction('load balancer: create', 'elb:CreateLoadBalancer', {
    input: {
      LoadBalancerName: desired.name,
      Listeners: desired.listeners,
      Subnets: desired.subnets,
      SecurityGroups: groups.ids,
      ...(desired.scheme === 'internal' ? { Scheme: 'internal' as const } : {}),
      Tags: tagList(desired.tags),
    },
    reason: `there is no ${desired.scheme} Classic ELB for ${desired.stack}`,
    needs: groups.needs,
  });
}

/**
 * Only one subnet per zone can be attached, and the last subnet cannot be detached. If every subnet gets another one of its zone, the first zone
 * begins, and the others follow in the next reconcile.
 */
function planSubnets(steps: Steps, { desired, zones }: PlanInput<DesiredClassic>, { loadBalancer }: ObservedClassic): void {
  const { LoadBalancerName, Subnets: actual } = loadBalancer;
  const missing = desired.subnets.filter((id) => !actual.includes(id));
  const surplus = actual.filter((id) => !desired.subnets.includes(id));
  const occupied = new Set(surplus.map((id) => zones.get(id)));
  const wanted = new Set(missing.map((id) => zones.get(id)));
  const now = missing.filter((id) => !occupied.has(zones.get(id)));
  const attached =
    now.length === 0
      ? undefined
      : steps.addAction('load balancer: attach subnets', 'elb:AttachLoadBalancerToSubnets', {
          input: { LoadBalancerName, Subnets: now },
          reason: 'subnets are missing',
        });
  const isLastLeft = surplus.length === actual.length && now.length === 0;
  const leaves = isLastLeft ? surplus.filter((id) => wanted.has(zones.get(id))).slice(0, surplus.length > 1 ? 1 : 0) : surplus;
  if (leaves.length === 0) {
    const why = 'would replace another subnet of its zone, which AWS allows only if the load balancer has a further zone';
    for (const subnet of missing) steps.addProblem(reason('AwsSubnetUnusable', { subnet, why }));
    return;
  }
  const detached = steps.addAction('load balancer: detach subnets', 'elb:DetachLoadBalancerFromSubnets', {
    input: { LoadBalancerName, Subnets: leaves },
    reason: 'subnets are not wanted',
    needs: [attached],
  });
  const left = new Set(leaves.map((id) => zones.get(id)));
  const later = missing.filter((id) => left.has(zones.get(id)));
  if (leaves.length < surplus.length) steps.wait('other zones to be exchanged');
  if (later.length > 0) {
    const input = { LoadBalancerName, Subnets: later };
    steps.addAction('load balancer: attach subnets of zones that were left', 'elb:AttachLoadBalancerToSubnets', {
      input,
      reason: 'subnets are missing',
      needs: [detached],
    });
  }
}

function planSslPolicies(
  steps: Steps,
  desired: DesiredClassic,
  { name: LoadBalancerName, observed: current, needs }: ClassicInPlan,
  made: ReadonlyMap<number, string>,
): void {
  const attached = new Map(
    (current?.loadBalancer.ListenerDescriptions ?? []).map(({ Listener, PolicyNames }) => [Listener.LoadBalancerPort, PolicyNames]),
  );
  const types = new Map((current?.policies ?? []).map(({ PolicyName, PolicyTypeName }) => [PolicyName, PolicyTypeName]));
  let policy: string | undefined;
  for (const { LoadBalancerPort, Protocol } of desired.listeners) {
    if (Protocol !== 'SSL' && Protocol !== 'HTTPS') continue;
    const present = attached.get(LoadBalancerPort) ?? [];
    const hadOurs = present.some((name) => name.startsWith(sslPolicyPrefix));
    const reference = desired.sslPolicy ?? (hadOurs ? awsDefaultPolicy : undefined);
    if (reference === undefined) continue;
    const name = `${sslPolicyPrefix}${reference}`;
    const others = present.filter((policy) => types.get(policy) !== 'SSLNegotiationPolicyType');
    const isSet = present.includes(name) && present.length === others.length + 1;
    const isFresh = made.has(LoadBalancerPort);
    if (isSet && !isFresh) continue;
    if (policy === undefined && !types.has(name)) policy = createSslPolicy(steps, LoadBalancerName, name, reference, needs);
    steps.addAction(`listener ${LoadBalancerPort}: SSL policy`, 'elb:SetLoadBalancerPoliciesOfListener', {
      input: { LoadBalancerName, LoadBalancerPort, PolicyNames: [...(isFresh ? [] : others), name] },
      reason: `the policy must be ${reference}`,
      needs: [needs, policy, made.get(LoadBalancerPort)],
    });
  }
}

function createSslPolicy(steps: Steps, LoadBalancerName: string, PolicyName: string, reference: string, needs: string | undefined): string {
  return steps.addAction(`policy ${PolicyName}: create`, 'elb:CreateLoadBalancerPolicy', {
    input: {
      LoadBalancerName,
      PolicyName,
      PolicyTypeName: 'SSLNegotiationPolicyType',
      PolicyAttributes: [{ AttributeName: 'Reference-Security-Policy', AttributeValue: reference }],
    },
    reason: `listeners must use ${reference}`,
    needs: [needs],
  });
}

function planProxyPolicies(
  steps: Steps,
  desired: DesiredClassic,
  { name: LoadBalancerName, observed: current, needs }: ClassicInPlan,
  listeners: ReadonlyMap<number, string>,
): void {
  const backends = new Map(
    (current?.loadBalancer.BackendServerDescriptions ?? []).map(({ InstancePort, PolicyNames }) => [InstancePort, PolicyNames]),
  );
  const isKnown = (current?.policies ?? []).some(({ PolicyName }: PolicyDescription) => PolicyName === proxyPolicy);
  let made: string | undefined;
  const wanted = new Set(desired.proxyProtocolPorts);
  for (const InstancePort of new Set([...wanted, ...backends.keys()])) {
    const present = backends.get(InstancePort) ?? [];
    const has = present.includes(proxyPolicy);
    if (has === wanted.has(InstancePort)) continue;
    if (!has && !isKnown && made === undefined) {
      made = steps.addAction(`policy ${proxyPolicy}: create`, 'elb:CreateLoadBalancerPolicy', {
        input: {
          LoadBalancerName,
          PolicyName: proxyPolicy,
          PolicyTypeName: 'ProxyProtocolPolicyType',
          PolicyAttributes: [{ AttributeName: 'ProxyProtocol', AttributeValue: 'true' }],
        },
        reason: 'instances must receive the PROXY protocol',
        needs: [needs],
      });
    }
    const others = present.filter((name) => name !== proxyPolicy);
    steps.addAction(`instance port ${InstancePort}: PROXY protocol`, 'elb:SetLoadBalancerPoliciesForBackendServer', {
      input: { LoadBalancerName, InstancePort, PolicyNames: has ? others : [...others, proxyPolicy] },
      reason: has ? 'it is no longer requested' : 'it is requested',
      needs: [
        needs,
        made,
        ...desired.listeners.filter((one) => one.InstancePort === InstancePort).map((one) => listeners.get(one.LoadBalancerPort)),
      ],
    });
  }
}

/** True if `actual` contains all desired values. AWS may return more fields, and omits an empty text. */
function includes(actual: unknown, desired: unknown): boolean {
  if (desired === '') return (actual ?? '') === '';
  if (typeof desired !== 'object' || desired === null) return actual === desired;
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(desired).every(([key, value]) => includes((actual as Record<string, unknown>)[key], value));
}
