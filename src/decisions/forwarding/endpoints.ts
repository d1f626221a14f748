import { defined } from '../../lang/defined.ts';
import { formatAddress, type Family } from '../../net/address.ts';
import type { Backend } from '../../net/frontend.ts';
import { labels } from '../../model/annotations.ts';
import type { Endpoint, EndpointSlice } from '../../model/objects/endpoint-slice.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service, ServicePort } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** The name and zone of the deciding node. The zone is "" or absent when unknown. */
export interface NodeTopology {
  readonly name: string;
  readonly zone?: string;
}

/** An endpoint with the port number that one Service port has on it. */
export interface Target extends Endpoint {
  readonly port: number;
  /** 1 when absent. */
  readonly weight?: number;
}

/** Endpoints that may get new connections. */
interface EndpointChoice<E extends Endpoint> {
  /** For policy Cluster: narrowed by topology hints. Empty only when no endpoint can take traffic. */
  readonly cluster: readonly E[];
  /** For policy Cluster without hints: the same on every node. */
  readonly everywhere: readonly E[];
  /** For policy Local: endpoints on the node, whatever the hints say. */
  readonly local: readonly E[];
}

const zoneLabel = 'topology.kubernetes.io/zone';

export function topologyOf(snapshot: Snapshot, nodeName: string): NodeTopology {
  const zone = snapshot.nodes.get(nodeName)?.metadata.labels[zoneLabel];
  return zone === undefined ? { name: nodeName } : { name: nodeName, zone };
}

/**
 * Chooses endpoints as kube-proxy does (CategorizeEndpoints, Kubernetes 1.36): ready ones; without any, those that terminate and still
 * serve (KEP-1669). The choice is made separately for the cluster and for the node.
 */
export function chooseEndpoints<E extends Endpoint>(endpoints: readonly E[], node: NodeTopology): EndpointChoice<E> {
  const local = endpoints.filter(({ nodeName }) => nodeName === node.name);
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  const everywhere = ready.length > 0 ? ready : endpoints.filter(lastResort);
  return {
    cluster: ready.length > 0 ? nearest(ready, node) : everywhere,
    everywhere,
    local: local.some((endpoint) => endpoint.ready) ? local.filter((endpoint) => endpoint.ready) : local.filter(lastResort),
  };
}

/**
 * Returns the targets of one Service port in one family, from all its slices. Slices use the Service's port names, so a named targetPort
 * may have different numbers. An address and port in several slices counts once: while an endpoint moves between slices, the entry that is
 * not terminating is the newer one.
 */
export function targetsOf(snapshot: Snapshot, service: Service, port: ServicePort, family: Family): readonly Target[] {
  const slices = snapshot.endpointSlices(serviceKey(service.metadata));
  if (latest.slices !== slices) latest = { slices, targets: new Map() };
  const place = `${family} ${port.protocol} ${port.name}`;
  const known = latest.targets.get(place);
  if (known !== undefined) return known;
  const found = targetsIn(slices, port, family);
  latest.targets.set(place, found);
  return found;
}

/**
 * The targets of the Service that was asked about last. A Service is decided on for its routes and its rules, and by the controller for each
 * node of the cluster, with the same endpoints. A list of slices never changes: each change of a Service's slices makes a new one.
 */
let latest: { readonly slices: readonly EndpointSlice[]; readonly targets: Map<string, readonly Target[]> } = {
  slices: [],
  targets: new Map(),
};

function targetsIn(slices: readonly EndpointSlice[], port: ServicePort, family: Family): readonly Target[] {
  const targets = new Map<string, Target>();
  for (const slice of slices) {
    if (slice.family !== family || slice.metadata.labels[labels.headless] !== undefined) continue;
    for (const slicePort of slice.ports) {
      if (slicePort.name !== port.name || slicePort.protocol !== port.protocol || slicePort.port === 0) continue;
      for (const endpoint of slice.endpoints) {
        if (endpoint.address.family !== family) continue;
        const key = `${formatAddress(endpoint.address)} ${slicePort.port}`;
        const known = targets.get(key);
        if (known === undefined || rank(endpoint) < rank(known)) {
          targets.set(key, { ...endpoint, port: slicePort.port, ...defined({ weight: slice.weight }) });
        }
      }
    }
  }
  return [...targets.values()];
}

