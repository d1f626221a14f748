import type { Misconfiguration } from '../misconfiguration.ts';
import {
  advertisement,
  annotated,
  herald,
  ipv4Only,
  namespace,
  onSoundNodes,
  pool,
  service,
  type Change,
  type Manifest,
} from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';

/** Everything but the Service, which is created with the mistake. */
const withoutService = (place: Place): Manifest[] => [namespace(place), pool(place), advertisement(place)];

/** Mistakes in a Service that leave it without an announced address, or with one that it did not ask for. */
export const serviceCases: readonly Misconfiguration[] = [
  {
    name: 'type-cluster-ip',
    mistake: 'The Service is headless, which only type ClusterIP can be.',
    code: 'NotLoadBalancer',
    isIntended: true,
    verdict: 'Not served by Herald: the Service is of type ClusterIP, which takes no address from a pool. Set spec.type: LoadBalancer.',
    before: withoutService,
    after: (place) => [
      ...withoutService(place),
      ...service(place, { spec: { ...ofType('ClusterIP'), clusterIP: 'None', clusterIPs: ['None'] } }),
    ],
  },
  {
    name: 'external-name',
    mistake: 'The Service has type ExternalName.',
    code: 'ExternalName',
    isIntended: true,
    verdict: 'Not served by Herald: the Service is an alias in DNS: there is nothing to forward.',
    before: withoutService,
    after: (place) => [...withoutService(place), externalName(place)],
  },
  {
    name: 'other-proxy',
    mistake: 'A label gives the Service to another proxy.',
    code: 'OtherProxy',
    condition: 'Announced',
    verdict:
      'Not served: the label service.kubernetes.io/service-proxy-name gives the Service to "other-proxy". To have Herald serve it, remove that label from the Service.',
    before: withoutService,
    after: (place) => [
      ...withoutService(place),
      ...service(place, { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': 'other-proxy' } } }),
    ],
  },
  {
    name: 'being-deleted',
    mistake: 'The Service is being deleted before it has an address, and a finalizer of another program holds it.',
    code: 'BeingDeleted',
    condition: 'AddressAssigned',
    verdict:
      'Not served: the Service is being deleted: it keeps its addresses until it is gone and gets no new ones. See metadata.finalizers for what delays the deletion.',
    before: withoutService,
    after: (place) => [
      ...withoutService(place),
      ...service(place, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/cleanup'] } }),
    ],
  },
  {
    name: 'address-of-other-pool',
    mistake: 'The Service asks for one pool, and for an address of another.',
    code: 'AddressInOtherPool',
    condition: 'AddressAssigned',
    verdict:
      'Not served: address 198.18.105.5 is in pool "address-of-other-pool", but the Service asks for pool "address-of-other-pool-too". Write address-of-other-pool into the annotation herald.dev/address-pool to have this address; to have another, request an address of pool "address-of-other-pool-too", or remove the annotation and write it again.',
    before: withTwoPools,
    after: (place) => [
      ...withTwoPools(place),
      ...service(place, {
        ...annotated({ 'herald.dev/address-pool': `${place.name}-too`, 'herald.dev/load-balancer-ips': poolAddresses(place, 5)[0] }),
        spec: ipv4Only(place),
      }),
    ],
  },
  {
    name: 'advertising-off',
    mistake: 'An annotation of the Service switches off announcing its external IP.',
    code: 'AdvertisingOff',
    isIntended: true,
    verdict:
      'Not served: the Service switches off announcing ExternalIP addresses. To have them announced, set the annotation herald.dev/advertise-external-ips: "true" on the Service.',
    before: (place) => [...withPolicy(place), ...clusterService(place)],
    after: (place) => [...withPolicy(place), ...clusterService(place, annotated({ 'herald.dev/advertise-external-ips': 'false' }))],
  },
  {
    name: 'port-without-endpoint',
    mistake: 'targetPort of the second port of the Service is a name that no endpoint has.',
    code: 'PortWithoutEndpoint',
    verdict:
      'Not served at 198.18.107.1:81/TCP and [2001:db8:107::1]:81/TCP: no endpoint serves port 81/TCP of the Service (targetPort target-81), so connections to it are refused. Let a ready pod serve target-81, or correct targetPort of 81/TCP in spec.ports of the Service.',
    before: (place) => [...withoutService(place), ...withNamedPorts(place, 80)],
    after: (place) => [...withoutService(place), ...withNamedPorts(place, 80, 81)],
  },
  {
    name: 'too-many-addresses',
    mistake: 'The Service keeps its addresses by annotation, and requests two more than it may have.',
    code: 'TooManyAddresses',
    condition: 'AddressAssigned',
    isBrokenBefore: true,
    verdict:
      'Announced, but not as it asks: with herald.dev/keep-addresses the Service would hold more than 16 addresses. Remove the annotation herald.dev/keep-addresses: addresses that the Service no longer requests are then released.',
    before: (place) => [...withoutService(place), ...service(place, keeping(place, [1, 2, 3, 4, 5, 6, 7, 8]))],
    after: (place) => [...withoutService(place), ...service(place, keeping(place, [9]))],
  },
  {
    name: 'address-of-node',
    mistake: 'The Service requests the InternalIP of a Node, which a pool holds.',
    code: 'AddressInUseBy',
    condition: 'AddressAssigned',
    verdict:
      'Not served: 10.0.0.17 is the InternalIP of node "node7": no Service gets it. Request another address, and leave 10.0.0.17 out of IPAddressPool "address-of-node".',
    before: withoutService,
    after: (place) => [
      namespace(place),
      pool(place, { spec: { addresses: [...place.ranges, '10.0.0.17/32'] } }),
      advertisement(place),
      ...service(place, { metadata: { annotations: { 'herald.dev/load-balancer-ips': '10.0.0.17' } }, spec: ipv4Only(place) }),
    ],
  },
];

const ofType = (type: string): Change => ({ type, loadBalancerClass: undefined, allocateLoadBalancerNodePorts: undefined });

/** Requests the addresses with these ordinals, and keeps earlier ones. */
const keeping = (place: Place, ordinals: readonly number[]): Change =>
  annotated({
    'herald.dev/keep-addresses': 'true',
    'herald.dev/load-balancer-ips': ordinals.flatMap((ordinal) => poolAddresses(place, ordinal)).join(','),
  });

const externalName = ({ name }: Place): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: name, name: 'web' },
  spec: { type: 'ExternalName', externalName: 'web.example.com' },
});

