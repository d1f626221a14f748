import { reason } from '../../../src/model/reasons.ts';
import { limits } from '../model/limits.ts';
import { alwaysManagedAttributes } from '../plan/steps/attributes.ts';
import type { Tags } from '../model/observed.ts';
import { tagKeys } from '../model/tags.ts';
import type { Issues } from '../model/issues.ts';

/** Tags that Herald adds later: the time since which a successor serves, and the time since which no Service uses the resource. */
const later = [tagKeys.retired, tagKeys.orphaned];

/**
 * Reports an error if a desired resource has more tags than AWS allows. Without this check AWS would refuse single calls and leave the
 * stack half made.
 */
export function checkTagQuota(things: readonly { readonly tags: Tags; readonly attributes: Tags }[], issues: Issues): void {
  const quota = limits.tagsPerResource;
  // Herald keeps the previous value of each attribute in a tag.
  const kept = (attributes: Tags): number => Object.keys(attributes).filter((key) => !alwaysManagedAttributes.has(key)).length;
  const counts = things.map(({ tags, attributes }) => Object.keys(tags).length + kept(attributes) + later.length);
  const wanted = Math.max(0, ...counts);
  if (wanted > quota) issues.error(reason('AwsTooMany', { what: 'tags', wanted, quota }));
}