/** Returns the names of the nodes that have an endpoint of the Service, usable or not. */
export function nodesOfEndpoints(snapshot: Snapshot, { metadata }: Service): ReadonlySet<string> {
  const slices = snapshot.endpointSlices(serviceKey(metadata));
  return new Set(slices.flatMap(({ endpoints }) => endpoints.flatMap(({ nodeName }) => nodeName ?? [])));
}

/** Returns which traffic the Service's ports can take in one family: whether a route to its address leads anywhere. */
export function reachability(snapshot: Snapshot, service: Service, family: Family, node: NodeTopology): Reachability {
  let [cluster, local] = [false, false];
  const known = new Set<string>();
  for (const port of service.ports) {
    const targets = targetsOf(snapshot, service, port, family);
    const choice = chooseEndpoints(targets, node);
    cluster ||= choice.cluster.length > 0;
    local ||= choice.local.length > 0;
    for (const target of targets) known.add(formatAddress(target.address));
  }
  return { cluster, local, endpoints: known.size };
}

/** Returns why no endpoint takes traffic. `endpoints`: number of those that serve a port of the Service. */
export function whyNoEndpoints(snapshot: Snapshot, service: Service, family: Family, endpoints: number): Reason {
  const slices = snapshot
    .endpointSlices(serviceKey(service.metadata))
    .filter((slice) => slice.family === family && slice.endpoints.length > 0);
  const ports = slices.flatMap((slice) => slice.ports);
  // Kubernetes writes a slice without ports when no container has the name that targetPort is.
  if (endpoints > 0 || ports.length === 0) return reason('NoEndpoints', { endpoints });
  const names = (of: readonly { readonly name: string; readonly protocol: string }[]): string =>
    [...new Set(of.map(({ name, protocol }) => `"${name}" (${protocol})`))].join(', ');
  return reason('EndpointPortsDiffer', { ports: names(service.ports), slices: names(ports) });
}

export interface Reachability {
  readonly cluster: boolean;
  readonly local: boolean;
  /** Number of endpoints, usable or not. */
  readonly endpoints: number;
}

function lastResort({ serving, terminating }: Endpoint): boolean {
  return serving && terminating;
}

function rank({ ready, terminating }: Endpoint): number {
  return (terminating ? 2 : 0) + (ready ? 0 : 1);
}

/**
 * Applies topology hints. Hints for the node win over hints for its zone (KEP-4444). Either counts only when every ready endpoint has one
 * and one of them names this place. Otherwise hints are still being written or no endpoint is here, and all endpoints are used.
 */
function nearest<E extends Endpoint>(ready: readonly E[], node: NodeTopology): readonly E[] {
  if (ready.every(({ hintNodes }) => hintNodes.length > 0)) {
    const forNode = ready.filter(({ hintNodes }) => hintNodes.includes(node.name));
    if (forNode.length > 0) return forNode;
  }
  const { zone } = node;
  if (zone !== undefined && zone !== '' && ready.every(({ hintZones }) => hintZones.length > 0)) {
    const forZone = ready.filter(({ hintZones }) => hintZones.includes(zone));
    if (forZone.length > 0) return forZone;
  }
  return ready;
}

/**
 * Returns a test for backends that can still take packets of a frontend that the Service no longer has. When the Service and its slices are
 * gone, nothing says that the pods ended too, so all backends pass.
 */
export function servingBackends(snapshot: Snapshot, key: ServiceKey): (backend: Backend) => boolean {
  const slices = snapshot.endpointSlices(key);
  if (slices.length === 0) return () => true;
  const all = slices.flatMap(({ endpoints }) => endpoints);
  const living = new Set(all.flatMap(({ address, ready, serving }) => (ready || serving ? [formatAddress(address)] : [])));
  return ({ address }) => living.has(formatAddress(address));
}