function withTwoPools(place: Place): Manifest[] {
  const { name, index } = place;
  return [
    ...withoutService(place),
    herald('IPAddressPool', `${name}-too`, {
      addresses: [`198.18.${index}.11-198.18.${index}.19`],
      serviceAllocation: { namespaces: [name] },
    }),
  ];
}

/** A Service with named ports, and endpoints of which all serve the first and none the second. */
function withNamedPorts(place: Place, ...numbers: readonly number[]): Manifest[] {
  const ports = numbers.map((port) => ({ name: `port-${port}`, port, targetPort: `target-${port}` }));
  const [web = {}, ...slices] = service(place, { spec: { ports } });
  return [web, ...slices.map((slice) => ({ ...slice, ports: [{ name: 'port-80', port: 8080 }] }))];
}

const externalIP = ({ index }: Place): string => `192.0.2.${index}`;

/** Allows the namespace of the case its external IP, and announces it. */
function withPolicy(place: Place): Manifest[] {
  const { name } = place;
  return [
    namespace(place),
    herald('ExternalIPPolicy', name, {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
      cidrs: [`${externalIP(place)}/32`],
    }),
    herald('BGPAdvertisement', name, { addressTypes: ['ExternalIP'], nodeSelectors: onSoundNodes }),
  ];
}

/** A ClusterIP Service with the external IP of the case. */
function clusterService(place: Place, change: Change = {}, options: Parameters<typeof service>[2] = {}): Manifest[] {
  const { ordinal = 0 } = options;
  return service(
    place,
    { ...change, spec: { ...ofType('ClusterIP'), ...ipv4Only(place, ordinal), externalIPs: [externalIP(place)] } },
    options,
  );
}
