import { defined } from '../../lang/defined.ts';
import { formatAddress, type Family } from '../../net/address.ts';
import type { Endpoint } from '../../model/objects/endpoint-slice.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service, ServicePort } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** Where the node that decides is: its name, and its zone ("" or absent: unknown). */
export interface NodePlace {
  readonly name: string;
  readonly zone?: string;
}

/** An endpoint with the port number that one port of a Service has on it. */
export interface Target extends Endpoint {
  readonly port: number;
  /** Absent: 1. */
  readonly weight?: number;
}

/** The endpoints that may get new connections. */
interface EndpointChoice<E extends Endpoint> {
  /** Under policy Cluster: narrowed by topology hints. Empty only where nothing at all can take traffic. */
  readonly cluster: readonly E[];
  /** The same, whatever the hints say: on every node the same. */
  readonly everywhere: readonly E[];
  /** Under policy Local: those on the node, whatever the hints say. */
  readonly local: readonly E[];
}

const zoneLabel = 'topology.kubernetes.io/zone';

export function placeOf(snapshot: Snapshot, nodeName: string): NodePlace {
  const zone = snapshot.nodes.get(nodeName)?.metadata.labels[zoneLabel];
  return zone === undefined ? { name: nodeName } : { name: nodeName, zone };
}

/**
 * Chooses as kube-proxy does (CategorizeEndpoints, Kubernetes 1.36): ready endpoints; where there is none, those that
 * terminate and still serve (KEP-1669), decided apart for the whole cluster and for the node.
 */
export function chooseEndpoints<E extends Endpoint>(endpoints: readonly E[], node: NodePlace): EndpointChoice<E> {
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
 * The targets of one port of a Service in one family, from all its slices. Slices name ports as the Service does, so that
 * a named targetPort may have another number on each endpoint. An address and port that several slices list counts once:
 * while an endpoint moves from slice to slice, its state that is not terminating is the later one.
 */
export function targetsOf(snapshot: Snapshot, service: Service, port: ServicePort, family: Family): Target[] {
  const targets = new Map<string, Target>();
  for (const slice of snapshot.endpointSlices(serviceKey(service.metadata))) {
    if (slice.family !== family || slice.metadata.labels['service.kubernetes.io/headless'] !== undefined) continue;
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

/** What of a Service can take traffic in one family, any of its ports: whether a route to its address leads anywhere. */
export function reachability(snapshot: Snapshot, service: Service, family: Family, node: NodePlace): Reachability {
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

export interface Reachability {
  readonly cluster: boolean;
  readonly local: boolean;
  /** How many endpoints there are, usable or not. */
  readonly endpoints: number;
}

function lastResort({ serving, terminating }: Endpoint): boolean {
  return serving && terminating;
}

function rank({ ready, terminating }: Endpoint): number {
  return (terminating ? 2 : 0) + (ready ? 0 : 1);
}

/**
 * Hints for the node win over hints for its zone (KEP-4444). Either counts only where every ready endpoint has one and
 * one of them names the place; else hints are being written, or nobody serves here, and all endpoints are used.
 */
function nearest<E extends Endpoint>(ready: readonly E[], node: NodePlace): readonly E[] {
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
