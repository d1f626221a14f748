import type { Leadership } from '../../explain/overview/overview.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../model/unreadable-kind.ts';
import type { RawEntry } from '../../sources/read-objects.ts';
import type { SourceProblem } from '../../sources/source.ts';

/**
 * What a command that answers and ends has read, wherever that was: a cluster, a directory with what Herald recorded there, or manifests
 * alone. Nothing is followed: it is how things were at one moment.
 */
export interface Reading {
  /**
   * cluster: with the records and reports that are in its objects. directory: with those in its folder .herald. manifests: as
   * they are written, which may be all there is.
   */
  readonly kind: 'cluster' | 'directory' | 'manifests';
  /** For messages: "the cluster at 192.0.2.1:6443", "/etc/herald". */
  readonly from: string;
  readonly snapshot: Snapshot;
  readonly problems: readonly SourceProblem[];
  /** What the caller may not read, or the cluster does not have: what follows from its absence is not known. */
  readonly unread: readonly UnreadableKind[];
  /** By which reports of nodes are judged, in milliseconds since the epoch. */
  readonly now: number;
  /** As they were written, for who changes them. Empty for a directory. */
  readonly objects: readonly RawEntry[];
  /** The Pods of a namespace. Undefined: nobody can tell (there are none in a directory, or the caller may not list them). */
  pods(namespace: string): Promise<readonly Pod[] | undefined>;
  /** What Herald has written about a Service. */
  record(service: ServiceKey): Promise<RecordedService>;
  /** The conditions that Herald has written, of all Services that have any. */
  conditions(): Promise<ReadonlyMap<ServiceKey, readonly Condition[]>>;
  /** Who leads among the controllers; `namespace`: of their Lease. Undefined: nobody can tell. */
  leadership(namespace: string): Promise<Leadership | undefined>;
  /** To be called when nothing more is asked. */
  close(): void;
}

export interface RecordedService {
  readonly conditions: readonly DatedCondition[];
  /** Warnings about the Service, the newest first, a few. */
  readonly events: readonly PastEvent[];
}

interface DatedCondition extends Condition {
  /** RFC 3339; absent where the record does not say. */
  readonly since?: string;
}

export interface PastEvent {
  readonly reason: string;
  readonly note: string;
  /** RFC 3339. */
  readonly last: string;
  readonly count: number;
}
