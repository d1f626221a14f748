import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { formatTime, parseTime } from '../../../src/model/time.ts';
import type { Observed, Tags } from '../model/observed.ts';
import { addTags, Steps, type TaggedResource } from '../plan/steps/steps.ts';
import type { Plan } from '../plan/steps/action.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { execute } from './execution/execute.ts';
import { observeStack } from '../observe/observe.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackState } from './stack-registry.ts';
import { tagKeys } from '../model/tags.ts';

/**
 * Resolves to the latest time at which one of these stacks was retired for the Service, in milliseconds since the epoch. Marks stacks that
 * have no time yet.
 */
export async function retiredSince(
  cloud: Cloud,
  { clusterName: cluster, vpcId }: Pick<AwsSettings, 'clusterName' | 'vpcId'>,
  states: readonly StackState[],
  service: ServiceKey,
  now: () => number,
): Promise<number> {
  const times: number[] = [];
  for (const { identity, known, queue: turns } of states) {
    await turns.run(async () => {
      const input = { stack: identity.key, cluster, vpcId, known, wanted: [], wantedClassic: [], now: now() };
      const { observed } = await observeStack(cloud, input);
      const { since, actions } = planRetirementMark(ownObserved(observed, cluster, identity.key), service, now());
      await execute(cloud, actions);
      times.push(since);
    });
  }
  return Math.max(...times);
}

interface RetirementMark extends Plan {
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Decides since when a Service has been served elsewhere: by the `retired` tag on its target groups or Classic ELB here. Without a tag it
 * is now, and the tag is written, so that a restart of the controller does not begin the time again. `own`: the stack's own resources.
 */
function planRetirementMark({ targetGroups, classic }: Observed, service: ServiceKey, now: number): RetirementMark {
  const steps = new Steps();
  const groups = targetGroups.filter(({ tags }) => tags[tagKeys.service] === service);
  const marks = [...groups, ...classic].map(({ tags }) => parseTime(tags[tagKeys.retired]));
  const known = marks.filter((mark) => mark !== undefined);
  const since = known.length === 0 ? now : Math.min(now, ...known);
  const mark = (what: string, resource: TaggedResource, tags: Tags): void => {
    const added = [{ Key: tagKeys.retired, Value: formatTime(since) }];
    const reason = `${service} is served elsewhere`;
    if (tags[tagKeys.retired] === undefined) addTags(steps, `${what}: retire`, resource, added, { reason });
  };
  for (const { targetGroup, tags } of groups)
    mark(`target group ${targetGroup.TargetGroupName}`, { ResourceArns: [targetGroup.TargetGroupArn] }, tags);
  for (const { loadBalancer, tags } of classic)
    mark(loadBalancer.LoadBalancerName, { LoadBalancerNames: [loadBalancer.LoadBalancerName] }, tags);
  return { since, actions: steps.actions, waits: [] };
}
