import { reason, reasonText, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Tag } from '../cloud/elbv2.ts';
import { AwsError } from '../cloud/error.ts';
import { isWrite, type Input, type Operation, type Output } from '../cloud/operations.ts';
import type { AwsSettings } from '../model/settings.ts';
import { otherClusterOf, tagMap } from '../model/tags.ts';

export interface OwnerObserver {
  /** The number of known resources that have the name of this cluster and the UID of another one. */
  countedOfOtherClusters(count: number): void;
}

interface SingleOwnerComponents {
  readonly log: Log;
  readonly observer?: OwnerObserver | undefined;
}

/**
 * Lets nothing be written while another cluster has the name of this one: both would change and delete each other's load balancers. The UID
 * in the tags tells the clusters apart. It looks at tags that are read anyway, so it makes no request.
 */
export class SingleOwner implements Cloud {
  readonly #cloud: Cloud;
  readonly #settings: AwsSettings;
  readonly #components: SingleOwnerComponents;
  /** The UIDs of other clusters by resource. */
  readonly #found = new Map<string, string>();
  /** Resources that the running scan has not found again. */
  #unseen = new Set<string>();

  constructor(cloud: Cloud, settings: AwsSettings, components: SingleOwnerComponents) {
    this.#cloud = cloud;
    this.#settings = settings;
    this.#components = components;
    components.observer?.countedOfOtherClusters(0);
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    if (isWrite(operation)) this.assertSingle(operation);
    const output = await this.#cloud.call(operation, input);
    for (const { id, tags } of taggedResources(operation, output)) this.#inspect(id, tags);
    return output;
  }

  /** Why nothing may be written. Undefined: no other cluster is known to have the name. */
  get conflict(): Reason | undefined {
    const [first] = [...this.#found].toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (first === undefined) return undefined;
    const [resource, other] = first;
    const { clusterName: cluster, clusterUid: own = '' } = this.#settings;
    return reason('AwsClusterNameTaken', { cluster, own, other, resource });
  }

  /** Throws AwsError while another cluster has the name. `operation`: the call that is not made. */
  assertSingle(operation: Operation): void {
    const { conflict } = this;
    if (conflict === undefined) return;
    const error = { code: 'otherCluster', operation, awsCode: '', requestId: '', message: reasonText(conflict), reason: conflict } as const;
    throw new AwsError(error);
  }

  /** Runs a scan that reads all resources of the cluster. Those of other clusters that it does not find are gone. */
  async duringScan<T>(scan: () => Promise<T>): Promise<T> {
    const unseen = new Set(this.#found.keys());
    this.#unseen = unseen;
    const result = await scan();
    for (const id of unseen) this.#found.delete(id);
    this.#components.observer?.countedOfOtherClusters(this.#found.size);
    return result;
  }

  #inspect(id: string, tags: readonly Tag[]): void {
    const other = otherClusterOf(tagMap(tags), this.#settings);
    if (other !== undefined) this.#unseen.delete(id);
    if (other === this.#found.get(id)) return;
    if (other === undefined) this.#found.delete(id);
    else this.#found.set(id, other);
    const { log, observer } = this.#components;
    observer?.countedOfOtherClusters(this.#found.size);
    if (other === undefined) return;
    const { clusterName: cluster, clusterUid = '' } = this.#settings;
    log.error({ cluster, clusterUid, otherUid: other, resource: id }, 'another cluster has the same name: nothing is changed in AWS');
  }
}

/** Returns the resources with tags in an answer. */
function taggedResources(operation: Operation, output: unknown): readonly { readonly id: string; readonly tags: readonly Tag[] }[] {
  if (operation === 'elbv2:DescribeTags')
    return (output as Output<typeof operation>).TagDescriptions.map(({ ResourceArn, Tags }) => ({ id: ResourceArn, tags: Tags }));
  if (operation === 'elb:DescribeTags')
    return (output as Output<typeof operation>).TagDescriptions.map(({ LoadBalancerName, Tags }) => ({ id: LoadBalancerName, tags: Tags }));
  if (operation === 'ec2:DescribeSecurityGroups')
    return (output as Output<typeof operation>).SecurityGroups.map(({ GroupId, Tags }) => ({ id: GroupId, tags: Tags }));
  return [];
}

/**
 * Returns the identity of the cluster: the UID of its Namespace kube-system, which stays as long as the cluster. Undefined in a directory
 * of manifests, whose objects have no UIDs of an API server.
 */
export function clusterUidOf({ namespaces }: Snapshot): string | undefined {
  const uid = namespaces.get('kube-system')?.metadata.uid ?? '';
  return uid === '' || uid.startsWith('standalone:') ? undefined : uid;
}
