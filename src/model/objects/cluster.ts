import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Metadata } from './metadata.ts';

/** core/v1 Node: what decisions use of it. */
export interface Node {
  readonly kind: 'Node';
  readonly metadata: Metadata;
  /** status.addresses of type InternalIP, in order; the first of each family is primary and takes NodePort traffic. */
  readonly internalIPs: readonly Address[];
  readonly podCIDRs: readonly Prefix[];
  /** Condition NetworkUnavailable is True. */
  readonly networkUnavailable: boolean;
  /** Condition Ready is True, or there is no such condition (standalone). Shown, not decided upon. */
  readonly ready: boolean;
  /** Has the taint ToBeDeletedByClusterAutoscaler: the node is about to be removed. */
  readonly toBeDeleted: boolean;
  /** Has the taint karpenter.sh/disrupted:NoSchedule: Karpenter is about to replace the node. */
  readonly disrupted?: true;
  /** Its annotation asks that it be drained; force: even where no other node announces an address. */
  readonly drain?: 'keepLast' | 'force';
  /** Keys of its taints; absent: it has none. */
  readonly taints?: readonly string[];
  /** spec.providerID: which machine of which cloud it is. */
  readonly providerID?: string;
}

/** networking.k8s.io/v1 ServiceCIDR: ranges that ClusterIPs are taken from. */
export interface ServiceCIDR {
  readonly kind: 'ServiceCIDR';
  readonly metadata: Metadata;
  readonly cidrs: readonly Prefix[];
}

export interface Namespace {
  readonly kind: 'Namespace';
  readonly metadata: Metadata;
}

/** core/v1 Secret of type kubernetes.io/basic-auth. Its value must never reach a log, a status or an error. */
export interface Secret {
  readonly kind: 'Secret';
  readonly metadata: Metadata;
  readonly type: string;
  readonly password?: string;
}
