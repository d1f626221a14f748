import { reason } from '../../../src/model/reasons.ts';
import { limits } from '../model/limits.ts';
import { alwaysManagedAttributes } from '../plan/steps/attributes.ts';
import type { Tags } from '../model/observed.ts';
import { tagKeys } from '../model/tags.ts';
import type { Issues } from '../model/issues.ts';

/** What comes and goes: since when it has a successor, or has no Service. */
const later = [tagKeys.retired, tagKeys.orphaned];

/** Of what a Service is to have in AWS, whether the one with the most tags has too many: AWS would refuse that call by call, and half of it be there. */
export function checkTagQuota(things: readonly { readonly tags: Tags; readonly attributes: Tags }[], issues: Issues): void {
  const quota = limits.tagsPerResource;
  // The value that each attribute had before is kept in a tag.
  const kept = (attributes: Tags): number => Object.keys(attributes).filter((key) => !alwaysManagedAttributes.has(key)).length;
  const counts = things.map(({ tags, attributes }) => Object.keys(tags).length + kept(attributes) + later.length);
  const wanted = Math.max(0, ...counts);
  if (wanted > quota) issues.error(reason('AwsTooMany', { what: 'tags', wanted, quota }));
}
