import type { ReasonCode } from '../../../src/model/reasons.ts';
import type { Misconfiguration } from '../../lab/diagnosis/misconfiguration.ts';
import {
  advertisement,
  annotated,
  herald,
  ipv4Only,
  namespace,
  pool,
  service,
  type Change,
  type Manifest,
} from '../../lab/diagnosis/objects.ts';
import { placeOf, poolAddresses, type Place } from '../../lab/diagnosis/place.ts';

/** A mistake that needs an API server. */
export type ClusterCase = Pick<Misconfiguration, 'name' | 'mistake' | 'code' | 'condition' | 'verdict'> & {
  readonly manifests: (place: Place) => readonly Manifest[];
  /** The object that an administrator changes, as the verdict says. Absent: the fix needs a host. */
  readonly fix?: (place: Place) => Manifest;
};

/** The class of the provider in provider.ts. */
const testedClass = 'example.com/tested';

export const clusterCases: readonly ClusterCase[] = [
  {
    name: 'no-agent',
    mistake: 'No agent runs on the only node that may announce the address.',
    code: 'AgentSilent',
    condition: 'Announced',
    verdict:
      'Not known whether it is served: no agent reports for node "node3". Start the agent: the pod of DaemonSet herald-agent on node3; outside a cluster, herald agent --node node3.',
    manifests: (place) => [
      namespace(place),
      pool(place),
      advertisement(place, { spec: { nodeSelectors: [{ matchLabels: { 'kubernetes.io/hostname': 'node3' } }] } }),
      ...service(place, {}, { nodes: ['node3'] }),
    ],
  },
  {
    name: 'namespace-label',
    mistake: 'The only pool selects namespaces by a label that the namespace of the Service lacks.',
    code: 'PoolNamespaceNotSelected',
    condition: 'AddressAssigned',
    verdict:
      'Not served: pool "namespace-label" does not select namespace "namespace-label". Add the namespace to serviceAllocation of IPAddressPool "namespace-label".',
    manifests: (place) => [namespace(place), selecting(place), advertisement(place), ...service(place, askingFor(place))],
    fix: inTeam,
  },
  {
    name: 'pool-of-team-full',
    mistake: 'The pool that selects namespaces by a label is full, and another pool of the namespace has autoAssign: false.',
    code: 'PoolFull',
    condition: 'AddressAssigned',
    verdict:
      'Not served: pool pool-of-team-full is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool pool-of-team-full, or release pool-of-team-full/first.',
    manifests: (place) => [
      inTeam(place),
      selecting(place, { addresses: [`${poolAddresses(place, 1)[0]}/32`] }),
      herald('IPAddressPool', `${place.name}-too`, {
        addresses: [`${poolAddresses(place, 2)[0]}/32`],
        autoAssign: false,
        serviceAllocation: { namespaces: [place.name] },
      }),
      advertisement(place),
      ...service(place, { spec: ipv4Only(place, 1) }, { name: 'first', ordinal: 1 }),
      ...service(place, { spec: ipv4Only(place) }),
    ],
    fix: (place) => selecting(place, { addresses: [place.ranges[0]] }),
  },
  {
    name: 'provider-refuses',
    mistake: 'The provider of the Service, a module of your own, does not support one of its ports.',
    code: 'ProviderRefused',
    condition: 'AddressAssigned',
    verdict:
      'Not served: provider tested: it has no UDP, which port 53 asks for. Change the Service; the documentation of provider tested says what it supports.',
    manifests: (place) => [namespace(place), ofProvider(place, { ports: [{ port: 53, protocol: 'UDP' }] })],
    fix: (place) => ofProvider(place, { ports: [{ port: 53, protocol: 'TCP' }] }),
  },
  {
    name: 'provider-waits',
    mistake: 'The provider of the Service, a module of your own, waits for what it has asked for.',
    code: 'ProviderWaits',
    condition: 'AddressAssigned',
    verdict: 'Not served: provider tested: its load balancer is being made.',
    manifests: (place) => [namespace(place), ofProvider(place, { ports: [{ port: 80, protocol: 'TCP' }] }, { 'example.com/made': 'no' })],
    fix: (place) => ofProvider(place, { ports: [{ port: 80, protocol: 'TCP' }] }, { 'example.com/made': 'yes' }),
  },
];

export const placeOfCluster = ({ name }: ClusterCase | PodCase): Place =>
  placeOf(name, 201 + [...clusterCases, ...podCases].findIndex((one) => one.name === name));

/** A pool for namespaces of one team. */
const selecting = (place: Place, spec: Change = {}): Manifest =>
  pool(place, {
    spec: { serviceAllocation: { namespaces: undefined, namespaceSelectors: [{ matchLabels: { team: place.name } }] }, ...spec },
  });

const askingFor = ({ name }: Place): Change => annotated({ 'herald.dev/address-pool': name });

function inTeam(place: Place): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: place.name, labels: { team: place.name } } };
}

function ofProvider(place: Place, spec: Change, annotations: Change = {}): Manifest {
  const [web = {}] = service(place, { ...annotated(annotations), spec: { ...ipv4Only(place), loadBalancerClass: testedClass, ...spec } });
  return web;
}

/** A mistake in the Pods of a Service. The verdict says NoEndpoints, and the block Endpoints of the explanation says why. */
export interface PodCase {
  readonly name: string;
  readonly mistake: string;
  /** Of the sentence about the Pod. */
  readonly code: ReasonCode;
  readonly sentence: string;
  /** Why no endpoint takes traffic. */
  readonly cause: 'the Service has no endpoints' | 'none of the 1 endpoint(s) is ready or serving';
  readonly service?: Change;
  /** Absent: there is no Pod. */
  readonly pod?: Change;
  /** The Pod is deleted, and no kubelet ends it. */
  readonly isDeleted?: true;
}

