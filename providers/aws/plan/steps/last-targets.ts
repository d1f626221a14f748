import { formatTime, parseTime } from '../../../../src/model/time.ts';
import { limits } from '../../model/limits.ts';
import type { Tags } from '../../model/observed.ts';
import { tagKeys } from '../../model/tags.ts';
import { addTags, removeTags, type Steps, type TaggedResource } from './steps.ts';

/** When the last targets of a target group or Classic ELB leave, if its Service has no target any more: perhaps by mistake. */
export interface LastTargetsRule {
  /** How long they stay. 0: not at all. */
  readonly seconds: number;
  /** False for an address that is no longer known to be a Pod's: another Pod may get it. True for every instance. */
  readonly mayStay: (id: string) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** `since`: milliseconds since the epoch. Absent: nothing stays, because other targets are wanted, or none is registered. */
export interface LastTargets {
  readonly since?: number;
  readonly mayStay: (id: string) => boolean;
  /** Seconds until they leave. 0: now. */
  readonly left: number;
}

interface Group {
  readonly tags: Tags;
  /** How many targets are wanted. */
  readonly wanted: number;
  /** How many are registered, without draining ones. */
  readonly registered: number;
}

/** Decides how long the last targets stay. A tag has the time, so that a restart of the controller does not begin it again. */
export function lastTargetsOf({ tags, wanted, registered }: Group, { seconds, mayStay, now }: LastTargetsRule): LastTargets {
  const noted = parseTime(tags[tagKeys.lastTargets]);
  if (wanted > 0 || seconds === 0 || (registered === 0 && noted === undefined)) return { mayStay, left: 0 };
  const since = Math.min(noted ?? now, now);
  return { since, mayStay, left: Math.max(0, Math.ceil((since + seconds * 1000 - now) / 1000)) };
}

/** True for a target that stays for now. */
export function isStaying({ left, mayStay }: LastTargets, id: string): boolean {
  return left > 0 && mayStay(id);
}

export function waitForLastTargets(steps: Steps, what: string, { left }: LastTargets): void {
  steps.wait(`other targets for ${what}, whose last ones leave in the end`, Math.min(left, limits.lastTargetCheckSeconds));
}

/** Returns the tag that the resource shall have. */
export function lastTargetsTag({ since }: LastTargets): Tags {
  return since === undefined ? {} : { [tagKeys.lastTargets]: formatTime(since) };
}

/** Plans the tag of a resource whose other tags stay as they are. */
export function planLastTargetsTag(steps: Steps, what: string, resource: TaggedResource, tags: Tags, last: LastTargets): void {
  const { [tagKeys.lastTargets]: present } = tags;
  const { [tagKeys.lastTargets]: wanted } = lastTargetsTag(last);
  if (present === wanted) return;
  const key = tagKeys.lastTargets;
  if (wanted === undefined) removeTags(steps, `${what}: untag last targets`, resource, [key], { reason: 'it has targets again' });
  else addTags(steps, `${what}: tag last targets`, resource, [{ Key: key, Value: wanted }], { reason: 'no target is wanted any more' });
}
