import type { AgentPod } from '../../objects/agent-pod.ts';
import { list, objectsIn, text } from './pod.ts';

/** The container of the agent in manifests/. In a Pod without one of this name it is the first. */
const containerName = 'agent';

/** Reads the Pod of an agent leniently: unreadable parts count as absent. Never throws. */
export function readAgentPod(raw: unknown): AgentPod {
  const { metadata, spec, status } = objectsIn(raw, 'metadata', 'spec', 'status');
  const statuses = list(status?.['containerStatuses']);
  const container = statuses.find(({ name }) => name === containerName) ?? statuses[0];
  const startedAt = objectsIn(container?.['state'], 'running').running?.['startedAt'];
  return {
    namespace: text(metadata?.['namespace']),
    name: text(metadata?.['name']),
    uid: text(metadata?.['uid']),
    node: text(spec?.['nodeName']),
    ...(typeof startedAt === 'string' ? { runsSince: startedAt } : {}),
  };
}