const none = 'the Service has no endpoints';
const unready = 'none of the 1 endpoint(s) is ready or serving';

export const podCases: readonly PodCase[] = [
  {
    name: 'pod-other-labels',
    mistake: 'The selector of the Service matches no Pod.',
    code: 'SelectorMatchesNothing',
    sentence: 'no Pod of the namespace has the labels app=web (it has 1 Pods; nearest: web-1 has app=wbe)',
    cause: none,
    pod: { metadata: { labels: { app: 'wbe' } } },
  },
  {
    name: 'pods-by-hand',
    mistake: 'The Service has no selector, and no EndpointSlice names it.',
    code: 'NoSelectorNoEndpoints',
    sentence: 'the Service has no selector, so no Pod becomes its endpoint by itself, and no EndpointSlice names the Service',
    cause: none,
    service: { selector: undefined },
  },
  {
    name: 'pod-not-scheduled',
    mistake: 'No node has room for the Pod.',
    code: 'PodNotScheduled',
    sentence: 'Pod web-1 has no node yet: 0/9 nodes are available: 9 Insufficient cpu.',
    cause: none,
    pod: {
      spec: { nodeName: undefined },
      status: {
        phase: 'Pending',
        podIP: undefined,
        podIPs: undefined,
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/9 nodes are available: 9 Insufficient cpu.' },
        ],
        containerStatuses: undefined,
      },
    },
  },
  {
    name: 'pod-crashes',
    mistake: 'A container of the Pod crashes again and again.',
    code: 'PodContainerNotReady',
    sentence: 'Pod web-1: container app is not ready (CrashLoopBackOff), 7 restarts',
    cause: unready,
    pod: {
      status: {
        conditions: [{ type: 'Ready', status: 'False' }],
        containerStatuses: [
          { name: 'app', ready: false, restartCount: 7, image: '', imageID: '', state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    },
  },
  {
    name: 'pod-gate-not-met',
    mistake: 'A readiness gate of the Pod is not met.',
    code: 'PodGateNotMet',
    sentence: 'Pod web-1: its containers are ready, but its readiness gate example.com/registered is not met',
    cause: unready,
    pod: {
      spec: { readinessGates: [{ conditionType: 'example.com/registered' }] },
      status: { conditions: [{ type: 'Ready', status: 'False' }] },
    },
  },
  {
    name: 'pod-not-ready',
    mistake: 'The Pod is not ready, although its containers are: its node does not answer.',
    code: 'PodNotReady',
    sentence: 'Pod web-1 is not ready, although its containers are',
    cause: unready,
    pod: { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
  },
  {
    name: 'pod-ended',
    mistake: 'The Pod has failed, and nothing starts it again.',
    code: 'PodEnded',
    sentence: 'Pod web-1 has ended (Failed)',
    cause: none,
    pod: { status: { phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }] } },
  },
  {
    name: 'pod-terminating',
    mistake: 'The only Pod is being deleted, and is no longer ready.',
    code: 'PodTerminating',
    sentence: 'Pod web-1 is being deleted, and takes no new connections while another Pod is ready',
    cause: unready,
    pod: { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    isDeleted: true,
  },
  {
    name: 'pod-not-listed',
    mistake: 'The Pod is ready but has no IP address yet.',
    code: 'PodNotListed',
    sentence: 'Pod web-1 is ready, and no EndpointSlice of the Service has it',
    cause: none,
    pod: { status: { podIP: undefined, podIPs: undefined } },
  },
  {
    name: 'pod-without-port',
    mistake: 'targetPort is a name that no container port of the Pod has.',
    code: 'PodLacksPort',
    sentence: 'Pod web-1 has no container port named "http", which targetPort names',
    cause: none,
    service: { ports: [{ port: 80, targetPort: 'http' }] },
    pod: {},
  },
];

export const verdictOfPods = ({ cause }: PodCase): string =>
  `Not served: ${cause} (on node1 and node2). Check the Service's selector and the readiness of its pods.`;

/** The Service and the Pod of a case, as they are with the mistake. */
export function podManifests({ service: change = {}, pod: different }: PodCase, place: Place): Manifest[] {
  const [web = {}] = service(place, { spec: { ...ipv4Only(place), selector: { app: 'web' }, ...change } });
  return [namespace(place), pool(place), advertisement(place), web, ...(different === undefined ? [] : [podOf(place, different)])];
}

/** The same Service with a ready Pod, as after the mistake was mended. */
export const mendedPodManifests = (one: PodCase, place: Place): Manifest[] => podManifests({ ...one, service: {}, pod: {} }, place);

/** A ready Pod, apart from the change. Parts of its status replace whole parts. */
function podOf({ name, index }: Place, { metadata, spec, status }: Change): Manifest {
  const podIP = `10.244.1.${index}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: name, name: 'web-1', labels: { app: 'web' }, ...(metadata as Change | undefined) },
    spec: { nodeName: 'node1', containers: [{ name: 'app', image: 'example.com/app' }], ...(spec as Change | undefined) },
    status: {
      phase: 'Running',
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ name: 'app', ready: true, restartCount: 0, image: '', imageID: '' }],
      ...(status as Change | undefined),
    },
  };
}
