import { formatAddress, parseAddress, type Family } from '../../net/address.ts';
import { prefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { targetsOf } from './endpoints.ts';
import { whyNotForwarded } from './service-proxy-name.ts';

/** The addresses on which health-check ports are served, by family. */
export type HealthCheckAddresses = ReadonlyMap<Family, readonly string[]>;

/** All addresses of the node, present and future. */
const unspecified: readonly (readonly [Family, string])[] = [
  [4, '0.0.0.0'],
  [6, '::'],
];

/** Loopback addresses are reachable only from the node itself; link-local ones need an interface name. */
const neverServed = [prefix('127.0.0.0/8'), prefix('::1/128'), prefix('fe80::/10')];

/**
 * Chooses as kube-proxy does: all addresses without nodePortAddresses or when they contain a whole family; otherwise those of `own` (the
 * node's addresses as text) that they contain. Unlike kube-proxy, a family without such an address is not served at all, because its
 * NodePorts are not answered either.
 */
export function healthCheckAddresses(nodePortAddresses: readonly Prefix[], own: () => readonly string[]): HealthCheckAddresses {
  if (nodePortAddresses.length === 0) return new Map(unspecified.map(([family, address]) => [family, [address]]));
  const parsed = own().flatMap((text) => {
    const address = parseAddress(text);
    return address.ok && !neverServed.some((hole) => prefixContains(hole, address.value)) ? [address.value] : [];
  });
  return new Map(
    unspecified.map(([family, everywhere]) => {
      const inside = nodePortAddresses.filter(({ address }) => address.family === family);
      if (inside.some(({ length }) => length === 0)) return [family, [everywhere]];
      const chosen = parsed.filter((address) => inside.some((each) => prefixContains(each, address))).map(formatAddress);
      return [family, [...new Set(chosen)].toSorted()];
    }),
  );
}

/** The answer at a Service's healthCheckNodePort. */
export interface HealthCheck {
  readonly port: number;
  /**
   * The served families, each with the number of ready endpoint addresses on this node: the families of the Service, each with its own, and
   * the others in which the node has an address, with the number of the first.
   */
  readonly localEndpoints: ReadonlyMap<Family, number>;
}

/**
 * Decides as kube-proxy 1.36 does (LocalReadyEndpoints). Terminating endpoints do not count, although they may still get traffic as the
 * last ones (KEP-1669), so that load balancers turn to other nodes in time. Unlike kube-proxy, which listens in the families of the Service
 * only, Herald answers at every InternalIP of a dual-stack node: a load balancer may ask at any. Undefined when the Service has no health
 * check, or when kube-proxy beside us serves the port.
 */
export function decideHealthCheck(snapshot: Snapshot, service: Service, nodeName: string): HealthCheck | undefined {
  const { type, externalTrafficPolicy, healthCheckNodePort: port } = service;
  if (snapshot.config.services !== 'all') return undefined;
  if (type !== 'LoadBalancer' || externalTrafficPolicy !== 'Local' || port === 0) return undefined;
  if (whyNotForwarded(service, snapshot.config.serviceProxyName) !== undefined) return undefined;
  const [first = 4] = service.ipFamilies;
  const ofNode = snapshot.nodes.get(nodeName)?.internalIPs.map(({ family }) => family) ?? [];
  const counts = new Map(service.ipFamilies.map((family) => [family, countLocal(snapshot, service, family, nodeName)]));
  for (const family of ofNode) if (!counts.has(family)) counts.set(family, counts.get(first) ?? 0);
  return { port, localEndpoints: counts };
}

function countLocal(snapshot: Snapshot, service: Service, family: Family, nodeName: string): number {
  const addresses = new Set<string>();
  // Avoids work for each port of a Service without slices.
  if (snapshot.endpointSlices(serviceKey(service.metadata)).length === 0) return 0;
  for (const port of service.ports) {
    for (const { address, ready, nodeName: on } of targetsOf(snapshot, service, port, family)) {
      if (ready && on === nodeName) addresses.add(formatAddress(address));
    }
  }
  return addresses.size;
}

/**
 * True when load balancers should send new traffic to the node, as in kube-proxy's /healthz (KEP-3836): the Node exists, is not being
 * deleted and is not tainted for removal by the cluster autoscaler.
 */
export function isNodeEligible(snapshot: Snapshot, nodeName: string): boolean {
  const node = snapshot.nodes.get(nodeName);
  return node !== undefined && !node.metadata.deleting && !node.toBeDeleted;
}
