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
