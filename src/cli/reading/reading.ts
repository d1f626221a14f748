import type { Leadership } from '../../explain/overview/leadership.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { HeraldObject, Snapshot } from '../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import type { RawEntry } from '../../sources/read-objects.ts';
import type { SourceProblem } from '../../sources/source.ts';
import type { InForce } from './in-force.ts';

/**
 * Everything that a command has read once, at one moment: from a cluster, from a directory with Herald's records, or from manifests alone.
 */
export interface Reading {
  /**
   * cluster: objects include Herald's records and reports. directory: records and reports are in its folder .herald. manifests: the objects
   * as written, which may lack records and reports.
   */
  readonly kind: 'cluster' | 'directory' | 'manifests';
  /** For messages: "the cluster at 192.0.2.1:6443", "/etc/herald". */
  readonly from: string;
  readonly snapshot: Snapshot;
  readonly problems: readonly SourceProblem[];
  /**
   * Versions in force of the broken objects of a cluster: the snapshot has them. Absent: no object is broken, or no cluster was read.
   */
  readonly inForce?: InForce & { readonly versions: ReadonlyMap<string, unknown> };
  /** Kinds that the caller may not read or the cluster does not have. Decisions that rest on their absence are unknown. */
  readonly unread: readonly UnreadableKind[];
  /** The time by which the age of node reports is measured, in milliseconds since the epoch. */
  readonly now: number;
  /** Seconds by which the clock of this host is ahead of the API server's, or behind if negative. Absent: none, or no cluster. */
  readonly clockSkewSeconds?: number;
  /** The objects as they were written, for callers that edit them. Empty for a directory. */
  readonly objects: readonly RawEntry[];
  /** Returns the Pods of a namespace. Undefined: unknown (a directory has none, or the caller may not list them). */
  pods(namespace: string): Promise<readonly Pod[] | undefined>;
  /** Returns what Herald has recorded about a Service. */
  record(service: ServiceKey): Promise<RecordedService>;
  /** Returns the recorded conditions of all Services that have any. */
  conditions(): Promise<ReadonlyMap<ServiceKey, readonly Condition[]>>;
  /** Returns the released addresses that the status of pools keeps for a Service of the same name. They may have expired. */
  released(): Promise<readonly ReleasedAddress[]>;
  /** Returns the record of addresses that cannot be read, if there is one: a controller that starts then assigns no address. */
  unreadableRecord(): Promise<string | undefined>;
  /** Returns which controller leads. `namespace` is that of the Lease. Undefined: unknown. */
  leadership(namespace: string): Promise<Leadership | undefined>;
  /** Puts a later version of an object into the snapshot. Absent: nothing reports later versions. */
  readonly update?: (object: HeraldObject) => void;
  /** Called when the reading is no longer needed. */
  close(): void;
}

export interface RecordedService {
  /** `since`: RFC 3339; absent when the record does not say. */
  readonly conditions: readonly (Condition & { readonly since?: string })[];
  /** A few warnings about the Service, the newest first. */
  readonly events: readonly PastEvent[];
}

export interface PastEvent {
  readonly reason: string;
  readonly note: string;
  /** RFC 3339. */
  readonly last: string;
  readonly count: number;
}

/** Returns the addresses that pools keep at the time of the reading. */
export async function keptNow({ released, now }: Pick<Reading, 'released' | 'now'>): Promise<readonly ReleasedAddress[]> {
  return (await released()).filter(({ until }) => until > now);
}
