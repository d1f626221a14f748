import { stringify } from 'yaml';
import type { Family } from '../../../src/net/address.ts';

export type Manifest = Readonly<Record<string, unknown>>;

/** Returns the text of a file with these manifests. */
export const documents = (...manifests: readonly Manifest[]): string => manifests.map((one) => stringify(one)).join('---\n');

/** Returns a Service of both families in namespace shop with one port, 80. `port` adds to the port, `spec` to the Service. */
export function dualStackService(
  name: string,
  clusterIPs: Readonly<Record<Family, string>>,
  { port = {}, ...spec }: { readonly port?: Manifest } & Manifest = {},
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name },
    spec: {
      ...spec,
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      clusterIPs: [clusterIPs[4], clusterIPs[6]],
      ports: [{ name: 'http', port: 80, targetPort: 8080, ...port }],
    },
  };
}

/** Returns an EndpointSlice for each family, with one endpoint at port 8080 on the node. */
export function endpointSlices(
  service: string,
  addresses: Readonly<Partial<Record<Family, string>>>,
  nodeName: string,
  ready = true,
): Manifest[] {
  return Object.entries(addresses).map(([family, address]) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: `${service}-v${family}`, labels: { 'kubernetes.io/service-name': service } },
    addressType: `IPv${family}`,
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: [address], nodeName, conditions: { ready } }],
  }));
}

/** Returns a Service of type LoadBalancer and policy Local whose only pod is web-1 of the standard lab, on node1. */
export function serviceOnNode1(): Manifest[] {
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_960, port: { nodePort: 30_961 } };
  return [
    dualStackService('local', { 4: '10.96.0.60', 6: 'fd00:96::60' }, spec),
    ...endpointSlices('local', { 4: '10.244.1.10', 6: 'fd00:244:1::10' }, 'node1'),
  ];
}

/** Returns the settings of the cluster. */
export const heraldConfig = (spec: Manifest): Manifest => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'HeraldConfig',
  metadata: { name: 'default' },
  spec,
});
