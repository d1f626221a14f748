import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { isClassicName } from '../observe/known-resources.ts';
import type { Owned } from '../observe/scan.ts';
import type { Action, Plan } from '../plan/steps/action.ts';
import type { Tags } from '../model/observed.ts';
import { Steps } from '../plan/steps/steps.ts';
import { tagKeys } from '../model/tags.ts';
import { formatTime, parseTime } from '../../../src/model/time.ts';

interface OrphanDecision extends Plan {
  /** Stacks that have been orphans for `orphanSeconds` and are deleted now. */
  readonly expired: readonly string[];
}

/**
 * Decides which resources are orphans: they have our tags and no Service. They are marked with the time and deleted `orphanSeconds` later,
 * so a controller that does not see all Services does no harm that cannot be undone. When a Service uses a resource again, the mark goes,
 * because the tag is not desired.
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
    // A vanished Service leaves its part in a shared load balancer. The next reconcile of the stack deletes that part.
    const things = used ? all.filter(({ tags }) => isOfVanishedService(tags, isVanished)) : all;
    const marks = things.map(({ tags }) => parseTime(tags[tagKeys.orphaned]));
    if (!used && marks.every((mark) => mark !== undefined && now - mark >= orphanSeconds * 1000)) expired.push(stack);
    for (const { id, tags } of things.filter((_, index) => marks[index] === undefined)) {
      mark(steps, id, formatTime(now), `no Service has ${tags[tagKeys.stack] ?? 'it'}`);
    }
  }
  return { actions: steps.actions, waits: [], expired };
}

/** Returns the vanished Services that have been gone for less than `orphanSeconds`. Their parts of a shared load balancer stay. */
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
