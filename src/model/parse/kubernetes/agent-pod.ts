import { isRecord } from '../../../lang/is-record.ts';
import type { AgentPod } from '../../objects/agent-pod.ts';

/** The container of the agent in manifests/. In a Pod without one of this name it is the first. */
const containerName = 'agent';

/** Reads the Pod of an agent leniently: unreadable parts count as absent. Never throws. */
export function readAgentPod(raw: unknown): AgentPod {
  const [metadata, spec, status] = ['metadata', 'spec', 'status'].map((name) => recordIn(raw, name));
  const statuses = Array.isArray(status?.['containerStatuses']) ? status['containerStatuses'].filter(isRecord) : [];
  const container = statuses.find(({ name }) => name === containerName) ?? statuses[0];
  const startedAt = recordIn(recordIn(container, 'state'), 'running')?.['startedAt'];
  return {
    namespace: text(metadata?.['namespace']),
    name: text(metadata?.['name']),
    uid: text(metadata?.['uid']),
    node: text(spec?.['nodeName']),
    ...(typeof startedAt === 'string' ? { runsSince: startedAt } : {}),
  };
}

function recordIn(value: unknown, name: string): Readonly<Record<string, unknown>> | undefined {
  const inner = isRecord(value) ? value[name] : undefined;
  return isRecord(inner) ? inner : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
