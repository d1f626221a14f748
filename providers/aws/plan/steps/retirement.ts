import { reason } from '../../../../src/model/reasons.ts';
import { askedKeys, isOurKey, isOurs, tagKeys, tagList } from '../../model/tags.ts';
import { attributeChange } from './attributes.ts';
import { formatTime, parseTime } from '../../../../src/model/time.ts';
import type { PlanInput } from './input.ts';
import type { ObservedClassic, ObservedLoadBalancer } from '../../model/observed.ts';
import type { Steps } from './steps.ts';

interface Successor {
  readonly nlb?: ObservedLoadBalancer | undefined;
  readonly classic?: ObservedClassic | undefined;
  /** It has taken over. */
  readonly serves: boolean;
}

/**
 * What is ours and is not used any more, after a change of scheme, of kind or of what is adopted. It goes on serving until its
 * successor does, and a while after: names are cached, and connections last. The time is kept in a tag.
 */
export function planRetirement(steps: Steps, input: PlanInput, { nlb, classic, serves }: Successor): void {
  const { observed, now, retireSeconds, published } = input;
  const mine = (tags: Readonly<Record<string, string>>): boolean => isOurs(tags, input.cluster) && tags[tagKeys.stack] === input.stack;
  const isDue = (what: string, dns: string, tags: Readonly<Record<string, string>>, mark: (at: string) => void): boolean => {
    if (!serves) {
      steps.wait(`the successor of ${what} to serve`);
      return false;
    }
    // Clients know of nothing else before it is written: the controller may be gone, or the API server, between one and the other.
    if (published.includes(dns.toLowerCase())) {
      steps.wait(`the status to name the successor of ${what}`);
      return false;
    }
    const since = parseTime(tags[tagKeys.retired]);
    if (since === undefined) {
      mark(formatTime(now));
      steps.wait(`clients to leave ${what}`, Math.max(1, retireSeconds));
      return false;
    }
    const left = Math.ceil((since + retireSeconds * 1000 - now) / 1000);
    if (left > 0) steps.wait(`clients to leave ${what}`, left);
    return left <= 0;
  };
  for (const old of observed.loadBalancers.filter((one) => one !== nlb && mine(one.tags))) {
    const { LoadBalancerArn: arn, LoadBalancerName: name } = old.loadBalancer;
    const mark = (at: string): void => {
      const Tags = [{ Key: tagKeys.retired, Value: at }];
      steps.addAction(`${name}: retire`, 'elbv2:AddTags', { input: { ResourceArns: [arn], Tags }, reason: 'its successor serves' });
    };
    if (isDue(name, old.loadBalancer.DNSName, old.tags, mark)) planRemovalOfNlb(steps, input, old);
  }
  for (const old of observed.classic.filter((one) => one !== classic && mine(one.tags))) {
    const { LoadBalancerName: name } = old.loadBalancer;
    const mark = (at: string): void => {
      const Tags = [{ Key: tagKeys.retired, Value: at }];
      steps.addAction(`${name}: retire`, 'elb:AddTags', { input: { LoadBalancerNames: [name], Tags }, reason: 'its successor serves' });
    };
    if (isDue(name, old.loadBalancer.DNSName, old.tags, mark)) planRemovalOfClassic(steps, old);
  }
}

/** Deletes it, or lets go of it where it was given to us; with the target groups that only it uses. Returns what others must wait for. */
export function planRemovalOfNlb(
  steps: Steps,
  { observed, cluster }: PlanInput,
  { loadBalancer, tags, attributes, listeners }: ObservedLoadBalancer,
): string[] {
  const { LoadBalancerArn: arn, LoadBalancerName: name } = loadBalancer;
  const isProtected = attributes.some(({ Key, Value }) => Key === 'deletion_protection.enabled' && Value === 'true');
  const adopted = tags[tagKeys.adopted] !== undefined;
  if (isProtected && !adopted) {
    steps.addProblem(reason('AwsDeletionProtected', { name }));
    return [];
  }
  const gone: string[] = [];
  if (adopted) {
    for (const { listener, tags } of listeners.filter((one) => isOurs(one.tags, cluster))) {
      const id = `${name} listener ${listener.Port}: delete`;
      gone.push(
        steps.addAction(id, 'elbv2:DeleteListener', {
          input: { ListenerArn: listener.ListenerArn },
          reason: `it is of ${tags[tagKeys.service] ?? 'ours'}`,
        }),
      );
    }
  } else {
    gone.push(
      steps.addAction(`${name}: delete`, 'elbv2:DeleteLoadBalancer', {
        input: { LoadBalancerArn: arn },
        reason: 'nothing uses it any more',
      }),
    );
  }
  for (const { targetGroup } of observed.targetGroups.filter((one) => one.targetGroup.LoadBalancerArns.includes(arn))) {
    steps.addAction(`target group ${targetGroup.TargetGroupName}: delete`, 'elbv2:DeleteTargetGroup', {
      input: { TargetGroupArn: targetGroup.TargetGroupArn },
      reason: `it goes with ${name}`,
      needs: gone,
      mayBeInUse: true,
    });
  }
  if (adopted) {
    // Its attributes go back to what they were before an annotation named them.
    const back = tagList(attributeChange(attributes, tags, {}, {}).write);
    const input = { LoadBalancerArn: arn, Attributes: back };
    const reset =
      back.length === 0
        ? []
        : [
            steps.addAction(`${name}: attributes`, 'elbv2:ModifyLoadBalancerAttributes', {
              input,
              reason: 'they were not so when it was given to us',
            }),
          ];
    // That the cluster may have it is its owner's word, and stays.
    steps.addAction(`${name}: let go`, 'elbv2:RemoveTags', {
      input: {
        ResourceArns: [arn],
        TagKeys: [...askedKeys(tags), ...Object.keys(tags).filter((key) => isOurKey(key) && key !== tagKeys.cluster)],
      },
      reason: 'it was given to us, and is not used any more',
      needs: [...gone, ...reset],
    });
  }
  return gone;
}

export function planRemovalOfClassic(steps: Steps, { loadBalancer: { LoadBalancerName } }: ObservedClassic): string[] {
  return [
    steps.addAction(`${LoadBalancerName}: delete`, 'elb:DeleteLoadBalancer', {
      input: { LoadBalancerName },
      reason: 'nothing uses it any more',
    }),
  ];
}
