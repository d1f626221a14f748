import { createHash } from 'node:crypto';
import type { Tag } from '../cloud/elbv2.ts';
import type { Tags } from './observed.ts';

/** Tags by which Herald recognises what it has made. What lacks `cluster` with our name is not ours. */
export const tagKeys = {
  cluster: 'herald.dev/cluster',
  /** Which load balancer it belongs to: DesiredBase.stack. */
  stack: 'herald.dev/stack',
  /** What it is there: resources below. */
  resource: 'herald.dev/resource',
  /** Of listeners and target groups: the Service. */
  service: 'herald.dev/service',
  /** Of a load balancer that was not made by us, but given to us. */
  adopted: 'herald.dev/adopted',
  /** Since when a successor has been serving, RFC 3339: it is deleted some time after. */
  retired: 'herald.dev/retired-at',
  /** Since when it has had no Service, RFC 3339. */
  orphaned: 'herald.dev/orphaned-at',
} as const;

const ourKeys: ReadonlySet<string> = new Set(Object.values(tagKeys));
const beforePrefix = 'herald.dev/before/';
/** Followed by "-2", "-3" where one tag has no room for all. */
const askedKey = 'herald.dev/asked';
const askedKeyPattern = /^herald\.dev\/asked(?:-\d+)?$/;

export const resources = {
  loadBalancer: 'load-balancer',
  securityGroup: 'security-group',
  backendSecurityGroup: 'backend-security-group',
  listener: (port: number): string => `listener:${port}`,
  targetGroup: (key: string): string => `target-group:${key}`,
} as const;

/** Tags of other controllers that say: this is mine. The last one is that of the cloud provider AWS. */
const foreignOwners = ['elbv2.k8s.aws/cluster', 'ingress.k8s.aws/cluster', 'kubernetes.io/service-name'];

export const isOurKey = (key: string): boolean => ourKeys.has(key) || key.startsWith(beforePrefix) || askedKeyPattern.test(key);

/** The tag in which the value is kept that an attribute had before an annotation named it: what is no longer named goes back to it. */
export const beforeKey = (attribute: string): string => `${beforePrefix}${attribute}`;
export const isBeforeKey = (key: string): boolean => key.startsWith(beforePrefix);

/** Attributes whose values are kept in tags, with these. */
export function keptBefore(tags: Tags): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(tags)
      .filter(([key]) => isBeforeKey(key))
      .map(([key, value]) => [key.slice(beforePrefix.length), value]),
  );
}

/** Whether AWS takes it as a tag. */
export function isTaggable(key: string, value: string): boolean {
  return key.length <= 128 && value.length <= 256 && /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(key + value);
}

const mark = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 10);
/** AWS' bound is 256 characters; a mark and a space are eleven. */
const marksInTag = 23;

/** Tags that a Service or an option asks for, with a note of their keys: so those that are not asked for any more are known, and others' stay. */
export function askedTags(tags: Tags): Record<string, string> {
  const marks = Object.keys(tags).map(mark).toSorted();
  const notes: Record<string, string> = {};
  for (let at = 0; at < marks.length; at += marksInTag) {
    const key = at === 0 ? askedKey : `${askedKey}-${at / marksInTag + 1}`;
    notes[key] = marks.slice(at, at + marksInTag).join(' ');
  }
  return { ...tags, ...notes };
}

/** Keys of tags that were once asked for, and that Herald has therefore set. */
export function askedKeys(tags: Tags): string[] {
  const marks = new Set(
    Object.entries(tags)
      .filter(([key]) => askedKeyPattern.test(key))
      .flatMap(([, value]) => value.split(' ')),
  );
  return Object.keys(tags).filter((key) => !isOurKey(key) && marks.has(mark(key)));
}

export function isOurs(tags: Tags, cluster: string): boolean {
  return tags[tagKeys.cluster] === cluster;
}

/** Who else says that it is his, as text; undefined: nobody. */
export function foreignOwner(tags: Tags, cluster: string): string | undefined {
  const other = tags[tagKeys.cluster];
  if (other !== undefined && other !== cluster) return `it belongs to Herald of cluster ${other}`;
  const key = foreignOwners.find((key) => tags[key] !== undefined);
  return key === undefined ? undefined : `it carries the tag ${key}`;
}

export function tagList(tags: Tags): Tag[] {
  return Object.entries(tags)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }));
}

export function tagMap(list: readonly Tag[]): Record<string, string> {
  return Object.fromEntries(list.map(({ Key, Value }) => [Key, Value]));
}
