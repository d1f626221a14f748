import type { EventSink } from '../../controller/events/event-sink.ts';
import type { StatusWriter } from '../../controller/status-writer.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { KubernetesServiceMetadata } from '../../sources/kubernetes/records/service-metadata.ts';
import type { Source } from '../../sources/source.ts';

/** What the one controller of a directory or a cluster has. */
export interface LeaderContext {
  readonly writer: StatusWriter;
  /** Absent: what happens is in the log only. */
  readonly events?: EventSink & { stop(): Promise<void> };
  /** Another one may take over. */
  readonly release: () => Promise<void>;
  /** Resolves when another one may have taken over already. Absent: that cannot be. */
  readonly lost?: Promise<void>;
  /** Whether another one may have taken over already. Absent: that cannot be. */
  readonly mayWrite?: () => boolean;
  /** Aborts when that may have happened. Absent: that cannot be. */
  readonly leadershipSignal?: AbortSignal;
  /** Makes HeraldConfig/default where there is none. Absent: a directory, whose manifests are its owner's. */
  readonly makeConfig?: (manifest: object, signal: AbortSignal) => Promise<void>;
  /** Writes finalizers, of this name, and annotations to Services. Absent: nothing can be written to them (a directory). */
  readonly serviceMetadata?: (finalizer: string) => KubernetesServiceMetadata;
}

/** What a process works on, a directory or a cluster: where objects come from, and where what Herald records goes. */
export interface StorageBackend {
  /** Not started yet. */
  readonly source: Source;
  /**
   * To be called by a controller, once. In a directory it rejects with UsageError where another one works there; in a cluster it waits until this
   * one leads. Undefined: it was stopped before.
   */
  acquireLeadership(): Promise<LeaderContext | undefined>;
  /** To be called by the agent of a node, once. Rejects with UsageError where another one works here. */
  acquireNode(
    node: string,
  ): Promise<{ readonly writeNodeState: (state: NodeState) => Promise<void>; readonly release: () => Promise<void> }>;
  close(): Promise<void>;
}
