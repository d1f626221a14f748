import type { ApiObject } from '../../kube-fixture/object.ts';

/** The Services of the benchmark as the API server has them, equal for Herald and kube-proxy. */

/** The pods that answer connections: the endpoint of Service 0, and its replacement. */
export const target = { pod: '10.244.1.11', other: '10.244.1.12', port: 8080 } as const;
export const externalAddress = '203.0.113.80';

export const clusterAddress = (index: number): string => `172.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

/** Returns a ClusterIP Service with one port. Service 0 also has a load balancer address. */
export function serviceObject(index: number): ApiObject {
  const external = index === 0;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `s${index}`, namespace: 'bench', labels: { app: `s${index}` } },
    spec: {
      type: external ? 'LoadBalancer' : 'ClusterIP',
      clusterIP: clusterAddress(index),
      clusterIPs: [clusterAddress(index)],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: target.port }],
      selector: { app: `s${index}` },
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ...(external ? { externalTrafficPolicy: 'Cluster', allocateLoadBalancerNodePorts: false } : {}),
    },
    ...(external ? { status: { loadBalancer: { ingress: [{ ip: externalAddress }] } } } : {}),
  };
}

/**
 * Returns a slice with `endpoints` endpoints; by default 2 to 10, six on average. Each version has another first endpoint. Service 0 has
 * one endpoint.
 */
export function sliceObject(index: number, version = 0, endpoints = 2 + ((index * 7) % 9)): ApiObject {
  const addresses =
    index === 0
      ? [version % 2 === 0 ? target.pod : target.other]
      : Array.from({ length: endpoints }, (_, slot) => podAddress(index * endpoints + slot + (slot === 0 ? version * 4_000_000 : 0)));
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `s${index}-1`, namespace: 'bench', labels: { 'kubernetes.io/service-name': `s${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: target.port }],
    endpoints: addresses.map((address, slot) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node${1 + ((index + slot) % 500)}`,
      zone: `zone-${(index + slot) % 3}`,
    })),
  };
}

export const nodeObject: ApiObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node1' },
  spec: { podCIDRs: ['10.244.1.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '10.99.0.1' }] },
};

/** Addresses in 11.0.0.0/8 and following networks. */
function podAddress(number: number): string {
  return `${11 + (number >> 24)}.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}
