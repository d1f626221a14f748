import type { ServiceKey } from '../../model/objects/metadata.ts';
import {
  isCurrent,
  isRunning,
  lapsesAt,
  type FailingEndpoints,
  type NodeState,
  type ServiceDifference,
} from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf, exactBasisOf } from '../../model/store/versioned-map.ts';

/** The agents' reports that count at one time. All Services ask for the same, so the reports are read once for all of them. */
export interface CurrentReports {
  /** Names of the Nodes, sorted. */
  readonly nodes: readonly string[];
  /** The reports of running agents on existing nodes. Without any Node object all count, because it is unknown which nodes exist. */
  readonly running: readonly NodeState[];
  /** Running reports with a problem that concerns every Service. */
  readonly withProblem: readonly NodeState[];
  /** Running reports that list only some of the Services that differ. */
  readonly cut: readonly NodeState[];
  /** Running reports whose host does not show whether it forwards. */
  readonly unseen: readonly NodeState[];
  /** Reports that hold back a family, sorted by node. An agent that has said that it stops counts too. */
  readonly holding: readonly NodeState[];
  /** The Services that differ. An agent that has said that it stops counts too. */
  readonly differing: ReadonlyMap<ServiceKey, readonly DifferenceOnNode[]>;
  /** The Services of which running agents saw connections fail. */
  readonly failing: ReadonlyMap<ServiceKey, readonly FailureOnNode[]>;
}

interface FailureOnNode extends FailingEndpoints {
  readonly node: string;
}

interface DifferenceOnNode extends ServiceDifference {
  readonly node: string;
  readonly agentRuns: boolean;
}

interface TimedReports extends CurrentReports {
  /** The time for which the ages of reports say the same, in milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
}

const memo = new BasisMemo<TimedReports>();

/** Costs the same for any number of nodes while none of them reports, if the snapshot is a `Store`. `now`: milliseconds since the epoch. */
export function currentReportsOf(snapshot: Snapshot, now: number): CurrentReports {
  const { nodes, nodeStates } = snapshot;
  return memo.get(
    nodes,
    [...basisOf(nodes), ...exactBasisOf(nodeStates)],
    () => read(snapshot, now),
    ({ from, until }) => from <= now && now < until,
  );
}

function read({ nodes, nodeStates }: Snapshot, now: number): TimedReports {
  const current = [...nodeStates.values()].filter((state) => isCurrent(state, now) && (nodes.size === 0 || nodes.has(state.metadata.name)));
  const running = current.filter(isRunning);
  const differences = current.flatMap((state) =>
    state.differing.map((one): DifferenceOnNode => ({ ...one, node: state.metadata.name, agentRuns: isRunning(state) })),
  );
  const failures = running.flatMap(({ metadata, checks }) =>
    (checks?.failing ?? []).map((one): FailureOnNode => ({ ...one, node: metadata.name })),
  );
  return {
    from: now,
    until: current.reduce((first, state) => Math.min(first, lapsesAt(state)), Number.POSITIVE_INFINITY),
    nodes: [...nodes.keys()].toSorted(),
    running,
    withProblem: running.filter(({ problem }) => problem !== undefined),
    cut: running.filter(({ truncated }) => truncated === true),
    unseen: running.filter(({ host = [] }) => host.some(({ code }) => code === 'ForwardingNotSeen')),
    holding: current.filter(({ heldBack = [] }) => heldBack.length > 0).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    differing: Map.groupBy(differences, ({ service }) => service),
    failing: Map.groupBy(failures, ({ service }) => service),
  };
}
