import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { isClassicName } from '../observe/known-resources.ts';
import type { Owned } from '../observe/scan.ts';
import type { Action, Plan } from '../plan/steps/action.ts';
import type { Tags } from '../model/observed.ts';
import { Steps } from '../plan/steps/steps.ts';
import { tagKeys } from '../model/tags.ts';
import { formatTime, parseTime } from '../../../src/model/time.ts';

interface OrphanDecision extends Plan {
  /** Stacks that have been without a Service for long enough: to be deleted. */
  readonly expired: readonly string[];
}

/**
 * What carries our tags and has no Service: it is marked with the time, and deleted when the mark has grown old. A controller that has
 * not seen all Services, for whatever reason, so does no harm that cannot be undone in that time. Whoever uses it again takes the mark
 * away, as it is a tag that is not desired.
 */
export function decideOrphans(
  owned: ReadonlyMap<string, readonly Owned[]>,
  isUsed: (stack: string) => boolean,
  now: number,
  orphanSeconds: number,
  isVanished: (service: ServiceKey) => boolean = () => false,
): OrphanDecision {
  const steps = new Steps();
  const expired: string[] = [];
  for (const [stack, all] of owned) {
    const used = isUsed(stack);
    // In a load balancer that others share, a Service leaves its own part behind: that is removed with the next look at the whole.
    const things = used ? all.filter(({ tags }) => isOfVanishedService(tags, isVanished)) : all;
    const marks = things.map(({ tags }) => parseTime(tags[tagKeys.orphaned]));
    if (!used && marks.every((mark) => mark !== undefined && now - mark >= orphanSeconds * 1000)) expired.push(stack);
    for (const { id, tags } of things.filter((_, index) => marks[index] === undefined)) {
      mark(steps, id, formatTime(now), `no Service has ${tags[tagKeys.stack] ?? 'it'}`);
    }
  }
  return { actions: steps.actions, waits: [], expired };
}

/** Services that are gone without having been deleted, and not for long enough: what they have in a load balancer of several stays for now. */
export function vanishedServices(
  groups: readonly { readonly tags: Tags }[],
  isVanished: (service: ServiceKey) => boolean,
  now: number,
  orphanSeconds: number,
): ServiceKey[] {
  const recent = groups.filter(({ tags }) => {
    const mark = parseTime(tags[tagKeys.orphaned]);
    return isOfVanishedService(tags, isVanished) && (mark === undefined || now - mark < orphanSeconds * 1000);
  });
  return [...new Set(recent.map(({ tags }) => tags[tagKeys.service] as ServiceKey))];
}

function isOfVanishedService(tags: Tags, isVanished: (service: ServiceKey) => boolean): boolean {
  const service = tags[tagKeys.service];
  return service !== undefined && isVanished(service as ServiceKey);
}

function mark(steps: Steps, id: string, at: string, reason: string): Action['id'] {
  const Tags = [{ Key: tagKeys.orphaned, Value: at }];
  const name = `${id}: mark as an orphan`;
  if (id.startsWith('arn:')) return steps.addAction(name, 'elbv2:AddTags', { input: { ResourceArns: [id], Tags }, reason });
  if (isClassicName(id)) return steps.addAction(name, 'elb:AddTags', { input: { LoadBalancerNames: [id], Tags }, reason });
  return steps.addAction(name, 'ec2:CreateTags', { input: { Resources: [id], Tags }, reason });
}
