import type { ApiObject } from '../../kube-fixture/object.ts';
import { heraldAsn, nodeAddress, routerAddress, routerAsn } from './addresses.ts';

export const node = 'node1';

/** Endpoints of each Service. The first is on the node of the agent. */
const endpointsEach = 6;

const kind = (name: string, metadata: string, spec: object): ApiObject => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: name,
  metadata: { name: metadata },
  spec,
});

/** A session over IPv4 and one over IPv6 to the router. */
export function configuration({ holdTime = '90s', checks = 'passive' } = {}): readonly ApiObject[] {
  const peer = { myASN: heraldAsn, peerASN: routerAsn, holdTime };
  return [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: node },
      spec: { podCIDRs: ['10.244.1.0/24'] },
      status: { addresses: [4, 6].map((family) => ({ type: 'InternalIP', address: nodeAddress(family) })) },
    },
    kind('HeraldConfig', 'default', { services: 'all', defaultClass: true, checks }),
    kind('IPAddressPool', 'main', { addresses: [poolAddresses] }),
    kind('BGPPeer', 'router-v4', { ...peer, peerAddress: routerAddress(4) }),
    kind('BGPPeer', 'router-v6', { ...peer, peerAddress: routerAddress(6) }),
    kind('BGPAdvertisement', 'all', {}),
  ];
}

/** The octets of an index below a prefix. */
const octets = (index: number): string => `${(index >> 8) & 255}.${index & 255}`;

/** Has the external addresses of all Services. */
export const poolAddresses = '10.64.0.0/12';

export const externalAddress = (index: number): string => `10.64.${octets(index)}`;

/** Returns a Service of type LoadBalancer that has its address. */
function service(index: number): ApiObject {
  const name = `s${index}`;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'bench', labels: { app: name } },
    spec: {
      type: 'LoadBalancer',
      clusterIP: `10.96.${octets(index + 256)}`,
      clusterIPs: [`10.96.${octets(index + 256)}`],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      selector: { app: name },
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      externalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: false,
    },
    status: { loadBalancer: { ingress: [{ ip: externalAddress(index) }] } },
  };
}

/** The first endpoint is the same for all. */
function slice(index: number): ApiObject {
  const endpoint = (slot: number): object => ({
    addresses: [slot === 0 ? '10.244.1.1' : `10.${slot}.${octets(index)}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node${1 + slot}`,
  });
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `s${index}-1`, namespace: 'bench', labels: { 'kubernetes.io/service-name': `s${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: Array.from({ length: endpointsEach }, (_, slot) => endpoint(slot)),
  };
}

/** Returns this number of Services from this one on, each with its EndpointSlice. */
export function servicesWithEndpoints(first: number, count: number): readonly ApiObject[] {
  return Array.from({ length: count }, (_, index) => [service(first + index), slice(first + index)]).flat();
}
