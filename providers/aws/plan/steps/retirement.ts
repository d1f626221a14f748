import { reason } from '../../../../src/model/reasons.ts';
import { askedKeys, isOurKey, isOurs, tagKeys, tagList } from '../../model/tags.ts';
import { attributeChange } from './attributes.ts';
import { planCapacityRestored } from './capacity.ts';
import { planEndpointServiceRemoval } from './endpoint-service-removal.ts';
import { formatTime, parseTime } from '../../../../src/model/time.ts';
import type { PlanInput } from './input.ts';
import type { ObservedClassic, ObservedLoadBalancer } from '../../model/observed.ts';
import { addTags, removeTags, type Steps, type TaggedResource } from './steps.ts';

interface Successor {
  readonly nlb?: ObservedLoadBalancer | undefined;
  readonly classic?: ObservedClassic | undefined;
  /** True if the successor has taken over. */
  readonly serves: boolean;
}

/**
 * Retires our load balancers that are no longer used, after a change of scheme, kind or adoption. They serve until the successor does, and
 * for a while after that, because names are cached and connections last. A tag keeps the time.
 */
export function planRetirement(steps: Steps, input: PlanInput, { nlb, classic, serves }: Successor): void {
  const { observed, now, retireSeconds, published } = input;
  const mine = (tags: Readonly<Record<string, string>>): boolean => isOurs(tags, input.cluster) && tags[tagKeys.stack] === input.stack;
  const isDue = (resource: TaggedResource, what: string, dns: string, tags: Readonly<Record<string, string>>): boolean => {
    if (!serves) {
      steps.wait(`the successor of ${what} to serve`);
      return false;
    }
    // Clients know the new name only after it is in the status. The controller or the API server may fail before that.
    if (published.includes(dns.toLowerCase())) {
      steps.wait(`the status to name the successor of ${what}`);
      return false;
    }
    const since = parseTime(tags[tagKeys.retired]);
    if (since === undefined) {
      const Tags = [{ Key: tagKeys.retired, Value: formatTime(now) }];
      addTags(steps, `${what}: retire`, resource, Tags, { reason: 'its successor serves' });
      steps.wait(`clients to leave ${what}`, Math.max(1, retireSeconds));
      return false;
    }
    const left = Math.ceil((since + retireSeconds * 1000 - now) / 1000);
    if (left > 0) steps.wait(`clients to leave ${what}`, left);
    return left <= 0;
  };
  for (const old of observed.loadBalancers.filter((one) => one !== nlb && mine(one.tags))) {
    const { LoadBalancerArn: arn, LoadBalancerName: name, DNSName } = old.loadBalancer;
    if (isDue({ ResourceArns: [arn] }, name, DNSName, old.tags)) planRemovalOfNlb(steps, input, old);
  }
  for (const old of observed.classic.filter((one) => one !== classic && mine(one.tags))) {
    const { LoadBalancerName: name, DNSName } = old.loadBalancer;
    if (isDue({ LoadBalancerNames: [name] }, name, DNSName, old.tags)) planRemovalOfClassic(steps, old);
  }
}

/**
 * Plans the deletion of a load balancer with the target groups that only it uses. An adopted one is disowned instead. Returns the ids of
 * the actions that must come first.
 */
export function planRemovalOfNlb(steps: Steps, { observed, cluster, desired }: PlanInput, one: ObservedLoadBalancer): string[] {
  const { loadBalancer, tags, attributes, listeners } = one;
  const { LoadBalancerArn: arn, LoadBalancerName: name } = loadBalancer;
  const isProtected = attributes.some(({ Key, Value }) => Key === 'deletion_protection.enabled' && Value === 'true');
  const adopted = tags[tagKeys.adopted] !== undefined;
  if (isProtected && !adopted) {
    steps.addProblem(reason('AwsDeletionProtected', { name }));
    return [];
  }
  const services = (observed.endpointServices ?? []).filter(({ service }) => service.NetworkLoadBalancerArns.includes(arn));
  if (services.length > 0 && desired?.kind === 'nlb' && desired.endpointService !== undefined) {
    steps.wait(`the endpoint service to leave ${name}`);
    return [];
  }
  const needs = planEndpointServiceRemoval(steps, services, `${name} is no longer used`);
  const gone = adopted
    ? listeners.flatMap(({ listener, tags }) => {
        if (!isOurs(tags, cluster)) return [];
        const input = { ListenerArn: listener.ListenerArn };
        const reason = `it belongs to ${tags[tagKeys.service] ?? 'Herald'}`;
        return [steps.addAction(`${name} listener ${listener.Port}: delete`, 'elbv2:DeleteListener', { input, reason, needs })];
      })
    : [
        steps.addAction(`${name}: delete`, 'elbv2:DeleteLoadBalancer', {
          input: { LoadBalancerArn: arn },
          reason: 'nothing uses it',
          needs,
        }),
      ];
  for (const { targetGroup } of observed.targetGroups.filter((one) => one.targetGroup.LoadBalancerArns.includes(arn))) {
    steps.addAction(`target group ${targetGroup.TargetGroupName}: delete`, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn: targetGroup.TargetGroupArn },
      reason: `it belongs to ${name}`,
      needs: gone,
      mayBeInUse: true,
    });
  }
  if (adopted) planDisownAdopted(steps, one, [...needs, ...gone]);
  return gone;
}

/** Gives an adopted load balancer back to its owner, with the attributes that it had before an annotation named them. */
function planDisownAdopted(steps: Steps, one: ObservedLoadBalancer, needs: readonly string[]): void {
  const { loadBalancer, tags, attributes } = one;
  const { LoadBalancerArn: arn, LoadBalancerName: name } = loadBalancer;
  const Attributes = tagList(attributeChange(attributes, tags, {}, {}).write);
  const input = { LoadBalancerArn: arn, Attributes };
  const reason = 'its previous values are restored';
  const reset =
    Attributes.length === 0 ? [] : [steps.addAction(`${name}: attributes`, 'elbv2:ModifyLoadBalancerAttributes', { input, reason })];
  // The cluster tag was set by the owner, so it stays.
  const ours = Object.keys(tags).filter((key) => isOurKey(key) && key !== tagKeys.cluster);
  removeTags(steps, `${name}: disown`, { ResourceArns: [arn] }, [...askedKeys(tags), ...ours], {
    reason: 'the adopted load balancer is no longer used',
    needs: [...needs, ...reset, ...planCapacityRestored(steps, one)],
  });
}

export function planRemovalOfClassic(steps: Steps, { loadBalancer: { LoadBalancerName } }: ObservedClassic): string[] {
  return [
    steps.addAction(`${LoadBalancerName}: delete`, 'elb:DeleteLoadBalancer', {
      input: { LoadBalancerName },
      reason: 'nothing uses it',
    }),
  ];
}
