import { address, type Family } from '../../../src/net/address.ts';
import type { Backend, Frontend, NodeForwarding, Protocol } from '../../../src/net/frontend.ts';
import { hostPrefix, prefix } from '../../../src/net/prefix.ts';
import { nodeAddress, otherPort, podAddress, podPort } from './one-node.ts';

/** One Service port on each kind of frontend, on the node of `OneNode`. */
export const frontendKinds = ['ClusterIP', 'LoadBalancer', 'NodePort'] as const;
export type FrontendKind = (typeof frontendKinds)[number];

const addresses: Readonly<Record<Exclude<FrontendKind, 'NodePort'>, Readonly<Record<Family, string>>>> = {
  ClusterIP: { 4: '172.30.0.1', 6: 'fd02::1' },
  LoadBalancer: { 4: '192.0.2.1', 6: 'fd09::1' },
};
const [servicePort, nodePort] = [80, 30_080];

/** Returns the address and port that a client sends to. */
export function target(kind: FrontendKind, family: Family): { readonly address: string; readonly port: number } {
  return kind === 'NodePort' ? { address: nodeAddress(family), port: nodePort } : { address: addresses[kind][family], port: servicePort };
}

export const node: NodeForwarding = {
  nodePortAddresses: [4, 6].map((family) => hostPrefix(address(nodeAddress(family as Family)))),
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [prefix('172.30.0.0/24'), prefix('fd02::/112')],
  masqueradeBit: 14,
};

/** 1, 2 and 3 are the pods on their usual port; 11, 12 and 13 are the same pods on the other port. pod3 belongs to another node. */
export type Pod = 1 | 2 | 3 | 11 | 12 | 13;

export function backends(family: Family, ...pods: readonly Pod[]): Backend[] {
  return pods.map((pod) => ({
    address: address(podAddress(family, pod % 10)),
    port: pod > 10 ? otherPort : podPort,
    local: pod % 10 !== 3,
  }));
}

export function frontend(
  kind: FrontendKind,
  family: Family,
  protocol: Protocol,
  pods: readonly Pod[],
  rest: Partial<Frontend> = {},
): Frontend {
  return {
    match:
      kind === 'NodePort'
        ? { kind: 'nodePort', family, protocol, port: nodePort }
        : { kind: 'address', address: address(addresses[kind][family]), protocol, port: servicePort },
    scope: kind === 'ClusterIP' ? 'internal' : 'external',
    policy: 'Cluster',
    backends: backends(family, ...pods),
    localBackends: [],
    ...rest,
  };
}
