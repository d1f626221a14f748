import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Metadata } from './metadata.ts';

/** core/v1 Node: the fields that decisions use. */
export interface Node {
  readonly kind: 'Node';
  readonly metadata: Metadata;
  /** status.addresses of type InternalIP, in order. The first of each family is primary and takes NodePort traffic. */
  readonly internalIPs: readonly Address[];
  /** status.addresses of type ExternalIP. Absent: none. */
  readonly externalIPs?: readonly Address[];
  readonly podCIDRs: readonly Prefix[];
  /** Condition NetworkUnavailable is True. */
  readonly networkUnavailable: boolean;
  /** Condition Ready is True, or missing (standalone). For display only: no decision uses it. */
  readonly ready: boolean;
  /** Condition Ready is Unknown: the control plane has not heard of the kubelet for a while. */
  readonly kubeletSilent?: true;
  /** Has the taint ToBeDeletedByClusterAutoscaler: the node will be removed soon. */
  readonly toBeDeleted: boolean;
  /** Has the taint karpenter.sh/disrupted:NoSchedule: Karpenter will replace the node soon. */
  readonly disrupted?: true;
  /** Drain requested by annotation. keepLast: keep routes that no other node announces. force: withdraw those too. Absent: no drain. */
  readonly drain?: 'keepLast' | 'force';
  /** Keys of its taints, sorted. Absent: none. */
  readonly taints?: readonly string[];
  /** spec.providerID, which identifies the machine at the cloud provider. */
  readonly providerID?: string;
}

/** True when a label keeps load balancers away from the node (KEP-1143). */
export function isExcludedNode({ metadata: { labels } }: Node): boolean {
  return labels['node.kubernetes.io/exclude-from-external-load-balancers'] !== undefined;
}

/** networking.k8s.io/v1 ServiceCIDR: the ranges of ClusterIPs. */
export interface ServiceCIDR {
  readonly kind: 'ServiceCIDR';
  readonly metadata: Metadata;
  readonly cidrs: readonly Prefix[];
}

export interface Namespace {
  readonly kind: 'Namespace';
  readonly metadata: Metadata;
}

/** core/v1 Secret of type kubernetes.io/basic-auth. Its value must never appear in a log, a status or an error. */
export interface Secret {
  readonly kind: 'Secret';
  readonly metadata: Metadata;
  readonly type: string;
  readonly password?: string;
}
