import { conditionTypes } from '../../model/objects/condition-types.ts';
import { runningReport, type NodeState } from '../../model/objects/node-state.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { conditionText, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { negative, reportCut, type Assessment, type Judgement } from './service-judgement.ts';

/**
 * Returns the current reports of agents on existing nodes. Without any Node object all reports count, because it is unknown which nodes
 * exist.
 */
function liveReports({ nodes, nodeStates }: Snapshot, now: number): NodeState[] {
  const names = [...nodeStates.keys()].filter((name) => nodes.size === 0 || nodes.has(name));
  return names.flatMap((name) => runningReport(nodeStates, name, now) ?? []);
}

/** True when every agent that reports has programmed the Service as decided, and no endpoint is behind a node that does not forward. */
export function assessProgrammed(judgement: Judgement): Assessment {
  const { snapshot, service, now } = judgement;
  const type = conditionTypes.programmed;
  const reports = liveReports(snapshot, now);
  if (reports.length === 0) return { type, status: 'Unknown', reason: 'NoAgentReports', message: 'No agent reports' };
  // A reason of this Service comes before a problem that a node has with every Service.
  const [difference] = [
    ...reports.flatMap((state) => notProgrammedOn(state, service) ?? []),
    ...cutOff(judgement, reports),
    ...reports.flatMap(({ problem }) => problem ?? []),
  ];
  if (difference !== undefined) return negative(type, difference);
  if (reports.some(({ truncated }) => truncated === true)) return { type, ...reportCut };
  const unseen = reports.flatMap(({ host = [] }) => host).find(({ code }) => code === 'ForwardingNotSeen');
  // In scope `external` the finding is about ClusterIPs only, which have no condition.
  if (unseen !== undefined && snapshot.config.services === 'none')
    return { type, status: 'Unknown', reason: unseen.code, message: conditionText(unseen) };
  return { type, status: 'True', reason: 'Programmed', message: 'Every node that reports forwards the Service as decided' };
}

/** Returns why clients do not reach endpoints on nodes that have settled not to forward. Costs nothing while every node forwards. */
function cutOff({ view, verdict }: Judgement, reports: readonly NodeState[]): Reason[] {
  const holding = reports.filter(({ heldBack = [] }) => heldBack.some(({ settled }) => settled));
  if (holding.length === 0 || verdict().code !== 'EndpointsCutOff') return [];
  return holding.flatMap(({ metadata }) => view(metadata.name).lost ?? []).map(({ reason }) => reason);
}

function notProgrammedOn(state: NodeState, service: Service): Reason | undefined {
  const key = serviceKey(service.metadata);
  return state.differing.find((difference) => difference.service === key && difference.aspect === 'Programmed')?.reason;
}
