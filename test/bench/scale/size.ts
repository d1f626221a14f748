/** The number of objects of a run. The issue of scale is 5,000 nodes, 50,000 Services and 500,000 endpoints: these proportions at every size. */
export interface Size {
  readonly nodes: number;
  readonly services: number;
  readonly endpoints: number;
}

/** Endpoints of a Service, all in one EndpointSlice. */
export const endpointsOfService = 10;

/** Every tenth Service is of type LoadBalancer; the others have a ClusterIP only. */
export const loadBalancerEvery = 10;

export function sizeOf(nodes: number): Size {
  return { nodes, services: 10 * nodes, endpoints: 10 * endpointsOfService * nodes };
}

/** Returns the sizes to run: each size, or its half, its quarter and so on while the machine cannot carry it. */
export function halved(nodes: number): number {
  return Math.floor(nodes / 2);
}

/** Agents of a run. Nodes beyond them have the objects of a node, and no agent. */
export interface AgentsOfRun {
  readonly nodes: number;
  readonly realAgents: number;
  /** The most recorded agents. Undefined: all other nodes have one. */
  readonly mostRecorded: number | undefined;
}

/** Returns the number of recorded agents. The last node has kube-proxy in place of an agent. */
export function recordedAgentsOf({ nodes, realAgents, mostRecorded = Infinity }: AgentsOfRun): number {
  return Math.min(mostRecorded, nodes - realAgents - 1);
}

/** Tells whether every node but that of kube-proxy had an agent. */
export function everyAgentWatches({
  nodes,
  realAgents,
  recordedAgents,
}: Omit<AgentsOfRun, 'mostRecorded'> & { readonly recordedAgents: number }): boolean {
  return recordedAgents === recordedAgentsOf({ nodes, realAgents, mostRecorded: undefined });
}
