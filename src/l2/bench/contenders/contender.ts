import type { LabProcess } from '../../../../test/lab/lab-process.ts';
import { AgentsOnSegment } from '../../../../test/lab/l2-agents/agents-on-segment.ts';
import { announcementManifests, serviceManifests } from '../../../../test/lab/l2-agents/manifests.ts';

/** A program that gives addresses to one of three nodes. Each node has a pod that serves the clients of that node only. */
export interface Contender {
  readonly name: string;
  readonly lab: AgentsOnSegment;
  /** Starts the program of a node. */
  start(at: number): Promise<void>;
  /** The program of a node. It leads a process group. */
  process(at: number): LabProcess;
  close(): Promise<void>;
}

export const nodes = [0, 1, 2] as const;

/** Builds the segment with nodes, pods and clients, and without any program. */
export function buildStage(): Promise<AgentsOnSegment> {
  return AgentsOnSegment.build({
    nodes: nodes.length,
    strangers: 1,
    idle: true,
    manifests: [
      ...announcementManifests(),
      ...serviceManifests({ pods: nodes, spec: { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_999 } }),
    ],
  });
}
