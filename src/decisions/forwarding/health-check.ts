import { formatAddress, parseAddress, type Family } from '../../net/address.ts';
import { prefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { targetsOf } from './endpoints.ts';
import { whyNotServed } from './service-proxy-name.ts';

/** Of each family, the addresses on which the ports are served. */
export type HealthCheckAddresses = ReadonlyMap<Family, readonly string[]>;

/** All addresses of the node, also those that it will have. */
const unspecified: readonly (readonly [Family, string])[] = [
  [4, '0.0.0.0'],
  [6, '::'],
];

/** A loopback address is nobody else's, and a link-local one needs the name of its interface. */
const neverServed = [prefix('127.0.0.0/8'), prefix('::1/128'), prefix('fe80::/10')];

/**
 * As kube-proxy does it: without nodePortAddresses, and where they hold a whole family, everywhere; else on those of `own`, the
 * addresses of this node as text, that are inside. Unlike kube-proxy, nowhere in a family where none is: its NodePorts
 * are not answered there either.
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

/** What a node answers at the healthCheckNodePort of a Service. */
export interface HealthCheck {
  readonly port: number;
  /**
   * The families in which the port is served, each with the number of endpoints on this node: distinct addresses that are
   * ready. kube-proxy has a proxy for each family, and each listens and counts for itself.
   */
  readonly localEndpoints: ReadonlyMap<Family, number>;
}

/**
 * As kube-proxy 1.36 decides it (LocalReadyEndpoints): endpoints that terminate do not count, although they may still
 * get traffic as the last ones (KEP-1669): a load balancer is to turn to other nodes before they are gone. Undefined: the
 * Service has no health check, or it is not for us to answer: beside a kube-proxy, the port is kube-proxy's.
 */
export function decideHealthCheck(snapshot: Snapshot, service: Service, nodeName: string): HealthCheck | undefined {
  const { type, externalTrafficPolicy, healthCheckNodePort: port } = service;
  if (snapshot.config.services !== 'all') return undefined;
  if (type !== 'LoadBalancer' || externalTrafficPolicy !== 'Local' || port === 0) return undefined;
  if (whyNotServed(service, snapshot.config.serviceProxyName) !== undefined) return undefined;
  return { port, localEndpoints: new Map(service.ipFamilies.map((family) => [family, countLocal(snapshot, service, family, nodeName)])) };
}

function countLocal(snapshot: Snapshot, service: Service, family: Family, nodeName: string): number {
  const addresses = new Set<string>();
  // A change of a Service with many ports should not pay for slices that it has not.
  if (snapshot.endpointSlices(serviceKey(service.metadata)).length === 0) return 0;
  for (const port of service.ports) {
    for (const { address, ready, nodeName: on } of targetsOf(snapshot, service, port, family)) {
      if (ready && on === nodeName) addresses.add(formatAddress(address));
    }
  }
  return addresses.size;
}
