import { address } from '../../src/net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../../src/net/frontend.ts';

/** Services whose backends are too many to be listed (`maximumListedBackends`). Few Services with many endpoints are quick to make. */
export const endpoints = 60;
const numberOfServices = 600;

export const node: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };

export const host = (network: number, index: number): string => `${network}.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;

/** Returns a Service at 10.x.x.x whose endpoints are in 100.0.0.0/8 and following networks. Each version has other ports. */
export function service(index: number, number = endpoints, version = 0): ServiceForwarding {
  const backends = Array.from({ length: number }, (_, slot) => ({
    address: address(host(100 + slot, index)),
    port: 8_080 + version,
    local: false,
  }));
  const match = { kind: 'address', address: address(host(10, index)), protocol: 'TCP', port: 80 } as const;
  return { frontends: [{ match, scope: 'internal', policy: 'Cluster', backends, localBackends: [] }] };
}

export const services: ReadonlyMap<string, ServiceForwarding> = new Map(
  Array.from({ length: numberOfServices }, (_, index) => [`large/s${index}`, service(index)]),
);
