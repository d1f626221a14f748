import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Tag } from '../cloud/elbv2.ts';
import type { AwsSettings } from '../model/settings.ts';
import { isClassicName } from '../observe/known-resources.ts';
import type { Owned } from '../observe/scan.ts';
import type { Action, Plan } from '../plan/steps/action.ts';
import type { Tags } from '../model/observed.ts';
import { addTags, Steps } from '../plan/steps/steps.ts';
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
      const mark = { Key: tagKeys.orphaned, Value: formatTime(now) };
      addTag(steps, `${id}: mark as an orphan`, id, mark, `no Service has ${tags[tagKeys.stack] ?? 'it'}`);
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

/**
 * Plans our UID on resources without it, or with that of a former cluster. A reconcile does the same, but not for orphans, nor for Services
 * with errors.
 */
export function planOwner(
  owned: ReadonlyMap<string, readonly Owned[]>,
  { clusterUid }: Pick<AwsSettings, 'clusterUid'>,
): readonly Action[] {
  const steps = new Steps();
  if (clusterUid === undefined) return [];
  for (const { id, tags } of [...owned.values()].flat()) {
    const before = tags[tagKeys.clusterUid];
    const why = before === undefined ? 'an earlier version of Herald made it' : `it is taken over from the cluster with UID ${before}`;
    if (before !== clusterUid) addTag(steps, `${id}: tag the owner`, id, { Key: tagKeys.clusterUid, Value: clusterUid }, why);
  }
  return steps.actions;
}

function addTag(steps: Steps, name: string, id: string, tag: Tag, reason: string): void {
  const ofClassicOrEc2 = isClassicName(id) ? { LoadBalancerNames: [id] as const } : { Resources: [id] as const };
  addTags(steps, name, id.startsWith('arn:') ? { ResourceArns: [id] } : ofClassicOrEc2, [tag], { reason });
}
