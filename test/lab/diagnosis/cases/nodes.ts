import type { Misconfiguration } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
import type { Place } from '../place.ts';

/** Mistakes on a host. Each case has a node of its own, the only one that announces the Service and the only one with an endpoint. */
export const nodeCases: readonly Misconfiguration[] = [
  {
    name: 'agent-killed',
    mistake: 'The agent of the only node was killed.',
    code: 'AgentSilent',
    condition: 'Announced',
    verdict: '',
    before: (place) => onNode(place, 'node4'),
    act: async ({ herald }) => herald.agent('node4').kill('SIGKILL'),
    undo: async ({ herald }) => void herald.startAgent('node4'),
  },
  {
    name: 'agent-stopped',
    mistake: 'The agent of the only node was stopped.',
    code: 'AgentStopped',
    condition: 'Announced',
    verdict: '',
    before: (place) => onNode(place, 'node5'),
    act: async ({ herald }) => void (await herald.agent('node5').stop()),
    undo: async ({ herald }) => void herald.startAgent('node5'),
  },
];

export function onNode(place: Place, node: string, spec: Change = {}): Manifest[] {
  const nodeSelectors = [{ matchLabels: { 'kubernetes.io/hostname': node } }];
  return [
    namespace(place),
    pool(place),
    advertisement(place, { spec: { nodeSelectors } }),
    ...service(place, { spec: { externalTrafficPolicy: 'Local', ...spec } }, { nodes: [node] }),
  ];
}
