import { conditionTypes } from '../../model/objects/condition-types.ts';
import { isRunning } from '../../model/objects/node-state.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { conditionText, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { CurrentReports } from './current-reports.ts';
import { negative, reportCut, type Assessment, type Judgement } from './service-judgement.ts';

/** True when every agent that reports has programmed the Service as decided, and no endpoint is behind a node that does not forward. */
export function assessProgrammed(judgement: Judgement): Assessment {
  const { snapshot, reports, service } = judgement;
  const type = conditionTypes.programmed;
  if (reports.running.length === 0) return { type, status: 'Unknown', reason: 'NoAgentReports', message: 'No agent reports' };
  // A reason of this Service comes before a problem that a node has with every Service.
  const [difference] = [
    ...notProgrammed(reports, service),
    ...cutOff(judgement),
    ...reports.withProblem.flatMap(({ problem }) => problem ?? []),
  ];
  if (difference !== undefined) return negative(type, difference);
  if (reports.cut.length > 0) return { type, ...reportCut };
  const [unseen] = reports.unseen.flatMap(({ host = [] }) => host.filter(({ code }) => code === 'ForwardingNotSeen'));
  // In scope `external` the finding is about ClusterIPs only, which have no condition.
  if (unseen !== undefined && snapshot.config.services === 'none')
    return { type, status: 'Unknown', reason: unseen.code, message: conditionText(unseen) };
  return { type, status: 'True', reason: 'Programmed', message: 'Every node that reports forwards the Service as decided' };
}

/** Returns why clients do not reach endpoints on nodes that have settled not to forward. Costs nothing while every node forwards. */
function cutOff({ views, verdict, reports }: Judgement): Reason[] {
  const holding = reports.holding.filter((state) => isRunning(state) && state.heldBack?.some(({ settled }) => settled) === true);
  if (holding.length === 0 || verdict().code !== 'EndpointsCutOff') return [];
  return holding.flatMap(({ metadata }) => views.of(metadata.name).lost ?? []).map(({ reason }) => reason);
}

function notProgrammed({ differing }: CurrentReports, { metadata }: Service): Reason[] {
  const found = differing.get(serviceKey(metadata)) ?? [];
  return found.filter(({ aspect, agentRuns }) => aspect === 'Programmed' && agentRuns).map(({ reason }) => reason);
}
