import type { Attribute } from '../../cloud/elbv2.ts';
import { beforeKey, isTaggable, keptBefore, tagList } from '../../model/tags.ts';
import type { Tags } from '../../model/observed.ts';
import { addTags, removeTags, type Steps } from './steps.ts';

/** Attributes that Herald always manages. Their previous values are not kept. */
export const alwaysManagedAttributes: ReadonlySet<string> = new Set(['proxy_protocol_v2.enabled']);

interface AttributeChange {
  /** Attributes to write: desired values, and previous values that are restored. */
  readonly write: Tags;
  /** Tags that must be written before the attributes. They keep previous values. */
  readonly tagsToAdd: Tags;
  /** Keys of tags that may be removed after the attributes are written. */
  readonly tagKeysToRemove: readonly string[];
}

/**
 * Computes which attributes change. An attribute that is no longer named by an annotation returns to its previous value. An attribute that
 * was never named stays unchanged.
 */
export function attributeChange(actual: readonly Attribute[], tags: Tags, desired: Tags, defaults: Tags): AttributeChange {
  const values = new Map(actual.map(({ Key, Value }) => [Key, Value]));
  const kept = keptBefore(tags);
  const write: Record<string, string> = {};
  const remember: Record<string, string> = {};
  const forget: string[] = [];
  for (const [key, value] of Object.entries(desired)) {
    const before = kept.get(key);
    // An answer without an attribute means its default. Nobody asked for those that Herald always manages, so they are not written then.
    const current = values.get(key) ?? (alwaysManagedAttributes.has(key) ? defaults[key] : undefined);
    if (current !== value) write[key] = value;
    if (before === value) forget.push(beforeKey(key));
    const worthKeeping = current ?? defaults[key];
    if (before === undefined && worthKeeping !== undefined && worthKeeping !== value && !alwaysManagedAttributes.has(key)) {
      if (isTaggable(beforeKey(key), worthKeeping)) remember[beforeKey(key)] = worthKeeping;
    }
  }
  for (const [key, before] of kept) {
    if (desired[key] !== undefined) continue;
    // An attribute that AWS no longer shows cannot be set.
    const current = values.get(key);
    if (current !== undefined && current !== before && isSettable(key, before)) write[key] = before;
    forget.push(beforeKey(key));
  }
  return { write, tagsToAdd: remember, tagKeysToRemove: forget };
}

/** Returns the tags with AWS' default values for a resource that is created with other values. */
export function beforeTagsAtCreation(desired: Tags, defaults: Tags): Tags {
  return attributeChange([], {}, desired, defaults).tagsToAdd;
}

/** AWS refuses an empty bucket name. With access logs off the name has no effect. */
function isSettable(key: string, value: string): boolean {
  return key !== 'access_logs.s3.bucket' || value !== '';
}

interface Subject {
  /** For example "listener 443". */
  readonly what: string;
  readonly arn: string;
  readonly needs?: string | undefined;
  readonly actual: readonly Attribute[];
  readonly tags: Tags;
  readonly desired: Tags;
  readonly defaults: Tags;
  /** Adds the actions that write the attributes and returns their ids. */
  readonly write: (id: string, attributes: Tags, reason: string, needs: readonly (string | undefined)[]) => readonly string[];
}

/**
 * Plans attribute changes. The previous value is stored in a tag before the attribute is set, and the tag is removed after the value is
 * restored, so an interruption between these steps is harmless.
 */
export function planAttributes(steps: Steps, { what, arn, needs, write: set, actual, tags, desired, defaults }: Subject): void {
  const { write, tagsToAdd: remember, tagKeysToRemove: forget } = attributeChange(actual, tags, desired, defaults);
  const kept =
    Object.keys(remember).length === 0
      ? undefined
      : addTags(steps, `${what}: remember attributes`, { ResourceArns: [arn] }, tagList(remember), {
          reason: 'their previous values are kept so that they can be restored',
          needs: [needs],
        });
  const names = Object.keys(write);
  const written = names.length === 0 ? [] : set(`${what}: attributes`, write, `${names.join(', ')} differ`, [needs, kept]);
  if (forget.length === 0) return;
  removeTags(steps, `${what}: forget attributes`, { ResourceArns: [arn] }, forget, {
    reason: 'their previous values are restored',
    needs: [needs, ...written],
  });
}
