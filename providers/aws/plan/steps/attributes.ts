import type { Attribute } from '../../cloud/elbv2.ts';
import { beforeKey, isTaggable, keptBefore, tagList } from '../../model/tags.ts';
import type { Tags } from '../../model/observed.ts';
import type { Steps } from './steps.ts';

/** Attributes that are always managed: nothing is to be kept of what they were. */
export const alwaysManagedAttributes: ReadonlySet<string> = new Set(['proxy_protocol_v2.enabled']);

interface AttributeChange {
  /** What is to be written, ours and what goes back. */
  readonly write: Tags;
  /** Tags that must be there before. */
  readonly tagsToAdd: Tags;
  /** Keys of tags that may go after. */
  readonly tagKeysToRemove: readonly string[];
}

/**
 * Attributes whose value differs, and those that no annotation names any more: they go back to what they were. Those that none has ever
 * named are not ours to change.
 */
export function attributeChange(actual: readonly Attribute[], tags: Tags, desired: Tags, defaults: Tags): AttributeChange {
  const values = new Map(actual.map(({ Key, Value }) => [Key, Value]));
  const kept = keptBefore(tags);
  const write: Record<string, string> = {};
  const remember: Record<string, string> = {};
  const forget: string[] = [];
  for (const [key, value] of Object.entries(desired)) {
    const before = kept.get(key);
    const current = values.get(key);
    if (current !== value) write[key] = value;
    if (before === value) forget.push(beforeKey(key));
    const worthKeeping = current ?? defaults[key];
    if (before === undefined && worthKeeping !== undefined && worthKeeping !== value && !alwaysManagedAttributes.has(key)) {
      if (isTaggable(beforeKey(key), worthKeeping)) remember[beforeKey(key)] = worthKeeping;
    }
  }
  for (const [key, before] of kept) {
    if (desired[key] !== undefined) continue;
    // What AWS does not show any more is not there to be set.
    const current = values.get(key);
    if (current !== undefined && current !== before && isSettable(key, before)) write[key] = before;
    forget.push(beforeKey(key));
  }
  return { write, tagsToAdd: remember, tagKeysToRemove: forget };
}

/** Tags that something gets when it is made with attributes that are not those of AWS. */
export function beforeTagsAtCreation(desired: Tags, defaults: Tags): Tags {
  return attributeChange([], {}, desired, defaults).tagsToAdd;
}

/** AWS takes no empty name of a bucket; where logs are off the name means nothing. */
function isSettable(key: string, value: string): boolean {
  return key !== 'access_logs.s3.bucket' || value !== '';
}

interface Subject {
  /** "listener 443" */
  readonly what: string;
  readonly arn: string;
  readonly needs?: string | undefined;
  readonly actual: readonly Attribute[];
  readonly tags: Tags;
  readonly desired: Tags;
  readonly defaults: Tags;
  /** Adds what sets them, and returns its ids. */
  readonly write: (id: string, attributes: Tags, reason: string, needs: readonly (string | undefined)[]) => readonly string[];
}

/** The old value is kept before the new one is set, and forgotten after it is back: to be interrupted between them is harmless. */
export function planAttributes(steps: Steps, { what, arn, needs, write: set, actual, tags, desired, defaults }: Subject): void {
  const { write, tagsToAdd: remember, tagKeysToRemove: forget } = attributeChange(actual, tags, desired, defaults);
  const kept =
    Object.keys(remember).length === 0
      ? undefined
      : steps.addAction(`${what}: remember attributes`, 'elbv2:AddTags', {
          input: { ResourceArns: [arn], Tags: tagList(remember) },
          reason: 'what they were is kept, so that it can be undone',
          needs: [needs],
        });
  const names = Object.keys(write);
  const written = names.length === 0 ? [] : set(`${what}: attributes`, write, `${names.join(', ')} differ`, [needs, kept]);
  if (forget.length === 0) return;
  steps.addAction(`${what}: forget attributes`, 'elbv2:RemoveTags', {
    input: { ResourceArns: [arn], TagKeys: forget },
    reason: 'they are what they were before an annotation named them',
    needs: [needs, ...written],
  });
}
