import { randomUUID } from 'node:crypto';
import { churnedAddress, nodeAddress, nodeName, podName } from './addresses.ts';
import { endpointsOfService, loadBalancerEvery, type Size } from './size.ts';

/** An object as the API server stores it. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly [field: string]: unknown;
}

export const namespace = 'herald-system';
export const isLoadBalancer = (index: number): boolean => index % loadBalancerEvery === 0;
export const serviceName = (index: number): string => `svc-${index}`;
export const sliceName = (index: number): string => `svc-${index}-x7k2p`;

/** From 10.96.16.0 on; 10.96.0.0/12 has room for a million. */
export const clusterAddress = (index: number): string => {
  const number = index + 4096;
  return `10.${96 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
};

const podAddress = (index: number): string => `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

export function service(index: number): StoredObject {
  const common = { selector: { app: `app-${index}` }, ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }] };
  const clusterIP = clusterAddress(index);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceName(index), namespace: 'default', labels: { app: `app-${index}`, team: `team-${index % 50}` } },
    spec: isLoadBalancer(index) ? { ...common, ...ofOurs, clusterIP } : { ...common, clusterIP },
  };
}

const ofOurs = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', allocateLoadBalancerNodePorts: false };

/** A Service without endpoints that appears during the run, to see its route come. */
export function laterService(name: string): StoredObject {
  const spec = { ...ofOurs, ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec };
}

/** The EndpointSlice of a Service that appears during the run: one endpoint, so that the Service is announced. */
export function laterSlice(name: string): StoredObject {
  const slice = endpointSlice(0, 1);
  const [endpoint] = slice['endpoints'] as object[];
  return {
    ...slice,
    metadata: { name: `${name}-x7k2p`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
    endpoints: [endpoint],
  };
}

/** `changes`: the sequence numbers of the changes that have replaced endpoints, by position. */
export function endpointSlice(index: number, nodes: number, changes: ReadonlyMap<number, number> = new Map(), at = ''): StoredObject {
  const endpoint = (position: number): object => {
    const pod = index * endpointsOfService + position;
    const changed = changes.get(position);
    return {
      addresses: [changed === undefined ? podAddress(pod) : churnedAddress(changed)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: nodeName((pod * 7919) % nodes),
      targetRef: {
        kind: 'Pod',
        namespace: 'default',
        name: `app-${index}-6d4b75cb6d-${(changed ?? 100_000 + pod).toString(36)}`,
        uid: `0f5fc2a0-0000-4000-8000-${String(changed ?? pod).padStart(12, '0')}`,
      },
    };
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(index),
      namespace: 'default',
      labels: {
        'kubernetes.io/service-name': serviceName(index),
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ...(at === '' ? {} : { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': at } }),
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpointsOfService }, (_, position) => endpoint(position)),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

export function node(index: number): StoredObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName(index),
      labels: {
        'kubernetes.io/hostname': nodeName(index),
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': `zone-${index % 3}`,
      },
    },
    spec: { podCIDR: `10.${160 + (index >> 8)}.${index & 255}.0/24`, podCIDRs: [`10.${160 + (index >> 8)}.${index & 255}.0/24`] },
  };
}

/** The status that a kubelet reports, with a list of images as long as the kubelet's default allows. */
export function nodeStatus(index: number, at: string): object {
  const condition = (type: string, status: string): object => ({
    type,
    status,
    lastHeartbeatTime: at,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'Kubelet',
    message: 'kubelet has this condition',
  });
  return {
    addresses: [
      { type: 'InternalIP', address: nodeAddress(index) },
      { type: 'Hostname', address: nodeName(index) },
    ],
    capacity: { cpu: '16', memory: '64Gi', pods: '110' },
    allocatable: { cpu: '15', memory: '60Gi', pods: '110' },
    conditions: [
      condition('MemoryPressure', 'False'),
      condition('DiskPressure', 'False'),
      condition('PIDPressure', 'False'),
      condition('Ready', 'True'),
    ],
    nodeInfo: {
      architecture: 'amd64',
      operatingSystem: 'linux',
      kernelVersion: '6.1.0',
      osImage: 'Debian GNU/Linux 12',
      containerRuntimeVersion: 'containerd://1.7.0',
      kubeletVersion: 'v1.36.2',
      kubeProxyVersion: '',
      bootID: '0f5fc2a0-0000-4000-8000-000000000000',
      machineID: '0f5fc2a000004000800000000000',
      systemUUID: '0f5fc2a0-0000-4000-8000-000000000000',
    },
    images: Array.from({ length: 50 }, (_, image) => ({
      names: [`registry.example.org/team-${image % 7}/image-${image}@sha256:${String(image).padStart(64, '0')}`],
      sizeBytes: 100_000_000 + image,
    })),
  };
}

/** The Pod of the agent of a node. */
export function agentPod(index: number): StoredObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(index),
      namespace,
      labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' },
    },
    spec: {
      nodeName: nodeName(index),
      serviceAccountName: 'herald-agent',
      automountServiceAccountToken: false,
      containers: [{ name: 'agent', image: 'herald' }],
    },
  };
}

