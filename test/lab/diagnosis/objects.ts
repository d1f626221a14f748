import { clusterAddresses, type Place } from './place.ts';

/** A manifest as data. */
export type Manifest = Readonly<Record<string, unknown>>;

/** A part of a manifest. Maps are merged into those of the usual manifest, other values replace them, and undefined removes a field. */
export type Change = Readonly<Record<string, unknown>>;

/** Nodes on which nothing is wrong, and the label that selects them. */
export const soundNodes = ['node1', 'node2'] as const;
export const onSoundNodes = [{ matchLabels: { role: 'sound' } }];

/** Returns the manifests of a Service that is served by all sound nodes over both families. */
export function healthy(place: Place): Manifest[] {
  return [namespace(place), pool(place), advertisement(place), ...service(place)];
}

export function namespace({ name }: Place): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } };
}

/** A pool for the namespace of the case only. */
export function pool(place: Place, change: Change = {}): Manifest {
  const spec = { addresses: place.ranges, serviceAllocation: { namespaces: [place.name] } };
  return merged(herald('IPAddressPool', place.name, spec), change);
}

export function advertisement(place: Place, change: Change = {}): Manifest {
  return merged(herald('BGPAdvertisement', place.name, { ipAddressPools: [place.name], nodeSelectors: onSoundNodes }), change);
}

export function herald(kind: string, name: string, spec: Change): Manifest {
  return { apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec };
}

/**
 * A dual-stack Service "web" and its EndpointSlices. The endpoints are the pods of the sound nodes, or of `nodes`. A case with several
 * Services gives each an `ordinal`.
 */
export function service(
  place: Place,
  change: Change = {},
  options: { readonly name?: string; readonly ordinal?: number; readonly nodes?: readonly string[]; readonly ready?: boolean } = {},
): Manifest[] {
  const { name = 'web', ordinal = 0, nodes = soundNodes, ready = true } = options;
  const addresses = clusterAddresses(place, ordinal);
  const [clusterIP] = addresses;
  const base: Manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: place.name, name },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/herald',
      allocateLoadBalancerNodePorts: false,
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      clusterIP,
      clusterIPs: addresses,
      ports: [{ port: 80, targetPort: 8080 }],
    },
  };
  const slice = (family: 'IPv4' | 'IPv6'): Manifest => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: place.name, name: `${name}-${family.toLowerCase()}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: family,
    ports: [{ port: 8080 }],
    endpoints: nodes.map((node) => ({ addresses: [podOf(node, family)], nodeName: node, conditions: { ready } })),
  });
  return [merged(base, change), slice('IPv4'), slice('IPv6')];
}

/** Every node of the lab has one pod. */
const podOf = (node: string, family: 'IPv4' | 'IPv6'): string => {
  const index = node.replace('node', '');
  return family === 'IPv4' ? `10.244.${index}.10` : `fd00:244:${index}::10`;
};

/** Fields of a Service of IPv4 only. */
export const ipv4Only = (place: Place, ordinal = 0): Change => {
  const [clusterIP] = clusterAddresses(place, ordinal);
  return { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], clusterIP, clusterIPs: [clusterIP] };
};

export const annotated = (annotations: Change): Change => ({ metadata: { annotations } });

function merged(base: Manifest, change: Change): Manifest {
  const fields = Object.entries(change).map(([key, value]) => {
    const before = base[key];
    return [key, isMap(before) && isMap(value) ? merged(before, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(fields) };
}

function isMap(value: unknown): value is Change {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
