import type { Scene } from '../misconfiguration.ts';
import { clusterAddresses, type Place } from '../place.ts';
import { herald, ipv4Only, onSoundNodes, type Manifest } from '../objects.ts';
import { failuresText, podAt, refusedFix, refuses, serviceTo, targetsOf, type TruthCase } from './truth-case.ts';

const one = podAt('node1');
const onAll = `Not served: ${targetsOf(one, 9240)
  .map((target) => `connections to ${target} ${refuses} (the same on all 3 nodes)`)
  .join('; ')}. ${refusedFix(9240)}`;

/** Mistakes behind addresses that no pool gives. */
export const frontendTruths: readonly TruthCase[] = [
  {
    name: 'node-port-refuses',
    mistake: 'The pod of a NodePort refuses connections.',
    code: 'EndpointRefuses',
    verdict: onAll,
    before: (place) => nodePort(place, 8080),
    after: (place) => nodePort(place, 9240),
    // Its ClusterIPs are addresses of the Service as well.
    connect: async (scene, place) => void (await Promise.all([nodePortAnswers(scene), clusterIPAnswers(scene, place)])),
    answers: nodePortAnswers,
  },
  {
    name: 'cluster-ip-refuses',
    mistake: 'The pod of a ClusterIP refuses connections.',
    code: 'EndpointRefuses',
    verdict: onAll,
    before: (place) => clusterIP(place, 8080),
    after: (place) => clusterIP(place, 9240),
    connect: async (scene, place) => void (await clusterIPAnswers(scene, place)),
    answers: clusterIPAnswers,
  },
  {
    name: 'external-ip-refuses',
    mistake: 'The pod of an external IP refuses connections.',
    code: 'EndpointRefuses',
    verdict: `Not served: ${failuresText(targetsOf(one, 9242).slice(0, 1), refuses)}. ${refusedFix(9242)}`,
    before: (place) => externalIP(place, 8080),
    after: (place) => externalIP(place, 9242),
    connect: async ({ lab }) => void (await lab.client.tcp({ address: external, port: 80, count: 16, timeoutMs: 1500 })),
  },
];

function nodePort(place: Place, targetPort: number): Manifest[] {
  const change = { spec: { type: 'NodePort', ...withoutBalancer } };
  return serviceTo(place, [one], [{ port: 80, targetPort }], change, { nodePort: 31_940 });
}

function clusterIP(place: Place, targetPort: number): Manifest[] {
  return serviceTo(place, [one], [{ port: 80, targetPort }], { spec: { type: 'ClusterIP', ...withoutBalancer } });
}

const withoutBalancer = { loadBalancerClass: undefined, allocateLoadBalancerNodePorts: undefined };
const external = '192.0.2.42';

function externalIP(place: Place, targetPort: number): Manifest[] {
  const all = serviceTo(place, [one], [{ port: 80, targetPort }], {
    spec: { type: 'ClusterIP', ...withoutBalancer, ...ipv4Only(place), externalIPs: [external] },
  });
  const policy = herald('ExternalIPPolicy', place.name, {
    cidrs: [`${external}/32`],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': place.name } },
  });
  const advertised = herald('BGPAdvertisement', place.name, { addressTypes: ['ExternalIP'], nodeSelectors: onSoundNodes });
  return [...all.filter(({ kind }) => kind !== 'BGPAdvertisement' && kind !== 'IPAddressPool'), policy, advertised];
}

/** Connects to the NodePort of every node. */
async function nodePortAnswers({ lab, nodes }: Scene): Promise<number> {
  const addresses = nodes.flatMap((node) => Object.values(lab.node(node).plan.internal));
  return answersOf(addresses.map((address) => lab.client.tcp({ address, port: 31_940, count: 4, timeoutMs: 1500 })));
}

/** Connects to the ClusterIPs from a pod of every node. */
async function clusterIPAnswers({ lab, nodes }: Scene, place: Place): Promise<number> {
  const requests = nodes.flatMap((node) =>
    clusterAddresses(place, 0).map((address) =>
      lab.clientIn(`web-${node.replace('node', '')}`).tcp({ address, port: 80, count: 4, timeoutMs: 1500 }),
    ),
  );
  return answersOf(requests);
}

async function answersOf(requests: readonly Promise<{ readonly pods: Readonly<Record<string, number>> }>[]): Promise<number> {
  const reports = await Promise.all(requests);
  return reports.flatMap(({ pods }) => Object.values(pods)).reduce((sum, count) => sum + count, 0);
}