export const agentPodStatus = {
  phase: 'Running',
  containerStatuses: [
    {
      name: 'agent',
      image: 'herald',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    },
  ],
};

/** The objects of which the bench writes copies. The first ones go through the API server, which completes them. */
export interface Templates {
  readonly loadBalancer: StoredObject;
  readonly clusterService: StoredObject;
  readonly ipAddress: StoredObject;
  readonly slice: StoredObject;
  readonly node: StoredObject;
  readonly pod: StoredObject;
}

/** Number of objects of each kind that go through the API server: a Service of each type, and their slices, nodes and pods. */
export const templated = 2;

/** Yields the keys and values in etcd of all objects but the templates. */
export function* copies({ nodes, services }: Size, templates: Templates): Generator<readonly [string, object]> {
  for (let index = templated; index < nodes; index++) {
    const { metadata, spec } = node(index);
    yield [`minions/${nodeName(index)}`, like(templates.node, metadata, { spec, status: nodeStatus(index, startOfRun) })];
    const pod = agentPod(index);
    const podSpec = { ...(templates.pod['spec'] as object), nodeName: nodeName(index) };
    yield [`pods/${namespace}/${podName(index)}`, like(templates.pod, { ...pod.metadata, uid: podUid(index) }, { spec: podSpec })];
  }
  for (let index = templated; index < services; index++) {
    const template = isLoadBalancer(index) ? templates.loadBalancer : templates.clusterService;
    const { metadata, spec } = service(index);
    const whole = { ...(template['spec'] as object), ...(spec as object), clusterIPs: [clusterAddress(index)] };
    yield [`services/specs/default/${serviceName(index)}`, like(template, metadata, { spec: whole })];
    yield [`ipaddresses/${clusterAddress(index)}`, ipAddress(templates.ipAddress, index)];
    const { metadata: ofSlice, endpoints } = endpointSlice(index, nodes);
    yield [`endpointslices/default/${sliceName(index)}`, like(templates.slice, ofSlice, { endpoints })];
  }
}

/** The kubelet knows its Pod by this UID, and the agent reports it. */
export const podUid = (index: number): string => `b0b0b0b0-0000-4000-8000-${String(index).padStart(12, '0')}`;

const startOfRun = new Date().toISOString().replace(/\.\d+Z$/, 'Z');

/** Returns the object that reserves the ClusterIP of a Service. */
export function ipAddress(template: StoredObject, index: number): StoredObject {
  const parentRef = { group: '', resource: 'services', namespace: 'default', name: serviceName(index) };
  return like(template, { name: clusterAddress(index) }, { spec: { parentRef } });
}

/** Returns a copy of an object of the API server under another name, as etcd stores it. */
export function like(template: StoredObject, metadata: Readonly<Record<string, unknown>>, fields: object): StoredObject {
  const { resourceVersion: _, ...inTemplate } = template.metadata;
  return { ...template, ...fields, metadata: { ...inTemplate, uid: randomUUID(), ...metadata } };
}
