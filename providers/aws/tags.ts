import type { Tag } from './cloud/elbv2.ts';
import type { Tags } from './plan/observed.ts';

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

export const resources = {
  loadBalancer: 'load-balancer',
  securityGroup: 'security-group',
  backendSecurityGroup: 'backend-security-group',
  listener: (port: number): string => `listener:${port}`,
  targetGroup: (key: string): string => `target-group:${key}`,
} as const;

/** Tags of other controllers that say: this is mine. */
const foreignOwners = ['elbv2.k8s.aws/cluster', 'ingress.k8s.aws/cluster'];

export const isOurKey = (key: string): boolean => ourKeys.has(key);

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
