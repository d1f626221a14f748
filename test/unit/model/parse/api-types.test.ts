import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Node, V1Secret, V1Service } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { parseObject } from '../../../../src/model/parse.ts';

/**
 * Objects whose field names the compiler checks against the types of the official client. So the parser is tested with the field names that
 * the API server writes.
 */
const service: V1Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'web', labels: { a: 'b' }, annotations: { 'herald.dev/address-pool': 'public' } },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.0.10',
    clusterIPs: ['10.96.0.10', 'fd00:96::10'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    externalIPs: ['192.0.2.10'],
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    loadBalancerClass: 'herald.dev/herald',
    loadBalancerIP: '198.51.100.1',
    loadBalancerSourceRanges: ['203.0.113.0/24'],
    allocateLoadBalancerNodePorts: false,
    healthCheckNodePort: 32000,
    selector: { app: 'web' },
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'http', nodePort: 30080 }],
  },
  status: { loadBalancer: { ingress: [{ ip: '198.51.100.1', ipMode: 'VIP' }] } },
};

const slice: V1EndpointSlice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  endpoints: [
    {
      addresses: ['10.244.1.10'],
      conditions: { ready: false, serving: true, terminating: true },
      nodeName: 'node1',
      zone: 'a',
      hints: { forZones: [{ name: 'a' }] },
    },
  ],
};

const endpoints: V1Endpoints = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: 'shop', name: 'old' },
  subsets: [{ addresses: [{ ip: '10.244.1.10', nodeName: 'node1' }], notReadyAddresses: [{ ip: '10.244.1.11' }], ports: [{ port: 8080 }] }],
};

const node: V1Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node1' },
  spec: { podCIDRs: ['10.244.1.0/24'] },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
    conditions: [{ type: 'NetworkUnavailable', status: 'True' }],
  },
};

const namespace: V1Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { team: 'x' } } };

const secret: V1Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'herald', name: 'bgp' },
  type: 'kubernetes.io/basic-auth',
  data: { password: 'c2VjcmV0' },
};

test('a Service of the official type is read with every field', () => {
  const { object, problems } = parseObject(service);
  expect(problems).toEqual([]);
  expect(object).toMatchObject({
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    ipFamilies: [4, 6],
    ipFamilyPolicy: 'RequireDualStack',
    affinitySeconds: 60,
    loadBalancerClass: 'herald.dev/herald',
    requestedPool: 'public',
    allocateLoadBalancerNodePorts: false,
    healthCheckNodePort: 32000,
    selectorText: 'app=web',
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'http', nodePort: 30080 }],
    ingress: [{ ipMode: 'VIP' }],
  });
  expect(object).toHaveProperty('clusterIPs.length', 2);
  expect(object).toHaveProperty('externalIPs.length', 1);
  expect(object).toHaveProperty('requestedAddresses.length', 1);
  expect(object).toHaveProperty('loadBalancerSourceRanges.length', 1);
});

test('an EndpointSlice of the official type is read with every field', () => {
  expect(parseObject(slice).object).toMatchObject({
    service: 'shop/web',
    family: 4,
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [{ ready: false, serving: true, terminating: true, nodeName: 'node1', zone: 'a', hintZones: ['a'] }],
  });
});

test.each([
  [
    'Endpoints',
    endpoints,
    { kind: 'EndpointSlice', service: 'shop/old', endpoints: [{ ready: true, nodeName: 'node1' }, { ready: false }] },
  ],
  ['Node', node, { networkUnavailable: true, internalIPs: [{ family: 4 }], podCIDRs: [{ length: 24 }] }],
  ['Namespace', namespace, { metadata: { labels: { team: 'x' } } }],
  ['Secret', secret, { type: 'kubernetes.io/basic-auth', password: 'secret' }],
])('a %s of the official type is read', (_, raw, expected) => {
  const { object, problems } = parseObject(raw);
  expect(problems).toEqual([]);
  expect(object).toMatchObject(expected);
});
