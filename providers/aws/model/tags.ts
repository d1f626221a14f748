import { createHash } from 'node:crypto';
import type { Tag } from '../cloud/elbv2.ts';
import { defined } from '../../../src/lang/defined.ts';
import type { Tags } from './observed.ts';
import type { AwsSettings } from './settings.ts';

/** The tags by which Herald recognises its resources. A resource is ours only if `cluster` has our name. */
export const tagKeys = {
  cluster: 'herald.dev/cluster',
  /** The UID of Namespace kube-system; on load balancers, target groups and security groups. It tells clusters of the same name apart. */
  clusterUid: 'herald.dev/cluster-uid',
  /** The stack that it belongs to: DesiredBase.stack. */
  stack: 'herald.dev/stack',
  /** Its role in the stack: one of `resources` below. */
  resource: 'herald.dev/resource',
  /** The Service; on listeners and target groups. */
  service: 'herald.dev/service',
  /** On a load balancer that the user made and Herald has adopted. */
  adopted: 'herald.dev/adopted',
  /** The choice of subnets. It stays while zones change one after the other. */
  subnets: 'herald.dev/subnets',
  /** A zone that the NLB leaves to get other settings in it, as it was: the subnet and its addresses. It stays until the zone is back. */
  leftZone: 'herald.dev/left-zone',
  /** On an NLB that has, or gets, a PrivateLink endpoint service of Herald. Without it Herald looks for none. */
  endpointService: 'herald.dev/endpoint-service',
  /** On a target group in which others may register targets: its owner deregisters only its own. */
  multiCluster: 'herald.dev/multi-cluster',
  /** On a target group: the namespaces whose Services may use it, separated by spaces. */
  namespaces: 'herald.dev/namespaces',
  /** Since when a replacement serves, RFC 3339. Deleted `retireSeconds` later. */
  retired: 'herald.dev/retired-at',
  /** On target groups and Classic ELBs: since when no target has been wanted, RFC 3339. The last ones stay `lastTargetSeconds`. */
  lastTargets: 'herald.dev/last-targets-since',
  /** Since when it has had no Service, RFC 3339. */
  orphaned: 'herald.dev/orphaned-at',
} as const;

const ourKeys: ReadonlySet<string> = new Set(Object.values(tagKeys));
const beforePrefix = 'herald.dev/before/';
/** Followed by "-2", "-3" when one tag has no room for all. */
const askedKey = 'herald.dev/asked';
const askedKeyPattern = /^herald\.dev\/asked(?:-\d+)?$/;

export const resources = {
  loadBalancer: 'load-balancer',
  securityGroup: 'security-group',
  backendSecurityGroup: 'backend-security-group',
  endpointService: 'endpoint-service',
  listener: (port: number): string => `listener:${port}`,
  targetGroup: (key: string): string => `target-group:${key}`,
} as const;

/** Tags of the AWS Load Balancer Controller on everything that it manages. */
const managerKeys = ['elbv2.k8s.aws/cluster', 'ingress.k8s.aws/cluster'];
/** Tags of other controllers that claim a resource. The last one is that of the AWS cloud provider. */
const foreignOwners = [...managerKeys, 'kubernetes.io/service-name'];

export const isOurKey = (key: string): boolean => ourKeys.has(key) || key.startsWith(beforePrefix) || askedKeyPattern.test(key);

/**
 * Returns the tag that keeps an attribute's value from before an annotation named it. The value is restored when no annotation names it any
 * more.
 */
export const beforeKey = (attribute: string): string => `${beforePrefix}${attribute}`;
export const isBeforeKey = (key: string): boolean => key.startsWith(beforePrefix);

/** The tag with the reserved capacity from before an annotation named it. */
export const capacityBefore = beforeKey('capacity_units');

/** Returns the attributes with such a tag, and their values. */
export function keptBefore(tags: Tags): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(tags)
      .filter(([key]) => isBeforeKey(key))
      .map(([key, value]) => [key.slice(beforePrefix.length), value]),
  );
}

/**
 * True for a tag that only AWS or Herald sets, in upper or lower case: AWS reserves its prefix in every case, and conditions of IAM do not
 * tell cases apart.
 */
export const isReservedKey = (key: string): boolean => /^(?:aws:|herald\.dev\/)/i.test(key);

/** True when AWS accepts it as a tag. */
export function isTaggable(key: string, value: string): boolean {
  return key.length <= 128 && value.length <= 256 && /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(key + value);
}

const mark = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 10);
/** AWS allows 256 characters; a mark and a space take eleven. */
const marksInTag = 23;

/**
 * Returns the requested tags with a note of their keys. By the note, tags that are no longer requested are removed, and others' tags stay.
 */
export function askedTags(tags: Tags): Record<string, string> {
  const marks = Object.keys(tags).map(mark).toSorted();
  const notes: Record<string, string> = {};
  for (let at = 0; at < marks.length; at += marksInTag) {
    const key = at === 0 ? askedKey : `${askedKey}-${at / marksInTag + 1}`;
    notes[key] = marks.slice(at, at + marksInTag).join(' ');
  }
  return { ...tags, ...notes };
}

/** Returns the keys of tags that were requested before and that Herald has set. */
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

type Owner = Pick<AwsSettings, 'clusterName' | 'clusterUid'>;

/** Returns the tags that name the owner of a resource. A directory of manifests has no UID. */
export function ownerTags({ clusterName, clusterUid }: Owner): Tags {
  return { [tagKeys.cluster]: clusterName, ...defined({ [tagKeys.clusterUid]: clusterUid }) };
}

/**
 * Returns the UID of another cluster that owns a resource with the name of this cluster. Undefined: the resource is ours, belongs to a
 * cluster of another name, or has no UID: an earlier version made it.
 */
export function otherClusterOf(
  tags: Tags,
  { clusterName, clusterUid, takeOver }: Owner & Pick<AwsSettings, 'takeOver'>,
): string | undefined {
  const uid = tags[tagKeys.clusterUid];
  return isOurs(tags, clusterName) && uid !== undefined && uid !== clusterUid && !takeOver.includes(uid) ? uid : undefined;
}

/** Returns the other controller that claims the resource, as text. Undefined: none. */
export function foreignOwner(tags: Tags, cluster: string): string | undefined {
  const other = tags[tagKeys.cluster];
  if (other !== undefined && other !== cluster) return `it belongs to Herald of cluster ${other}`;
  const key = foreignOwners.find((key) => tags[key] !== undefined);
  return key === undefined ? undefined : `it carries the tag ${key}`;
}

/**
 * Returns the tag by which the AWS Load Balancer Controller manages a load balancer, also one with our tags. Two controllers would undo
 * each other's changes. A tag that a Service asked for does not count. Undefined: there is none.
 */
export function managerTag(tags: Tags): string | undefined {
  const key = managerKeys.find((one) => tags[one] !== undefined);
  return key === undefined || askedKeys(tags).includes(key) ? undefined : key;
}

export function tagList(tags: Tags): Tag[] {
  return Object.entries(tags)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }));
}

export function tagMap(list: readonly Tag[]): Record<string, string> {
  return Object.fromEntries(list.map(({ Key, Value }) => [Key, Value]));
}
