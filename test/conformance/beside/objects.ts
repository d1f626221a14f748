import { defined } from '../../../src/lang/defined.ts';
import type { Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { nodeAddress, podPort } from '../../lab/dataplane/one-node.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';

/** API objects for kube-proxy and Herald alike. The node is "here"; every Service has both families, TCP and UDP. */

export const clusterIP = (family: Family, host: number): string => (family === 4 ? `172.30.0.${host}` : `fd02::${host}`);
export const balancer = (family: Family, host: number): string => (family === 4 ? `192.0.2.${host}` : `fd09::${host}`);
const families: readonly Family[] = [4, 6];
const protocols: readonly Protocol[] = ['TCP', 'UDP'];

export const node: ApiObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'here' },
  spec: { podCIDRs: ['10.244.1.0/24', 'fd01::/64'] },
  status: { addresses: families.map((family) => ({ type: 'InternalIP', address: nodeAddress(family) })) },
};

export const serviceCIDR: ApiObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: ['172.30.0.0/24', 'fd02::/112'] },
};

export interface ServiceChoices {
  /** The last octet of its addresses: 172.30.0.N and 192.0.2.N. Its NodePort is 30000 + N. */
  readonly host: number;
  readonly externalTrafficPolicy?: 'Cluster' | 'Local';
  readonly sourceRanges?: readonly string[];
}

export function service(name: string, { host, externalTrafficPolicy = 'Cluster', sourceRanges }: ServiceChoices): ApiObject {
  const clusterIPs = families.map((family) => clusterIP(family, host));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: {
      type: 'LoadBalancer',
      clusterIP: clusterIPs[0],
      clusterIPs,
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
      selector: { app: name },
      ports: protocols.map((protocol) => ({
        name: protocol.toLowerCase(),
        protocol,
        port: 80,
        targetPort: podPort,
        nodePort: 30_000 + host,
      })),
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      externalTrafficPolicy,
      ...(externalTrafficPolicy === 'Local' ? { healthCheckNodePort: 31_000 + host } : {}),
      ...defined({ loadBalancerSourceRanges: sourceRanges }),
      allocateLoadBalancerNodePorts: true,
    },
    status: { loadBalancer: { ingress: families.map((family) => ({ ip: balancer(family, host), ipMode: 'VIP' })) } },
  };
}

/** Returns the two EndpointSlices of a Service. Pods 1 and 2 are on this node, and pod 3 is said to be on another node. */
export function endpoints(name: string, ...pods: readonly number[]): ApiObject[] {
  return families.map((family): ApiObject => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: `${name}-${family}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: `IPv${family}`,
    ports: protocols.map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: podPort })),
    endpoints: pods.map((pod) => ({
      addresses: [family === 4 ? `10.244.1.1${pod}` : `fd01::1${pod}`],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: pod === 3 ? 'there' : 'here',
    })),
  }));
}
