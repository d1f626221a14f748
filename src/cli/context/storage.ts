import type { EventSink } from '../../controller/events/event-sink.ts';
import type { StatusWriter } from '../../controller/status-writer.ts';
import type { ClockSkew } from '../../kube/client/clock-skew.ts';
import type { AgentPodName } from '../../model/objects/agent-pod.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { DaemonSetName, Installation } from '../../sources/kubernetes/installation.ts';
import type { PodGate } from '../../sources/kubernetes/records/pod-gates.ts';
import type { KubernetesServiceMetadata } from '../../sources/kubernetes/records/service-metadata.ts';
import type { RecordHealth } from '../../sources/directory/records/record-health.ts';
import type { Source } from '../../sources/source.ts';

/** The components through which the leading controller of a directory or a cluster writes. */
export interface LeaderContext {
  readonly writer: StatusWriter;
  /** Absent: Events are only logged. */
  readonly events?: EventSink & { stop(): Promise<void> };
  /** Ends this controller's leadership, so that another controller can take over. */
  readonly release: () => Promise<void>;
  /** Resolves when this controller has lost its leadership to another one, or may have. Absent: leadership cannot be lost. */
  readonly lost?: Promise<void>;
  /** False when another controller may have taken over already. Absent: leadership cannot be lost. */
  readonly mayWrite?: () => boolean;
  /** Aborts when another controller may have taken over. Absent: leadership cannot be lost. */
  readonly leadershipSignal?: AbortSignal;
  /** Creates HeraldConfig/default when it does not exist. Absent in a directory, whose manifests only their author writes. */
  readonly makeConfig?: (manifest: object, signal: AbortSignal) => Promise<void>;
  /** Names the API groups of the cluster. Absent in a directory. */
  readonly apiGroups?: (signal: AbortSignal) => Promise<string[]>;
  /** Writes annotations and the finalizer of this name to Services. Absent: Services cannot be written (a directory). */
  readonly serviceMetadata?: (finalizer: string) => KubernetesServiceMetadata;
  /** Resolves to undefined when there is no such Pod. Absent: a directory, where there are no Pods. */
  readonly readPod?: (namespace: string, name: string) => Promise<Pod | undefined>;
  /** Sets the condition of a Pod's readiness gate to True. Absent as `readPod`. */
  readonly openPodGate?: (pod: PodGate, because: { readonly reason: string; readonly message: string }) => Promise<void>;
}

/** The components of the agent of a node. */
export interface NodeContext {
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly release: () => Promise<void>;
  /** The Pod of this process, by which its kubelet shows that it lives. Absent: it runs in none. */
  readonly pod?: AgentPodName;
}

/** Where a process reads objects and writes its records: a directory or a cluster. */
export interface StorageBackend {
  /** Not started yet. */
  readonly source: Source;
  /** Compares this host's clock with the API server's. Absent: a directory. */
  readonly clockSkew?: ClockSkew;
  /** Knows if records can be written to the directory. Absent: a cluster. */
  readonly recordHealth?: RecordHealth;
  /** Returns why the API server refuses a controller the Lease, with the fix. Undefined while it does not. Absent: a directory. */
  readonly refused?: () => string | undefined;
  /**
   * A controller calls this once. In a directory it rejects with UsageError when another controller works there. In a cluster it waits
   * until this controller leads. Undefined: the process was stopped while it waited.
   */
  acquireLeadership(): Promise<LeaderContext | undefined>;
  /** The agent of a node calls this once. Rejects with UsageError when another agent works for that node in the same directory. */
  acquireNode(node: string): Promise<NodeContext>;
  /** Follows the DaemonSet of an agent. Absent: a directory, which has none. */
  readonly followInstallation?: (daemonSet: DaemonSetName) => Installation;
  close(): Promise<void>;
}
