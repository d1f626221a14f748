import type {
  LiveAddress,
  LiveCheck,
  LiveEndpointConnections,
  LiveLink,
  LiveReceivedRoute,
  LiveRoute,
  LiveSession,
} from '../../live/contract.ts';
import { currentReport, isRunning, type NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { version } from '../../model/objects/version.ts';
import { valuesOf } from '../../model/store/snapshot-values.ts';

/** The answer of one agent to a query of this moment. */
export interface LiveNode {
  /** When the process started, RFC 3339. */
  readonly started: string;
  readonly sessions: readonly LiveSession[];
  /** Routes that it has sent. Absent: they were not queried. */
  readonly routes?: readonly LiveRoute[];
  /** Routes of its peers that it accepted. Absent: they were not queried, or the agent is of an older version. */
  readonly received?: readonly LiveReceivedRoute[];
  /** Links and addresses of announcements by ARP and NDP. Absent: they were not queried, or the agent is of an older version. */
  readonly links?: readonly LiveLink[];
  readonly addresses?: readonly LiveAddress[];
  /** What it saw of connections to the Service that was asked about. Absent: not queried, or the agent is of an older version. */
  readonly checks?: readonly LiveCheck[];
  /** Connections by endpoint that it translates. Absent: not queried, or the agent is of an older version. */
  readonly connections?: readonly LiveEndpointConnections[];
}

/** The answers of the queried agents, by node. */
export type LiveNodes = ReadonlyMap<string, LiveNode>;

/** The snapshot with the sessions of queried agents in place of the reported ones. */
export interface LiveView {
  readonly snapshot: Snapshot;
  readonly live: LiveNodes;
  /** Queried nodes whose report is missing, too old, or of an earlier process of the agent. Nothing of it is used. */
  readonly unreported: ReadonlySet<string>;
}

/**
 * Merges the answers of agents before anything is decided, so that every sentence about a node's sessions has one source. `now` is in
 * milliseconds since the epoch. The age of reports is measured by it.
 */
export function liveView(snapshot: Snapshot, live: LiveNodes, now: number): LiveView {
  if (live.size === 0) return { snapshot, live, unreported: new Set() };
  const nodeStates = new Map(snapshot.nodeStates);
  const unreported = new Set<string>();
  for (const [node, { started, sessions }] of live) {
    const state = currentReport(snapshot.nodeStates, node, now);
    if (state !== undefined && isOfProcess(state, started)) nodeStates.set(node, { ...state, sessions });
    else {
      unreported.add(node);
      nodeStates.set(node, withoutReport(node, snapshot.nodeStates.get(node), sessions, now));
    }
  }
  return { snapshot: { ...valuesOf(snapshot), nodeStates }, live, unreported };
}

/** Both times are of the node's own clock. A report has whole seconds. */
function isOfProcess(state: NodeState, started: string): boolean {
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  return isRunning(state) && Date.parse(state.updated) + 1000 > Date.parse(started);
}

/** The abilities of a host and a drain outlast the process that reported them. */
function withoutReport(node: string, last: NodeState | undefined, sessions: NodeState['sessions'], now: number): NodeState {
  const { directReturn, drain } = last ?? {};
  return {
    kind: 'NodeState',
    metadata: last?.metadata ?? { ...unknown, namespace: '', name: node },
    // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
    updated: new Date(now).toISOString(),
    // What it lacks is not known, whatever the version of the agent.
    version,
    consumed: {},
    sessions,
    differing: [],
    ...(directReturn === undefined ? {} : { directReturn }),
    ...(drain === undefined ? {} : { drain }),
  };
}

const unknown = { uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false } as const;
